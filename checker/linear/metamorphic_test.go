package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// TestSameVerdict holds that what means the same is judged the same.
func TestSameVerdict(t *testing.T) {
	counts := make(map[checker.Verdict]int)
	for seed := range *fuzzCount / 4 {
		rng := rand.New(rand.NewPCG(uint64(seed), 13))
		k := kinds()[seed%len(kinds())]
		o := Options{NilAny: rng.IntN(4) == 0, Keyed: k.keys > 0, Initial: history.Text("first"), EmptyValid: true}
		h := randomHistory(rng, k, o)
		want := verdict(o, h)
		counts[want]++
		for name, other := range map[string]*history.History{
			"other names":      renamed(h, o),
			"later doubt":      laterDoubt(rng, h),
			"a read that held": withRead(rng, h, o),
			"many long reads":  withLongReads(h, o),
		} {
			if got := verdict(o, other); got != want && other != nil {
				t.Fatalf("seed %d, %s: %v, was %v:\n%s\nnow\n%s", seed, name, got, want, textOf(h), textOf(other))
			}
		}
		if !o.Keyed {
			second := randomHistory(rng, k, o)
			both := merged(rng, h, second)
			o.Keyed = true
			if got, want := verdict(o, both), checker.Worst(want, verdict(Options{NilAny: o.NilAny, Initial: o.Initial, EmptyValid: true}, second)); got != want {
				t.Fatalf("seed %d, two keys: %v, each alone %v:\n%s", seed, got, want, textOf(both))
			}
		}
	}
	if counts[checker.Valid] == 0 || counts[checker.Invalid] == 0 {
		t.Errorf("only one kind of history was drawn: %v", counts)
	}
}

func verdict(o Options, h *history.History) checker.Verdict {
	if h == nil {
		return checker.Unknown
	}
	return Register(o).Check(context.Background(), h).Verdict
}

// renamed gives keys, values and processes other names: texts for integers.
func renamed(h *history.History, o Options) *history.History {
	var rename func(v history.Value) history.Value
	rename = func(v history.Value) history.Value {
		if n, ok := v.Int(); ok {
			return history.Text(fmt.Sprintf("v%d", 7*n+1))
		}
		if elems := v.Elems(); elems != nil {
			var list []history.Value
			for _, e := range elems {
				list = append(list, rename(e))
			}
			return history.Vec(list...)
		}
		return v
	}
	other := &history.History{Ops: slices.Clone(h.Ops)}
	for i := range other.Ops {
		op := &other.Ops[i]
		op.Value = rename(op.Value)
		n, _ := op.Process.Client()
		op.Process = history.Client(n*1_000_003 + 5)
	}
	return other
}

// laterDoubt moves an :info to some later place: its operation never ends anyway.
func laterDoubt(rng *rand.Rand, h *history.History) *history.History {
	other := &history.History{Ops: slices.Clone(h.Ops)}
	for i := len(other.Ops) - 1; i >= 0; i-- {
		if op := other.Ops[i]; op.Type == history.Info {
			to := i + rng.IntN(len(other.Ops)-i)
			copy(other.Ops[i:to], other.Ops[i+1:to+1])
			other.Ops[to] = op
		}
	}
	return other
}

// withRead adds a read that sees what another read sees, and lasts as long.
func withRead(rng *rand.Rand, h *history.History, o Options) *history.History {
	pairs := h.Pairs()
	for _, at := range rng.Perm(len(pairs)) {
		p := pairs[at]
		if p.Invoke < 0 || p.Complete < 0 || h.Ops[p.Complete].F != "read" || h.Ops[p.Complete].Type != history.OK {
			continue
		}
		asked, told := h.Ops[p.Invoke], h.Ops[p.Complete]
		asked.Process, told.Process = history.Client(1_000_000), history.Client(1_000_000)
		other := &history.History{Ops: slices.Clone(h.Ops)}
		other.Ops = slices.Insert(other.Ops, p.Complete+1, told)
		other.Ops = slices.Insert(other.Ops, p.Invoke, asked)
		return other
	}
	return h
}

