package linear

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestUnnamed judges operations of which nobody knows who did them.
func TestUnnamed(t *testing.T) {
	o := Options{EmptyValid: true}
	for _, test := range []struct {
		name string
		c    checker.Checker
		text string
		want checker.Verdict
		says string
	}{
		{"lock taken twice", Mutex(o), `{:type :ok :f :acquire} {:type :ok :f :acquire}`, checker.Invalid, "acquire by an unknown process (op 1)"},
		{"lock taken and freed", Mutex(o), `{:type :ok :f :acquire} {:type :ok :f :release}`, checker.Valid, "2 operations on the lock"},
		{"never written", Register(o), `{:type :ok :f :write :value 1} {:type :ok :f :read :value 3}`, checker.Invalid, "read of 3 by an unknown process (op 1)"},
		{"stale", Register(o), `{:type :ok :f :write :value 1} {:type :ok :f :write :value 2} {:type :ok :process 0 :f :read :value 1}`, checker.Invalid, "read of 1 by process 0"},
		{"keys", Register(Options{Keyed: true}), `{:type :ok :f :write :value [1 1]} {:type :ok :f :read :value [1 1]} {:type :ok :f :read :value [2 nil]}`, checker.Valid, "3 operations on 2 registers"},
		{"failed only", Register(o), `{:type :fail :f :write :value 1}`, checker.Valid, "no operation completed; Knossos calls that valid"},
		{"invoked only", Register(o), `{:type :invoke :f :write :value 1}`, checker.Unknown, "1 op without a :process cannot be paired with a completion or an invocation, the first is op 0"},
		{"in doubt only", Mutex(o), `{:type :info :f :acquire}`, checker.Unknown, "1 op without a :process"},
		{"nobody can pair", Register(o), `{:type :invoke :f :write :value 1} {:type :invoke :f :read} {:type :ok :f :write :value 1} {:type :ok :f :read :value nil}`,
			checker.Unknown, "2 ops without a :process"},
		{"bad whoever did it", Register(o), `{:type :invoke :f :write :value 1} {:type :ok :process 0 :f :read :value 2}`, checker.Invalid, "read of 2 by process 0"},
		{"good if that happened", Register(o), `{:type :invoke :f :write :value 1} {:type :ok :process 0 :f :read :value 1}`, checker.Unknown, "1 op without a :process"},
		{"no key", Register(Options{Keyed: true, EmptyValid: true}), `{:type :ok :f :write :value 1}`, checker.Unknown, "not one of their :f"},
		{"sequential, never written", Sequential(o), `{:type :ok :f :write :value 1} {:type :ok :f :read :value 3}`, checker.Invalid, "not sequentially consistent"},
		{"sequential, whoever it was", Sequential(o), `{:type :ok :f :write :value 1} {:type :ok :f :read :value 1}`, checker.Valid, "2 operations on the register"},
		// Fine if two processes read, not if it was one.
		{"sequential, not known", Sequential(o), `{:type :ok :process 0 :f :write :value 1} {:type :ok :f :read :value 1} {:type :ok :f :read :value nil}`,
			checker.Unknown, "may be anybody's"},
		{"sequential, cannot pair", Sequential(o), `{:type :invoke :f :write :value 1}`, checker.Unknown, "1 op without a :process"},
	} {
		r := test.c.Check(context.Background(), historytest.Read(t, test.text))
		if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) {
			t.Errorf("%s: %v: %q, want %v: %q", test.name, r.Verdict, r.Reason, test.want, test.says)
		}
		if r.Verdict == checker.Invalid && r.Checker == "linear" {
			witnessStands(t, test.c, o, r)
		}
	}
}

// TestUnnamedIsSound takes the processes of some ops away. What is said without
// them must be what is said with them, or unknown.
func TestUnnamedIsSound(t *testing.T) {
	var counts [3]int
	for seed := range *fuzzCount / 4 {
		rng := rand.New(rand.NewPCG(uint64(seed), 17))
		k := kinds()[seed%len(kinds())]
		o := Options{NilAny: rng.IntN(3) == 0, Keyed: k.keys > 0, EmptyValid: true}
		h := randomHistory(rng, k, o)
		for _, c := range []checker.Checker{Register(o), Sequential(o)} {
			full := c.Check(context.Background(), h).Verdict
			bare := &history.History{Ops: append([]history.Op(nil), h.Ops...)}
			for _, p := range h.Pairs() {
				if p.Invoke >= 0 && rng.IntN(10) == 0 {
					bare.Ops[p.Invoke].Process = history.Process{}
					if p.Complete >= 0 {
						bare.Ops[p.Complete].Process = history.Process{}
					}
				}
			}
			r := c.Check(context.Background(), bare)
			counts[r.Verdict]++
			if r.Verdict == checker.Unknown && r.Reason == "" || r.Verdict != checker.Unknown && r.Verdict != full {
				t.Fatalf("seed %d, %s, %s: %v (%s), but %v with all processes:\n%s", seed, k.name, r.Checker, r.Verdict, r.Reason, full, textOf(bare))
			}
		}
	}
	if counts[checker.Invalid] == 0 || counts[checker.Unknown] == 0 {
		t.Errorf("only some verdicts were reached: %v", counts)
	}
	t.Log(counts)
}

// TestUnnamedCompletions holds that completions without a process and an
// invocation are what those of as many clients are.
func TestUnnamedCompletions(t *testing.T) {
	verdicts := make(map[checker.Verdict]int)
	for seed := range *fuzzCount / 4 {
		rng := rand.New(rand.NewPCG(uint64(seed), 19))
		named, bare := &history.History{}, &history.History{}
		for i := range int64(2 + rng.IntN(6)) {
			op := history.Op{Index: history.Absent, Time: history.Absent, Type: history.OK, Process: history.Client(i),
				F: []string{"read", "write"}[rng.IntN(2)], Value: history.Int(rng.Int64N(2))}
			named.Ops = append(named.Ops, op)
			op.Process = history.Process{}
			bare.Ops = append(bare.Ops, op)
		}
		want, got := Register(Options{}).Check(context.Background(), named), Register(Options{}).Check(context.Background(), bare)
		verdicts[got.Verdict]++
		if got.Verdict != want.Verdict || got.Facts != want.Facts || got.Facts != len(bare.Ops) {
			t.Fatalf("seed %d: %v, %d facts, want %v, %d facts:\n%s", seed, got.Verdict, got.Facts, want.Verdict, want.Facts, textOf(bare))
		}
	}
	if verdicts[checker.Valid] == 0 || verdicts[checker.Invalid] == 0 {
		t.Errorf("only some verdicts were reached: %v", verdicts)
	}
}
