package nemesis

import (
	"errors"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet"
)

func parsed(t *testing.T, text string) []Fault {
	t.Helper()
	faults, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"none":                                  "",
		"partition":                             "partition",
		"partition,kill,pause":                  "partition kill pause",
		"all":                                   "partition kill pause",
		"kill:one,partition:bridge,pause:all":   "kill:one partition:bridge pause:all",
		"partition:halves,partition:halves":     "partition:halves partition:halves",
		"partition:majorities-ring,kill:subset": "partition:majorities-ring kill:subset",
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
	for text, want := range map[string]string{
		"":                 `nemesis "": unknown; expected none, all, partition, kill, pause, joined by commas`,
		"partitoin":        `nemesis "partitoin": unknown; expected none, all, partition, kill, pause, joined by commas`,
		"kill,":            `nemesis "": unknown; expected none, all, partition, kill, pause, joined by commas`,
		"kill, pause":      `nemesis " pause": unknown; expected none, all, partition, kill, pause, joined by commas`,
		"none,kill":        `nemesis "none": goes with no other`,
		"all:one":          `nemesis "all:one": unknown; expected none, all, partition, kill, pause, joined by commas`,
		"kill:":            `nemesis "kill:": expected one of one, minority-third, minority, majority, all, subset after the colon`,
		"kill:two":         `nemesis "kill:two": targets "two": unknown; expected one of one, minority-third, minority, majority, all, subset`,
		"partition:thirds": `nemesis "partition:thirds": grudge "thirds": unknown; expected one of halves, one, majority, minority-third, majorities-ring, bridge`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
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
		err := Check(parsed(t, c.faults), c.nodes, true)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s on %d nodes: got %v", c.faults, c.nodes, err)
		}
	}
	for _, e := range Registry() {
		if err := Check(parsed(t, e.Name), 4, false); !errors.Is(err, devnet.ErrNoControl) {
			t.Errorf("%s out of reach: got %v", e.Name, err)
		}
		f := parsed(t, e.Name)[0]
		if f.Start() != e.Start || f.Stop() != e.Stop {
			t.Errorf("%s: the registry says %s and %s, the fault %s and %s", e.Name, e.Start, e.Stop, f.Start(), f.Stop())
		}
		for _, spec := range e.Specs {
			if got := parsed(t, e.Name+":"+spec)[0].Name(); got != e.Name+":"+spec {
				t.Errorf("%s:%s is called %s", e.Name, spec, got)
			}
		}
	}
}
