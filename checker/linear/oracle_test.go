package linear

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

var fuzzCount = flag.Int("linear.histories", 4000, "random histories that are compared with Porcupine and with every order tried")

// op is one operation as the oracles see it, read from a history by means of
// their own.
type op struct {
	f          string
	value, old string // keys of values
	crashed    bool
	begin, end int
}

// opsOf reads a history by key; nil stays out where it agrees with anything.
func opsOf(h *history.History, o Options) map[string][]op {
	keys := make(map[string][]op)
	for _, p := range h.Pairs() {
		now := op{begin: p.Invoke, end: p.Complete}
		var asked, told *history.Op
		if p.Invoke >= 0 {
			asked = &h.Ops[p.Invoke]
		} else {
			asked, now.begin = &h.Ops[p.Complete], p.Complete
		}
		v := asked.Value
		now.f = asked.F
		if p.Complete >= 0 {
			told = &h.Ops[p.Complete]
			if told.Type == history.Fail {
				continue
			}
			now.crashed = told.Type == history.Info
			if told.Type == history.OK {
				v, now.f = told.Value, told.F
			}
		} else {
			now.crashed = true
		}
		if now.crashed {
			now.end = math.MaxInt
		}
		key := ""
		if o.Keyed {
			key, v = v.Elems()[0].Key(), v.Elems()[1]
		}
		switch now.f {
		case "read":
			if now.crashed || o.NilAny && v.IsNil() {
				continue
			}
			now.value = v.Key()
		case "write":
			now.value = v.Key()
		case "cas", "cas-miss":
			now.old, now.value = v.Elems()[0].Key(), v.Elems()[1].Key()
		default:
			continue
		}
		keys[key] = append(keys[key], now)
	}
	return keys
}

func (o *op) step(state string) (string, bool) {
	switch o.f {
	case "read":
		return state, state == o.value
	case "write":
		return o.value, true
	case "cas":
		if state == o.old {
			return o.value, true
		}
		return state, o.crashed
	}
	return state, state != o.old
}

// everyOrder tries every order of the operations, the definition of
// linearizability written down.
func everyOrder(ops []op, state string) bool {
	placed := make([]bool, len(ops))
	var search func(state string) bool
	search = func(state string) bool {
		pending, earliest := false, math.MaxInt
		for i := range ops {
			if !placed[i] && !ops[i].crashed {
				pending = true
				earliest = min(earliest, ops[i].end)
			}
		}
		if !pending {
			return true
		}
		for i := range ops {
			if placed[i] || ops[i].begin > earliest {
				continue
			}
			after, ok := ops[i].step(state)
			if !ok {
				continue
			}
			placed[i] = true
			if search(after) {
				return true
			}
			placed[i] = false
		}
		return false
	}
	return search(state)
}

func porcupineSays(ops []op, initial string) bool {
	events := make([]porcupine.Operation, len(ops))
	for i := range ops {
		end := int64(2*ops[i].end + 1)
		if ops[i].crashed {
			end = math.MaxInt64
		}
		events[i] = porcupine.Operation{ClientId: i, Input: &ops[i], Call: int64(2 * ops[i].begin), Return: end}
	}
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, in, _ any) (bool, any) {
			after, ok := in.(*op).step(state.(string))
			return ok, after
		},
	}, events)
}

// TestAgreesWithOracles compares verdicts with every order tried, and with
// Porcupine, and judges each witness by itself.
func TestAgreesWithOracles(t *testing.T) {
	counts := make(map[string]map[checker.Verdict]int)
	all := kinds()
	for seed := range *fuzzCount {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		k := all[seed%len(all)]
		o := Options{NilAny: rng.IntN(3) == 0, Keyed: k.keys > 0, EmptyValid: true}
		if rng.IntN(3) == 0 {
			o.Initial = history.Int(0)
		}
		h := randomHistory(rng, k, o)
		want := checker.Valid
		for _, ops := range opsOf(h, o) {
			byPorcupine := porcupineSays(ops, o.Initial.Key())
			if len(ops) <= 9 {
				if all := everyOrder(ops, o.Initial.Key()); all != byPorcupine {
					t.Fatalf("seed %d: every order says %v, porcupine %v:\n%s", seed, all, byPorcupine, textOf(h))
				}
			}
			if !byPorcupine {
				want = checker.Invalid
			}
		}
		c := Register(o)
		got := c.Check(context.Background(), h)
		if len(h.Ops) > 0 && got.Verdict != want {
			t.Fatalf("seed %d, %s, %+v: we say %v (%s), want %v:\n%s", seed, k.name, o, got.Verdict, got.Reason, want, textOf(h))
		}
		if counts[k.name] == nil {
			counts[k.name] = make(map[checker.Verdict]int)
		}
		counts[k.name][want]++
		if want == checker.Invalid {
			witnessStands(t, c, o, got)
		}
		if len(h.Ops) < 20 {
			frontierAgrees(t, seed, h, o, want)
		}
	}
	for _, k := range all {
		if counts[k.name][checker.Valid] == 0 || counts[k.name][checker.Invalid] == 0 {
			t.Errorf("%s: only one kind of history was drawn: %v", k.name, counts[k.name])
		}
	}
	t.Log(counts)
}

