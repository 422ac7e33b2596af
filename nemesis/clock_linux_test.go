package nemesis

import (
	"context"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

func needClock(t *testing.T) {
	t.Helper()
	if err := clock.Probe(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}

func number(t *testing.T, v history.Value, keys ...string) float64 {
	t.Helper()
	for i, k := range keys {
		next, ok := v.Field(k)
		if !ok && v.Kind() == history.Map { // a node's name is no keyword
			for j := 0; j+1 < len(v.Elems()); j += 2 {
				if v.Elems()[j].Text() == k {
					next, ok = v.Elems()[j+1], true
				}
			}
		}
		if !ok {
			t.Errorf("no %v in %s", keys[:i+1], v)
			return math.NaN()
		}
		v = next
	}
	if n, ok := v.Int(); ok {
		return float64(n)
	}
	f, ok := v.Float()
	if !ok {
		t.Errorf("%v: no number: %s", keys, v)
	}
	return f
}

// TestClockFaults lets each fault hit one of three real processes. The clocks are
// read as the processes see them; those of the others and of the host must not move.
func TestClockFaults(t *testing.T) {
	t.Parallel()
	needClock(t)
	n, _, _ := testNet(t, 3)
	for spec, check := range map[string]func(t *testing.T, evidence history.Value, r clock.Reading){
		"clock-bump:n2:10s":  off(10 * time.Second),
		"clock-bump:n2:-10s": off(-10 * time.Second),
		"clock-bump:n2:+2h":  off(2 * time.Hour),
		"clock-bump:n2:-2h":  off(-2 * time.Hour),
		"clock-drift:n2:1%": func(t *testing.T, evidence history.Value, r clock.Reading) {
			if ppm := number(t, evidence, "n2", "measured-ppm"); math.Abs(ppm-10_000) > 1_000 {
				t.Errorf("rate: %s", evidence)
			}
			if r.Offset < 100*time.Microsecond {
				t.Errorf("read %+v", r)
			}
		},
		"clock-drift:n2:-2%": func(t *testing.T, evidence history.Value, r clock.Reading) {
			if ppm := number(t, evidence, "n2", "measured-ppm"); math.Abs(ppm+20_000) > 2_000 {
				t.Errorf("rate: %s", evidence)
			}
		},
		"clock-strobe:n2:10s:period=50ms": func(t *testing.T, evidence history.Value, r clock.Reading) {
			if number(t, evidence, "n2", "flips") < 3 {
				t.Errorf("flips: %s", evidence)
			}
			if !within(r, 0) && !within(r, 10*time.Second) {
				t.Errorf("read %+v", r)
			}
		},
		"clock-reset:n2:-10s:hold=300ms": func(t *testing.T, evidence history.Value, r clock.Reading) {
			if d := number(t, evidence, "n2", "measured-ms"); math.Abs(d+10_000) > 1 || !within(r, 0) {
				t.Errorf("%s, now %+v", evidence, r)
			}
		},
	} {
		t.Run(spec, func(t *testing.T) {
			host, err := hostClock()
			if err != nil {
				t.Fatal(err)
			}
			r := &rec{}
			r.seen = func(op history.Op) error {
				if !strings.HasPrefix(op.F, "start-") || !measured(op) {
					return nil
				}
				evidence, _ := op.Value.Field("evidence")
				id, _ := n.Processes.Identity("n2")
				reading, err := clock.Read(id)
				if err != nil {
					t.Error(err)
				}
				check(t, evidence, reading)
				for _, other := range []string{"n1", "n3"} {
					if d := number(t, evidence, "others-ms", other); math.Abs(d) > 1 {
						t.Errorf("%s is off by %v ms", other, d)
					}
				}
				if d := number(t, evidence, "host-moved-ms"); math.Abs(d) > 1 {
					t.Errorf("the host is off by %v ms", d)
				}
				if now, _ := hostClock(); max(now-host, host-now) > time.Millisecond {
					t.Errorf("the host's clock moved by %v", now-host)
				}
				return nil
			}
			out, err := once(t, options(t, n, spec, 1, r), r)
			if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			for i, op := range r.ops {
				offsets, _ := op.Lookup("clock-offsets")
				for _, node := range n.Nodes {
					d := number(t, offsets, node)
					if node != "n2" && math.Abs(d) > 0.001 || i == 0 && math.Abs(d) > 0.001 || i == len(r.ops)-1 && math.Abs(d) > 0.001 {
						t.Errorf("op %d: %s is off by %v s", i, node, d)
					}
				}
			}
			if strings.HasPrefix(spec, "clock-bump") {
				offsets, _ := r.ops[1].Lookup("clock-offsets")
				if d, want := number(t, offsets, "n2"), number(t, r.ops[0].Value, "offset-ms")/1000; math.Abs(d-want) > 0.001 {
					t.Errorf("clock-offsets %s, expected %v", offsets, want)
				}
			}
			for _, v := range running(n) {
				if _, missing, err := clean(v); missing != "" || err != nil {
					t.Errorf("afterwards: %s, %v", missing, err)
				}
			}
			t.Logf("%s", r.ops[1].Value)
		})
	}
}

func off(want time.Duration) func(t *testing.T, evidence history.Value, r clock.Reading) {
	return func(t *testing.T, evidence history.Value, r clock.Reading) {
		ms := float64(want.Milliseconds())
		if asked, seen := number(t, evidence, "n2", "offset-ms"), number(t, evidence, "n2", "measured-ms"); asked != ms || math.Abs(seen-ms) > 1 {
			t.Errorf("%s", evidence)
		}
		if !within(r, want) {
			t.Errorf("read %+v", r)
		}
	}
}

// TestClockOfOneThatRestarts: the next incarnation is set off as well, a target that
// stays away is started when its clock would be right.
func TestClockOfOneThatRestarts(t *testing.T) {
	t.Parallel()
	needClock(t)
	for _, restarts := range []bool{true, false} {
		t.Run(fmt.Sprint(restarts), func(t *testing.T) {
			n, c, _ := testNet(t, 1)
			r := &rec{}
			r.seen = func(op history.Op) error {
				if op.F != "start-clock-bump" || !measured(op) {
					return nil
				}
				was, _ := c.Identity("n1")
				if err := devnet.Signal(was, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				wait(t, "n1 to end", func() bool { _, up := c.Identity("n1"); return !up })
				if !restarts {
					return nil
				}
				id, err := c.Start(t.Context(), "n1")
				if err != nil {
					t.Error(err)
				}
				wait(t, "the next incarnation to be set off", func() bool {
					r, err := clock.Read(id)
					return err == nil && within(r, -time.Hour)
				})
				return nil
			}
			out, err := once(t, options(t, n, "clock-bump:all:-1h", 1, r), r)
			if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			evidence := r.ops[3].Value.String()
			want := ":ready true"
			if restarts {
				want = ":set-again 1"
			}
			if !strings.Contains(evidence, want) {
				t.Errorf("evidence %s", evidence)
			}
			up := running(n)
			if len(up) != 1 {
				t.Errorf("running: %v", up)
			}
			for _, v := range up {
				if _, missing, err := clean(v); missing != "" || err != nil {
					t.Errorf("afterwards: %s, %v", missing, err)
				}
			}
		})
	}
}

// TestClockTakeBack: another process finds what came back after the ledger was
// written by its owner, and nothing of others.
func TestClockTakeBack(t *testing.T) {
	// Not in parallel: it takes back every clock that this process has patched.
	needClock(t)
	id := loner(t)
	s, err := clock.Install(id)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	dead := bury(t)
	if _, err := (Step{Kind: stepClock, Node: "n1", Target: dead, Was: "1@1"}).takeBack(t.Context(), true); err != nil {
		t.Error(err)
	}
	if patched, err := clock.Patched(id); !patched || err != nil {
		t.Errorf("a stranger's was taken back: %v, %v", patched, err)
	}
	did, err := Step{Kind: stepClock, Node: "n1", Target: dead, Was: self.String()}.takeBack(t.Context(), true)
	if err != nil || !strings.Contains(did, id.String()) {
		t.Errorf("%q, %v", did, err)
	}
	if patched, err := clock.Patched(id); patched || err != nil {
		t.Errorf("patched: %v, %v", patched, err)
	}
}

// TestClockDoubts holds the proofs against a network to which nothing was done, and
// against one that was not healed.
func TestClockDoubts(t *testing.T) {
	t.Parallel()
	needClock(t)
	n, _, _ := testNet(t, 1)
	for _, spec := range []string{"clock-bump:10s", "clock-drift:1%", "clock-strobe:10s:period=20ms", "clock-reset:10s"} {
		app, err := parsed(t, spec)[0].Plan(t.Context(), n, seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := app.Probe(shortly(t)); err == nil {
			t.Errorf("%s was not applied, but there is evidence: %s", spec, v)
		}
		if err := app.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := app.Probe(t.Context()); err != nil {
			t.Errorf("%s: %s, %v", spec, v, err)
		}
		if v, err := app.VerifyUndone(shortly(t)); err == nil {
			t.Errorf("%s was not undone, but there is evidence: %s", spec, v)
		}
		for range 2 {
			if err := app.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := app.VerifyUndone(t.Context()); err != nil {
			t.Errorf("%s: %s, %v", spec, v, err)
		}
	}
}

func TestClockSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"clock-bump":                         "clock-bump",
		"clock-bump:+10s:one":                "clock-bump:one:+10s",
		"clock-bump:all:-2h":                 "clock-bump:all:-2h0m0s",
		"clock-bump:n1:+10s+30s":             "clock-bump:n1:+10s",
		"clock-drift:1%":                     "clock-drift:10000ppm",
		"clock-drift:-500ppm:n1":             "clock-drift:n1:-500ppm",
		"clock-strobe:period=50ms:one:-4s":   "clock-strobe:one:-4s:period=50ms",
		"clock-reset:hold=200ms:3s:proposer": "clock-reset:proposer:+3s:hold=200ms",
		"clock-bump:1s:3s":                   "",
		"clock-bump:1ms":                     "",
		"clock-bump:500000h":                 "",
		"clock-drift:60%":                    "",
		"clock-drift:1ppm":                   "",
		"clock-drift:x%":                     "",
		"clock-drift:NaN%":                   "",
		"clock-strobe:period=1us":            "",
		"clock-reset:hold=1h":                "",
		"clock-reset:hold=":                  "",
	} {
		_, f, err := Lookup(spec)
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", spec)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		f, _, _ = timesOf(f)
		if f.Name() != want {
			t.Errorf("%s: %s, expected %s", spec, f.Name(), want)
		}
		if _, again, err := Lookup(f.Name()); err != nil || again.Name() != want {
			t.Errorf("%s: name %s is read as %v, %v", spec, want, again, err)
		}
	}
}

// TestClockDraws: the same seed draws the same, and draws differ.
func TestClockDraws(t *testing.T) {
	for _, e := range []Entry{clockBumpEntry(), clockDriftEntry(), clockStrobeEntry(), clockResetEntry()} {
		f, err := e.New("")
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for seed := range uint64(20) {
			a, b := f.(clockFault).draw(seeded(seed)), f.(clockFault).draw(seeded(seed))
			if history.Vec(a.params...).String() != history.Vec(b.params...).String() {
				t.Errorf("%s: %v and %v of one seed", e.Name, a.params, b.params)
			}
			texts = append(texts, history.Vec(a.params...).String())
			for _, d := range a.offsets {
				if d != 0 && (max(d, -d) < 11*time.Millisecond || max(d, -d) > 288*time.Second) {
					t.Errorf("%s: %v", e.Name, d)
				}
			}
		}
		slices.Sort(texts)
		if len(slices.Compact(texts)) < 8 {
			t.Errorf("%s: %v", e.Name, texts)
		}
	}
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
