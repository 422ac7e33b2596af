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

// everyTurn tries every order of the operations that keeps that of each process.
func everyTurn(ops []op, processes []string, state string) bool {
	placed := make([]bool, len(ops))
	var search func(state string) bool
	search = func(state string) bool {
		left := false
		for i := range ops {
			left = left || !placed[i] && !ops[i].crashed
		}
		if !left {
			return true
		}
		for i := range ops {
			ready := !placed[i]
			for j := range i {
				ready = ready && (placed[j] || processes[j] != processes[i] || ops[j].crashed)
			}
			if !ready {
				continue
			}
			if after, ok := ops[i].step(state); ok {
				placed[i] = true
				if search(after) {
					return true
				}
				placed[i] = false
			}
		}
		return false
	}
	return search(state)
}

// TestSequentialAgreesWithEveryOrder compares verdicts with every order tried.
func TestSequentialAgreesWithEveryOrder(t *testing.T) {
	counts := make(map[string]map[checker.Verdict]int)
	for seed := range *fuzzCount / 2 {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		k := kinds()[seed%(len(kinds())-1)] // not the keyed one
		k.events = 18
		o := Options{NilAny: rng.IntN(4) == 0, EmptyValid: true}
		h := randomHistory(rng, k, o)
		// The oracle needs the process of each operation.
		var ops []op
		var processes []string
		for _, now := range opsOf(h, o)[""] {
			ops = append(ops, now)
			processes = append(processes, h.Ops[now.begin].Process.String())
		}
		want := checker.Invalid
		if everyTurn(ops, processes, o.Initial.Key()) {
			want = checker.Valid
		}
		c := Sequential(o)
		got := c.Check(context.Background(), h)
		if got.Verdict != want {
			t.Fatalf("seed %d, %s: we say %v (%s), every order %v:\n%s", seed, k.name, got.Verdict, got.Reason, want, textOf(h))
		}
		if want == checker.Valid && Register(o).Check(context.Background(), h).Verdict == checker.Valid {
			continue // says nothing about real time
		}
		if counts[k.name] == nil {
			counts[k.name] = make(map[checker.Verdict]int)
		}
		counts[k.name][want]++
		if want == checker.Invalid {
			sequentialWitness(t, c, got)
		}
	}
	valid, invalid := 0, 0
	for _, count := range counts {
		valid += count[checker.Valid]
		invalid += count[checker.Invalid]
	}
	if valid == 0 || invalid == 0 {
		t.Errorf("only one kind of history was drawn: %v", counts)
	}
	t.Log(counts)
}

// sequentialWitness judges the witness alone, and walks the circle.
func sequentialWitness(t *testing.T, c checker.Checker, r checker.Result) {
	t.Helper()
	a := r.Anomalies[0]
	var text strings.Builder
	for _, ref := range a.Witness {
		text.WriteString(ref.Op + "\n")
	}
	if again := c.Check(context.Background(), historytest.Read(t, text.String())); again.Verdict != checker.Invalid {
		t.Fatalf("witness alone is %v: %s\n%s", again.Verdict, a.Message, text.String())
	}
	for i, step := range a.Steps {
		if next := a.Steps[(i+1)%len(a.Steps)]; step.To != next.From || step.Why == "" || step.Rel == "" {
			t.Fatalf("steps are no circle: %+v", a)
		}
	}
}

func TestSequentialExplains(t *testing.T) {
	h := historytest.Read(t, `
{:type :invoke, :process 0, :f :write, :value 1} {:type :ok, :process 0, :f :write, :value 1}
{:type :invoke, :process 1, :f :write, :value 2} {:type :ok, :process 1, :f :write, :value 2}
{:type :invoke, :process 2, :f :read, :value nil} {:type :ok, :process 2, :f :read, :value 1}
{:type :invoke, :process 2, :f :read, :value nil} {:type :ok, :process 2, :f :read, :value 2}
{:type :invoke, :process 3, :f :read, :value nil} {:type :ok, :process 3, :f :read, :value 2}
{:type :invoke, :process 3, :f :read, :value nil} {:type :ok, :process 3, :f :read, :value 1}`)
	r := Sequential(Options{}).Check(context.Background(), h)
	if r.Verdict != checker.Invalid || len(r.Anomalies) != 1 {
		t.Fatalf("%+v", r)
	}
	a := r.Anomalies[0]
	if a.Name != "nonsequential" || len(a.Steps) != 4 || len(a.Witness) != 12 ||
		!strings.Contains(a.Message, "Process 2 did read of 1 by process 2 (ops 4 and 5) before read of 2") {
		t.Errorf("%+v", a)
	}
	if r := Register(Options{}).Check(context.Background(), &history.History{Ops: h.Ops[:8]}); r.Verdict != checker.Invalid {
		t.Errorf("the first half is %v with real time", r.Verdict)
	}
	if r := Sequential(Options{}).Check(context.Background(), &history.History{Ops: h.Ops[:8]}); r.Verdict != checker.Valid {
		t.Errorf("the first half is %v without real time", r.Verdict)
	}
}

// TestSequentialKeys holds that many keys are never approved of.
func TestSequentialKeys(t *testing.T) {
	h := historytest.Read(t, `{:type :ok, :process 0, :f :write, :value [1 1]} {:type :ok, :process 1, :f :write, :value [2 1]}`)
	if r := Sequential(Options{Keyed: true}).Check(context.Background(), h); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "does not tell") {
		t.Errorf("%+v", r)
	}
}