// withLongReads adds more reads of the initial value than a word has bits, which
// begin before everything and end after it.
func withLongReads(h *history.History, o Options) *history.History {
	other := &history.History{}
	for _, typ := range []history.Type{history.Invoke, history.OK} {
		for p := range int64(70) {
			v := o.Initial
			if o.Keyed {
				v = history.Vec(history.Int(p%3), v)
			}
			other.Ops = append(other.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(2_000_000 + p), F: "read", Value: v})
		}
		if typ == history.Invoke {
			other.Ops = append(other.Ops, h.Ops...)
		}
	}
	return other
}

// merged is two histories of one register each as one of two keys.
func merged(rng *rand.Rand, a, b *history.History) *history.History {
	h := &history.History{}
	parts := [][]history.Op{a.Ops, b.Ops}
	for len(parts[0])+len(parts[1]) > 0 {
		key := rng.IntN(2)
		if len(parts[key]) == 0 {
			key = 1 - key
		}
		op := parts[key][0]
		parts[key] = parts[key][1:]
		op.Value = history.Vec(history.Int(int64(key)), op.Value)
		n, _ := op.Process.Client()
		op.Process = history.Client(2*n + int64(key))
		h.Ops = append(h.Ops, op)
	}
	return h
}

// decoded is the one register of a history.
func decoded(h *history.History, o Options) (*columns, *register) {
	c := newColumns(o.withDefaults(), registerModel())
	for e := range h.Events() {
		c.take(e)
	}
	c.finish()
	if len(c.keys) == 0 {
		return c, &register{values: []int32{c.initial}}
	}
	r, err := c.decode(c.keys[0])
	if err != nil {
		panic(err)
	}
	return c, r
}

// oracleOps makes operations for the oracles of calls.
func oracleOps(calls []call) []op {
	names := map[action]string{read: "read", write: "write", cas: "cas", miss: "cas-miss"}
	var ops []op
	for i := range calls {
		c := &calls[i]
		now := op{f: names[c.action], value: fmt.Sprint(c.value), old: fmt.Sprint(c.old), crashed: c.crashed, begin: int(c.begin), end: int(c.end)}
		ops = append(ops, now)
	}
	return ops
}

// TestClosedPartsProve holds the claim of sources: a closed part that fails
// never comes from a whole that does not.
func TestClosedPartsProve(t *testing.T) {
	failed := 0
	for seed := range *fuzzCount {
		rng := rand.New(rand.NewPCG(uint64(seed), 17))
		h := randomHistory(rng, kinds()[seed%(len(kinds())-1)], Options{})
		_, r := decoded(h, Options{})
		part := findSources(r.calls).closed(r.calls, func(int) bool { return rng.IntN(6) == 0 })
		initial := fmt.Sprint(r.initial)
		if porcupineSays(oracleOps(part), initial) {
			continue
		}
		failed++
		if porcupineSays(oracleOps(r.calls), initial) {
			t.Fatalf("seed %d: a closed part fails, the whole does not: %+v of\n%s", seed, part, textOf(h))
		}
	}
	if failed == 0 {
		t.Error("no closed part that fails was drawn")
	}
}

// TestPrefixesProve holds that a prefix that fails never comes from a whole that
// does not, and that pruning changes neither.
func TestPrefixesProve(t *testing.T) {
	failed := 0
	for seed := range *fuzzCount {
		rng := rand.New(rand.NewPCG(uint64(seed), 19))
		h := randomHistory(rng, kinds()[seed%(len(kinds())-1)], Options{})
		_, r := decoded(h, Options{})
		initial := fmt.Sprint(r.initial)
		part := prefix(r.calls, uint32(rng.IntN(len(h.Ops))))
		all := porcupineSays(oracleOps(part), initial)
		if left := porcupineSays(oracleOps(prune(part, len(r.values))), initial); left != all {
			t.Fatalf("seed %d: pruning changes %v to %v: %+v of\n%s", seed, all, left, part, textOf(h))
		}
		if all {
			continue
		}
		failed++
		if porcupineSays(oracleOps(r.calls), initial) {
			t.Fatalf("seed %d: a prefix fails, the whole does not: %+v of\n%s", seed, part, textOf(h))
		}
	}
	if failed == 0 {
		t.Error("no prefix that fails was drawn")
	}
}
