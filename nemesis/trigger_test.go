package nemesis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// allReach is everything that triggers ask for.
func allReach(n int) Reach {
	r := reach(n)
	r.Ops, r.Metrics = true, true
	return r
}

func drawTrigger(r *rand.Rand) trigger {
	node := pick(r, []string{"", "n1", "n4"})
	d := time.Duration(fromTo(r, 1, int64(300*time.Hour)))
	tr := trigger{kind: pick(r, triggerKinds()).name}
	switch tr.kind {
	case "height", "after", "epoch":
		tr.n = fromTo[uint64](r, 1, 1<<62)
	case "op":
		tr.n = fromTo[uint64](r, 1, 1<<62)
		tr.process = pick(r, []int64{allProcesses, 0, 3, 1 << 30})
	case "proposer":
		tr.node = pick(r, []string{"n1", "n4"})
	case "stall":
		tr.node, tr.d = node, d
	case "metric":
		tr.node = node
		tr.metric = "m" + some(r, 20, "abyzABYZ_:09")
		tr.above = coin(r)
		tr.value = 2e6*r.Float64() - 1e6
	case "time", "every":
		tr.d = d
	}
	return tr
}

// TestTimesRoundTrip: what a fault calls itself is what Parse takes.
func TestTimesRoundTrip(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		f := pick(r, []string{"kill", "kill:one", "pause:n2", "partition:halves"})
		in := timed{}
		if coin(r) {
			tr := drawTrigger(r)
			in.when = &tr
		}
		switch fromTo(r, 0, 2) {
		case 1:
			in.stay = &length{d: time.Duration(fromTo(r, 1, int64(time.Hour)))}
		case 2:
			in.stay = &length{blocks: fromTo[uint64](r, 1, 1<<30)}
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
	property(t, func(t *testing.T, r *rand.Rand) {
		text := pick(r, []string{"", "kill", "pause"})
		for _, part := range []string{":" + some(r, 5, "an019"), "@" + pick(r, triggerKinds()).name + some(r, 9, "=pn019:<>.+-s"), "+" + some(r, 5, "059smhblocks")} {
			if coin(r) {
				text += part
			}
		}
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
