package nemesis

import (
	"errors"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

// reach is that of a devnet of jepgo's own with n nodes.
func reach(n int) Reach {
	return Reach{Nodes: n, Processes: true, Links: link.ProxyFeatures(), Chain: true, Proposers: true, Configs: true, Peers: true, RPC: true}
}

func parsed(t *testing.T, text string) []Fault {
	t.Helper()
	faults, err := Parse(text, reach(4))
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// everyone lists the kinds that all stands for.
func everyone(t *testing.T) string {
	var names []string
	for _, e := range Registry() {
		f, err := e.New("")
		if err != nil {
			t.Fatal(err)
		}
		if !e.Irreversible && !e.Lies && !e.ByName && f.Possible(reach(4)) == nil {
			names = append(names, e.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"none":                 "",
		"partition":            "partition",
		"partition,kill,pause": "partition kill pause",
		"all":                  everyone(t),
		"partition:flapping:2s,partition:2s:flapping": "partition:flapping:2s partition:flapping:2s",
		"kill:one,partition:bridge,pause:all":         "kill:one partition:bridge pause:all",
		"partition:halves,partition:halves":           "partition:halves partition:halves",
		"partition:majorities-ring,kill:subset":       "partition:majorities-ring kill:subset",
		"delay:out:200ms:n2,corrupt:visible:2%":       "delay:200ms:n2:out corrupt:2%:visible",
		"bandwidth:1500kbit,slice:1KiB:in":            "bandwidth:1500kbit slice:1024B:in",
	} {
		var got []string
		for _, f := range parsed(t, text) {
			got = append(got, f.Name())
			if !strings.Contains(f.Explain(), "It bites when") || !strings.Contains(f.Explain(), "It is undone when") {
				t.Errorf("%s: explain says too little: %s", f.Name(), f.Explain())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestParseErrors(t *testing.T) {
	known := list(Names())
	targets, kills := docs([]param{new(targets).param()}), docs(new(killFault).params())
	for text, want := range map[string]string{
		"":                    `nothing between two commas, or around one; expected ` + known + `, joined by commas`,
		"partitoin":           `nemesis "partitoin": unknown; did you mean partition? expected ` + known + `, joined by commas`,
		"partly":              `nemesis "partly": unknown; expected ` + known + `, joined by commas`,
		"kill,":               `nothing between two commas, or around one; expected ` + known + `, joined by commas`,
		"kill, pause":         `nemesis " pause": unknown; did you mean pause? expected ` + known + `, joined by commas`,
		"none,kill":           `nemesis "none": goes with no other`,
		"all:one":             `nemesis "all:one": all takes nothing after it`,
		"kill:":               `nemesis "kill:": expected after the colon ` + kills,
		"kill:two":            `nemesis "kill:two": "two": unknown; expected ` + kills,
		"kill:10s":            `nemesis "kill:10s": "10s": unknown; expected ` + kills + `; how long a fault stays is after a +, as in kill+10s`,
		"kill:10":             `nemesis "kill:10": "10": a number without a unit; expected ` + kills,
		"kill:9999999h":       `nemesis "kill:9999999h": "9999999h": more than 292 years, or an unknown unit; expected ` + kills,
		"kill:one:all":        `nemesis "kill:one:all": "all" after "one": both are ` + targets + `, expected one`,
		"kill:n5":             `nemesis "kill:n5": node "n5": there are 4 nodes`,
		"partition:thirds":    `nemesis "partition:thirds": "thirds": unknown; did you mean under-two-thirds, over-two-thirds? expected ` + docs(new(partitionFault).params()),
		"partition:n5":        `nemesis "partition:one:n5": node "n5": there are 4 nodes`,
		"partition:bridge:n2": `nemesis "partition:bridge:n2": node "n2": expected it with the grudge one only, or with none`,
		"partition:one:2s":    `nemesis "partition:one:2s": period 2s: expected it with flapping only`,
	} {
		if _, err := Parse(text, reach(4)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
}

func TestPossible(t *testing.T) {
	for _, c := range []struct {
		faults string
		nodes  int
		want   string // "" for possible
	}{
		{"partition,kill,pause", 4, ""},
		{"kill,pause:all", 1, ""},
		{"partition", 2, ""},
		{"partition", 1, `nemesis "partition": needs at least 2 nodes, and there are 1`},
		{"partition:bridge", 2, `nemesis "partition:bridge": needs at least 3 nodes, and there are 2`},
		{"pause:minority", 2, `nemesis "pause:minority": needs at least 3 nodes, and there are 2`},
	} {
		_, err := Parse(c.faults, reach(c.nodes))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s on %d nodes: got %v", c.faults, c.nodes, err)
		}
	}
}

// TestRegistry holds every entry to what it says of itself.
func TestRegistry(t *testing.T) {
	for _, e := range Registry() {
		f, err := e.New("")
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if err := f.Possible(Reach{Nodes: 4}); !errors.Is(err, devnet.ErrNoControl) {
			t.Errorf("%s out of reach: got %v", e.Name, err)
		}
		if f.Name() != e.Name || f.Start() != e.Start || f.Stop() != e.Stop {
			t.Errorf("%s: the registry says %s and %s, the fault %s: %s and %s", e.Name, e.Start, e.Stop, f.Name(), f.Start(), f.Stop())
		}
		// The checkers pair the ops of a fault by these names.
		if e.Name != "kill" && e.Name != "pause" && (e.Start != "start-"+e.Name || e.Stop != "stop-"+e.Name) {
			t.Errorf("%s starts with %s and stops with %s", e.Name, e.Start, e.Stop)
		}
		if e.Doc == "" || len(e.Color) != 7 {
			t.Errorf("%s: doc %q, color %q", e.Name, e.Doc, e.Color)
		}
		if !strings.Contains(f.Explain(), "It bites when") || !strings.Contains(f.Explain(), "It is undone when") {
			t.Errorf("%s: explain says too little: %s", e.Name, f.Explain())
		}
	}
}
