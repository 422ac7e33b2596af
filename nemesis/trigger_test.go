package nemesis

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// allReach is everything that triggers ask for.
func allReach(n int) Reach {
	r := reach(n)
	r.Ops, r.Metrics = true, true
	return r
}

func drawTrigger(t *rapid.T) trigger {
	node := rapid.SampledFrom([]string{"", "n1", "n4"})
	d := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(300*time.Hour)).Draw(t, "ns"))
	})
	tr := trigger{kind: rapid.SampledFrom(triggerKinds()).Draw(t, "kind").name}
	switch tr.kind {
	case "height", "after", "epoch":
		tr.n = rapid.Uint64Range(1, 1<<62).Draw(t, "n")
	case "op":
		tr.n = rapid.Uint64Range(1, 1<<62).Draw(t, "n")
		tr.process = rapid.SampledFrom([]int64{allProcesses, 0, 3, 1 << 30}).Draw(t, "process")
	case "proposer":
		tr.node = rapid.SampledFrom([]string{"n1", "n4"}).Draw(t, "node")
	case "stall":
		tr.node, tr.d = node.Draw(t, "node"), d.Draw(t, "d")
	case "metric":
		tr.node = node.Draw(t, "node")
		tr.metric = rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_:]{0,20}`).Draw(t, "metric")
		tr.above = rapid.Bool().Draw(t, "above")
		tr.value = rapid.Float64Range(-1e6, 1e6).Draw(t, "value")
	case "time", "every":
		tr.d = d.Draw(t, "d")
	}
	return tr
}

// TestTimesRoundTrip: what a fault calls itself is what Parse takes.
func TestTimesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]string{"kill", "kill:one", "pause:n2", "partition:halves"}).Draw(t, "fault")
		in := timed{}
		if rapid.Bool().Draw(t, "triggered") {
			tr := drawTrigger(t)
			in.when = &tr
		}
		switch rapid.IntRange(0, 2).Draw(t, "length") {
		case 1:
			in.stay = &length{d: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "d"))}
		case 2:
			in.stay = &length{blocks: rapid.Uint64Range(1, 1<<30).Draw(t, "blocks")}
		}
		_, inner, err := Lookup(f)
		if err != nil {
			t.Fatal(err)
		}
		in.Fault = inner
		text := in.Name()
		faults, err := Parse("pause,"+text, allReach(4))
		if err != nil {
			t.Fatal(err)
		}
		if got := faults[1].Name(); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
		_, when, stay := timesOf(faults[1])
		if (when == nil) != (in.when == nil) || when != nil && *when != *in.when ||
			(stay == nil) != (in.stay == nil) || stay != nil && *stay != *in.stay {
			t.Fatalf("%q: trigger %v, length %v", text, when, stay)
		}
	})
}

// TestTimesNeverPanic on whatever is typed.
func TestTimesNeverPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(kill|pause)?(:[a-z0-9]*)?(@[a-z]*=?[a-z0-9:<>.+-]*)?(\+[0-9a-z]*)?`).Draw(t, "text")
		if faults, err := Parse(text, allReach(4)); err == nil {
			for _, f := range faults {
				if _, err := Parse(f.Name(), allReach(4)); err != nil && !strings.Contains(err.Error(), "before it") {
					t.Fatalf("%q came out as %q: %v", text, f.Name(), err)
				}
			}
		}
	})
}

func TestTimesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"kill@":                           `nemesis "kill@": trigger "": unknown; expected one of height, after, proposer, epoch, op, stall, metric, time, every, with = and a value`,
		"kill@block=3":                    `nemesis "kill@block=3": trigger "block=3": unknown; expected one of height`,
		"kill@height":                     `nemesis "kill@height": trigger "height": expected height=50: when`,
		"kill@height=0":                   `trigger "height=0": expected height=50`,
		"kill@height=-1":                  `trigger "height=-1": expected height=50`,
		"kill@height= 5":                  `trigger "height= 5": expected height=50`,
		"kill@height=9223372036854775808": `expected height=50`,
		"kill@height=5@height=6":          `trigger "height=5@height=6": expected height=50`,
		"kill+10s@height=5":               `nemesis "kill+10s@height=5": "kill+10s": expected the length after the trigger, as in kill@height=50+10s`,
		"kill@height=5+":                  `length "": expected a time such as 10s, or blocks such as 5blocks`,
		"kill+0s":                         `length "0s": expected a time`,
		"kill+-5s":                        `length "-5s": expected a time`,
		"kill+5":                          `length "5": expected a time`,
		"kill+0blocks":                    `length "0blocks": expected a time`,
		"kill+5s+6s":                      `length "5s+6s": expected a time`,
		"kill@proposer=bob":               `trigger "proposer=bob": expected proposer=n2`,
		"kill@proposer=n5":                `nemesis "kill@proposer=n5": trigger "proposer=n5": node "n5": there are 4 nodes`,
		"kill@op=p:5":                     `trigger "op=p:5": expected op=100 or op=p3:100`,
		"kill@stall=10":                   `trigger "stall=10": expected stall=10s`,
		"kill@stall=x2:10s":               `trigger "stall=x2:10s": expected stall=10s`,
		"kill@metric=a>1e9":               `trigger "metric=a>1e9": expected metric=NAME>100`,
		"kill@metric=a=1":                 `trigger "metric=a=1": expected metric=NAME>100`,
		"kill@metric=1a>1":                `expected metric=NAME>100`,
		"kill@metric=a>":                  `expected metric=NAME>100`,
		"kill@time=-1s":                   `expected time=30s`,
		"kill@every=0s":                   `expected every=20s`,
		"kill@after=3":                    `nemesis "kill@after=3": expected a fault before it in the list, from whose end it counts`,
		"all@height=3":                    `nemesis "all@height=3": all takes nothing after it`,
		"none@height=3":                   `nemesis "none@height=3": none takes nothing after it`,
	} {
		if _, err := Parse(text, allReach(4)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
	bare := reach(4)
	bare.Chain, bare.Proposers = false, false
	for text, want := range map[string]string{
		"kill@op=5":           `nemesis "kill@op=5": trigger "op=5": nobody counts the clients' operations here`,
		"kill@metric=a>1":     `trigger "metric=a>1": this network does not tell its nodes' Prometheus endpoints`,
		"kill@epoch=32":       `trigger "epoch=32": this network does not tell its heights`,
		"kill+5blocks":        `nemesis "kill+5blocks": length "5blocks": this network does not tell`,
		"kill@time=3s+5s":     "",
		"pause,kill@every=3s": "",
	} {
		_, err := Parse(text, bare)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
}

func TestAsked(t *testing.T) {
	for text, want := range map[string]string{
		"none": "",
		"all":  "all",
		"kill:one@height=50+10s,partition:halves,kill,all,pause+5s": "kill partition all pause",
	} {
		if got := strings.Join(Asked(text), " "); got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

func TestReadSeries(t *testing.T) {
	text := `# HELP up It is up.
# TYPE up gauge
up 1
up_longer 2
up{a="}\"",b="x y"} 3.5e1 1700000000
	up	4
up{broken 5
up six
nup 7
`
	got, err := readSeries(strings.NewReader(text), "up")
	if err != nil || len(got) != 3 || got[0] != 1 || got[1] != 35 || got[2] != 4 {
		t.Errorf("%v, %v", got, err)
	}
}