// frontierAgrees decides every key by the frontier alone, also where zones would
// do, as wide as need be and as narrow as can be.
func frontierAgrees(t *testing.T, seed int, h *history.History, o Options, want checker.Verdict) {
	t.Helper()
	c := newColumns(o.withDefaults(), registerModel())
	for e := range h.Events() {
		c.take(e)
	}
	c.finish()
	wide, narrow := checker.Valid, checker.Valid
	for _, k := range c.keys {
		r, err := c.decode(k)
		if err != nil {
			t.Fatal(err)
		}
		f := begin(r.calls, len(r.values), 0, []int32{r.initial}, false, 1<<20)
		if why, _ := f.walk(context.Background(), 1<<20, -1, 1<<30); why == stuck {
			wide = checker.Invalid
		}
		s := &searcher{ctx: context.Background(), initial: r.initial, values: len(r.values), work: 1 << 30, memory: 1 << 28}
		if s.joke(r.calls) != never && want == checker.Valid {
			t.Fatalf("seed %d: jokers refute what is valid:\n%s", seed, textOf(h))
		}
		for width := 1; ; width *= 2 {
			f := begin(r.calls, len(r.values), 0, []int32{r.initial}, false, 1<<20)
			why, at := f.walk(context.Background(), width, -1, 1<<30)
			if why == arrived {
				break
			}
			for from := range at {
				part, states := s.stretch(r.calls, r.calls[from].begin, r.calls[min(int(at)+3, len(r.calls)-1)].begin)
				g := begin(part, len(r.values), r.calls[from].begin, states, false, 1<<20)
				if why, _ := g.walk(context.Background(), 1<<20, -1, 1<<30); why == stuck && want == checker.Valid && !o.Keyed {
					t.Fatalf("seed %d: the stretch from call %d is refuted, the whole is not:\n%s", seed, from, textOf(h))
				}
			}
			if !f.dropped {
				narrow = checker.Invalid
				break
			}
		}
	}
	if wide != want || narrow != want {
		t.Fatalf("seed %d, %+v: frontier says %v, from narrow %v, want %v:\n%s", seed, o, wide, narrow, want, textOf(h))
	}
}

func textOf(h *history.History) string {
	var text strings.Builder
	for i := range h.Ops {
		fmt.Fprintf(&text, "%s\n", h.Ops[i].String())
	}
	return text.String()
}

// witnessStands judges the text of each witness as a history of its own: it is
// not linearizable, and each value that is read keeps a writer where the whole
// history has one. What is said to work does.
func witnessStands(t testing.TB, c checker.Checker, o Options, r checker.Result) {
	t.Helper()
	if len(r.Anomalies) == 0 {
		t.Fatalf("invalid without an anomaly: %+v", r)
	}
	for _, a := range r.Anomalies {
		var text strings.Builder
		for i, ref := range a.Witness {
			if i > 0 && a.Witness[i-1].Index >= ref.Index {
				t.Fatalf("witness is not in history order: %+v", a.Witness)
			}
			text.WriteString(ref.Op + "\n")
		}
		if len(a.Blocked) == 0 {
			t.Fatalf("nothing is blocked: %+v", a)
		}
		for _, b := range a.Blocked {
			if b.Why == "" || b.Op == "" {
				t.Fatalf("a blocked operation without a reason: %+v", a)
			}
		}
		alone, err := history.ReadAll(strings.NewReader(text.String()), history.EDN())
		if err != nil {
			t.Fatal(err)
		}
		if again := c.Check(context.Background(), alone); again.Verdict != checker.Invalid {
			t.Fatalf("witness alone is %v: %s\n%s", again.Verdict, a.Message, text.String())
		}
		orderWorks(t, o, alone, a)
	}
}

// orderWorks plays the order that an anomaly shows, when that is all of it.
func orderWorks(t testing.TB, o Options, witness *history.History, a checker.Anomaly) {
	t.Helper()
	if len(a.Order) >= shownOrder || slices.ContainsFunc(witness.Ops, func(op history.Op) bool {
		return op.F != "read" && op.F != "write" && op.F != "cas" && op.F != "cas-miss"
	}) {
		return
	}
	initial := o.Initial
	state := initial.Key()
	for _, ref := range a.Order {
		one, err := history.ReadAll(strings.NewReader(ref.Op), history.EDN())
		if err != nil {
			t.Fatal(err)
		}
		v := one.Ops[0].Value
		if o.Keyed {
			v = v.Elems()[1]
		}
		now := op{f: one.Ops[0].F, value: v.Key()}
		if now.f == "cas" || now.f == "cas-miss" {
			now.old, now.value = v.Elems()[0].Key(), v.Elems()[1].Key()
		}
		after, ok := now.step(state)
		if !ok {
			t.Fatalf("order does not work at %s: %+v", ref.Op, a)
		}
		state = after
	}
}
