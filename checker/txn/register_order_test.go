package txn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// The order of versions is small, but what follows from it is what follows from
// all pairs of transactions of which one came before the other.
func TestRegisterOrderIsThatOfAllPairs(t *testing.T) {
	edges := 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawLong(t)
		c := RWRegister(Options{}).(*rwRegister)
		for e := range h.Events() {
			c.Take(e)
		}
		c.txns.settle()
		r := newRegisters(&c.txns, false)
		o := newKeyOrder(r, nil)
		for key := range int32(r.keys.len()) {
			for _, by := range []evidence{byWFR, bySequential, byLinearizable, inferWFR | inferProcess, inferWFR | inferProcess | inferRealtime} {
				// Not what is done about contradictions: all edges of it.
				o.build(key, by&inferred)
				o.edges = o.edges[:0]
				for _, source := range []evidence{byWFR, bySequential, byLinearizable, inferWFR, inferProcess, inferRealtime} {
					switch by & source {
					case byWFR, inferWFR:
						o.addWithin(source, source)
					case bySequential, inferProcess:
						o.addProcesses(source)
					case byLinearizable, inferRealtime:
						o.addRealtime(source)
					}
				}
				edges += len(o.edges)
				got := closure(len(o.versions), func(add func(a, b int32)) {
					for _, e := range o.edges {
						add(e.a, e.b)
					}
				})
				want := closure(len(o.versions), func(add func(a, b int32)) { allPairs(o, by, add) })
				for a := range got {
					if !slices.Equal(got[a], want[a]) {
						t.Fatalf("key %s, evidence %b: after %s come %v of %v, want %v", r.keyName(key), by, r.name(o.versions[a]), got[a], o.versions, want[a])
					}
				}
			}
		}
	})
	if edges == 0 {
		t.Error("nothing was ordered")
	}
}

// allPairs compares every transaction with every other one.
func allPairs(o *keyOrder, by evidence, add func(a, b int32)) {
	for _, x := range o.touches {
		first, last, ok := o.span(x, by)
		if !ok {
			continue
		}
		add(first, last)
		for _, y := range o.touches {
			to, _, ok := o.span(y, by)
			if !ok || o.r.status[x.txn] != committed {
				continue
			}
			session := o.r.status[y.txn] == committed && o.r.process[x.txn] == o.r.process[y.txn] && o.r.ret[x.txn] < o.r.ret[y.txn]
			real := o.r.invoked(y.txn) >= 0 && o.r.ret[x.txn] < o.r.call[y.txn]
			if by&(bySequential|inferProcess) != 0 && session || by&(byLinearizable|inferRealtime) != 0 && real {
				add(last, to)
			}
		}
	}
}

func closure(n int, edges func(add func(a, b int32))) [][]bool {
	reach := make([][]bool, n)
	for a := range reach {
		reach[a] = make([]bool, n)
	}
	edges(func(a, b int32) {
		if a != b {
			reach[a][b] = true
		}
	})
	for via := range n {
		for a := range n {
			for b := range n {
				reach[a][b] = reach[a][b] || reach[a][via] && reach[via][b]
			}
		}
	}
	return reach
}

// Whatever a history has in it, it is judged without a panic, twice alike, and
// nothing is called valid that has no transaction.
func TestRegisterTakesAnything(t *testing.T) {
	val := rapid.SampledFrom([]history.Value{
		{}, history.Int(1), history.Int(1), history.Int(2), history.Int(3), history.Int(-7), history.Int(1 << 40), history.Text("1"), history.Vec(history.Int(1)), history.MapOf(),
	})
	micro := rapid.Custom(func(t *rapid.T) history.Value {
		parts := []history.Value{history.Keyword(rapid.SampledFrom([]string{"r", "w", "r", "w", "r", "w", "append"}).Draw(t, "f"))}
		for range rapid.SampledFrom([]int{2, 2, 2, 2, 2, 1, 0, 3}).Draw(t, "parts") {
			parts = append(parts, val.Draw(t, "part"))
		}
		return history.Vec(parts...)
	})
	rapid.Check(t, func(t *rapid.T) {
		h := &history.History{}
		for range rapid.IntRange(0, 14).Draw(t, "ops") {
			h.Ops = append(h.Ops, history.Op{
				Index: history.Absent, Type: history.Type(rapid.IntRange(1, 4).Draw(t, "type")),
				Process: rapid.SampledFrom([]history.Process{{}, history.Client(0), history.Client(0), history.Client(1), history.Client(-3), history.Nemesis()}).Draw(t, "process"),
				F:       rapid.SampledFrom([]string{"", "txn"}).Draw(t, "f"),
				Value:   history.Vec(rapid.SliceOfN(micro, 0, 3).Draw(t, "micro-ops")...),
			})
		}
		o := Options{
			Models:  rapid.SampledFrom([][]string{nil, {"read-uncommitted"}, {"serializable"}, {"strong-session-serializable"}}).Draw(t, "models"),
			WFRKeys: rapid.Bool().Draw(t, "wfr"), SequentialKeys: rapid.Bool().Draw(t, "sequential"), LinearizableKeys: rapid.Bool().Draw(t, "linearizable"),
		}
		if rapid.Bool().Draw(t, "given") {
			o.Order = map[int]int{0: 3, 1: 1, 5: 2, 7: 0}
		}
		a, b := check(h, o), check(h, o)
		if a.Verdict != b.Verdict || a.Reason != b.Reason || len(a.Anomalies) != len(b.Anomalies) {
			t.Fatalf("%s, %s, and then %s, %s", a.Verdict, a.Reason, b.Verdict, b.Reason)
		}
		if a.Verdict == checker.Valid && a.Facts == 0 {
			t.Fatal("valid without a fact")
		}
	})
}
