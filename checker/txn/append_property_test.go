package txn

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// holds is the strongest model that each level of the simulated store keeps.
var holds = map[string]string{
	"strict": "strict-serializable", "serial": "serializable", "snapshot": "snapshot-isolation",
	"committed": "read-committed", "uncommitted": "read-uncommitted",
}

// levels are those of the simulated store, the strongest first.
var levels = []string{"strict", "serial", "snapshot", "committed", "uncommitted"}

// TestNoFalseAlarm judges histories of simulated stores by what they keep.
func TestNoFalseAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		h := simulate(r, level, rapid.IntRange(1, 120).Draw(t, "txns"), rapid.IntRange(1, 12).Draw(t, "processes"), rapid.IntRange(1, 8).Draw(t, "keys"))
		if got := checkAppend(h, Options{Models: []string{holds[level]}}); got.Verdict == checker.Invalid {
			t.Fatalf("a %s store is not %s: %s\n%s\n%s", level, holds[level], got.Reason, got.Anomalies[0].Message, text(h))
		}
	})
}

// TestWeakerStoresAreTold shows that the simulation is worth something: each
// store breaks what the next stronger one keeps.
func TestWeakerStoresAreTold(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, level := range levels[1:] {
		model, told := holds[levels[i]], 0
		for range 20 {
			if checkAppend(simulate(r, level, 200, 10, 4), Options{Models: []string{model}}).Verdict == checker.Invalid {
				told++
			}
		}
		if told < 10 {
			t.Errorf("a %s store is told from one that is %s by %d of 20 histories", level, model, told)
		}
	}
}

// TestPlantedIsFound puts an anomaly on keys of its own into a history that is
// valid, anywhere.
func TestPlantedIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(planted).Draw(t, "planted")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		h := simulate(r, "strict", 60, 6, 5)
		bad := historytest.Read(&recorder{}, lines(c.ops, 10000, 1000))
		var mixed []history.Op
		good := h.Ops
		for left := bad.Ops; len(left)+len(good) > 0; {
			if r.IntN(len(left)+len(good)) < len(left) {
				mixed, left = append(mixed, left[0]), left[1:]
			} else {
				mixed, good = append(mixed, good[0]), good[1:]
			}
		}
		got := checkAppend(&history.History{Ops: mixed}, Options{Models: []string{c.breaks}})
		if got.Verdict != checker.Invalid || !slices.Contains(namesOf(got), c.class) {
			t.Fatalf("%s is not found among others: %s, %s\n%s", c.class, got.Verdict, got.Reason, text(&history.History{Ops: mixed}))
		}
	})
}

// recorder lets Read be used where nothing can go wrong.
type recorder struct{ testing.TB }

func (*recorder) Helper()           {}
func (*recorder) Fatal(args ...any) { panic(args) }

// TestRenamingChangesNothing gives keys, elements and processes other names.
func TestRenamingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels[1:]).Draw(t, "level")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		h := simulate(r, level, 40, 6, 4)
		key := rapid.SampledFrom([]func(history.Value) history.Value{
			func(v history.Value) history.Value { return history.Keyword("k" + v.String()) },
			func(v history.Value) history.Value { return history.Vec(history.Keyword("anti"), v) },
			func(v history.Value) history.Value { n, _ := v.Int(); return history.Int(-n * 1_000_000_007) },
		})
		k, e := key.Draw(t, "key"), key.Draw(t, "element")
		renamed := &history.History{Ops: slices.Clone(h.Ops)}
		for i := range renamed.Ops {
			op := &renamed.Ops[i]
			p, _ := op.Process.Client()
			op.Process = history.Client(7_000_000 - p)
			var mops []history.Value
			for _, m := range op.Value.Elems() {
				m := m.Elems()
				val := e(m[2])
				if m[0].Text() == "r" {
					val = m[2]
					if !val.IsNil() {
						var elems []history.Value
						for _, elem := range m[2].Elems() {
							elems = append(elems, e(elem))
						}
						val = history.Vec(elems...)
					}
				}
				mops = append(mops, history.Vec(m[0], k(m[1]), val))
			}
			op.Value = history.Vec(mops...)
		}
		a, b := checkAppend(h, Options{}), checkAppend(renamed, Options{})
		if a.Verdict != b.Verdict || a.Reason != b.Reason || !slices.Equal(a.Stats, b.Stats) {
			t.Fatalf("%s, %s %v\nafter renaming %s, %s %v\n%s", a.Verdict, a.Reason, a.Stats, b.Verdict, b.Reason, b.Stats, text(renamed))
		}
	})
}

// TestSerialOrder holds verdicts on small histories against a search for an order
// of the transactions that explains what each of them read.
func TestSerialOrder(t *testing.T) {
	verdicts := map[checker.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := smallHistory(t)
		strict := rapid.Bool().Draw(t, "strict")
		model := "serializable"
		if strict {
			model = "strict-serializable"
		}
		got := checkAppend(h, Options{Models: []string{model}})
		verdicts[got.Verdict]++
		want := serialOrder(h, strict)
		if got.Verdict == checker.Unknown && strings.Contains(got.Reason, "began with elements") && !want {
			return
		}
		if (got.Verdict == checker.Invalid) == want {
			t.Fatalf("%s (%s) for %s, but that there is an order is %t\n%s", got.Verdict, got.Reason, model, want, text(h))
		}
		if got.Verdict == checker.Unknown && !strings.Contains(got.Reason, "nothing orders") && !strings.Contains(got.Reason, "no transaction completed") {
			t.Fatalf("unknown: %s\n%s", got.Reason, text(h))
		}
	})
	if verdicts[checker.Valid] == 0 || verdicts[checker.Invalid] == 0 {
		t.Errorf("verdicts %v: one of them was never tried", verdicts)
	}
}

// smallHistory is a history of a simulated store, in which then some reads were
// changed.
func smallHistory(t *rapid.T) *history.History {
	level := rapid.SampledFrom(levels).Draw(t, "level")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
	h := simulate(r, level, rapid.IntRange(1, 5).Draw(t, "txns"), rapid.IntRange(1, 4).Draw(t, "processes"), rapid.IntRange(1, 2).Draw(t, "keys"))
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		op := &h.Ops[r.IntN(len(h.Ops))]
		if op.Type != history.OK {
			continue
		}
		mops := slices.Clone(op.Value.Elems())
		at := r.IntN(len(mops))
		m := mops[at].Elems()
		if m[0].Text() != "r" {
			continue
		}
		elems := slices.Clone(m[2].Elems())
		switch n := len(elems); {
		case n > 1 && r.IntN(3) == 0:
			i := r.IntN(n - 1)
			elems[i], elems[i+1] = elems[i+1], elems[i]
		case n > 0 && r.IntN(2) == 0:
			elems = elems[:r.IntN(n)]
		default:
			elems = append(elems, history.Int(int64(1+r.IntN(4))))
		}
		mops[at] = history.Vec(m[0], m[1], history.Vec(elems...))
		op.Value = history.Vec(mops...)
	}
	return h
}

// oracleTxn is a transaction as serialOrder sees it.
type oracleTxn struct {
	call, ret int
	mops      []history.Value
	must      bool
}

// serialOrder reports whether the committed transactions and some of those in
// doubt can have run one after the other. It tries every order.
func serialOrder(h *history.History, strict bool) bool {
	var txns []*oracleTxn
	open := map[history.Process]*oracleTxn{}
	for i, op := range h.Ops {
		if op.Type == history.Invoke {
			open[op.Process] = &oracleTxn{call: i, ret: 1 << 30, mops: op.Value.Elems()}
			txns = append(txns, open[op.Process])
			continue
		}
		tx := open[op.Process]
		switch op.Type {
		case history.OK:
			tx.ret, tx.mops, tx.must = i, op.Value.Elems(), true
		case history.Fail:
			txns = slices.DeleteFunc(txns, func(other *oracleTxn) bool { return other == tx })
		}
	}
	return place(txns, map[string][]string{}, strict)
}

// place puts one transaction after the other next.
func place(left []*oracleTxn, lists map[string][]string, strict bool) bool {
	if !slices.ContainsFunc(left, func(tx *oracleTxn) bool { return tx.must }) {
		return true
	}
	for i, tx := range left {
		if strict && slices.ContainsFunc(left, func(other *oracleTxn) bool { return other.ret < tx.call }) {
			continue
		}
		state := map[string][]string{}
		for k, l := range lists {
			state[k] = l
		}
		if tx.run(state) && place(slices.Delete(slices.Clone(left), i, i+1), state, strict) {
			return true
		}
	}
	// What is in doubt may also not have happened.
	for i, tx := range left {
		if !tx.must {
			return place(slices.Delete(slices.Clone(left), i, i+1), lists, strict)
		}
	}
	return false
}

func (tx *oracleTxn) run(lists map[string][]string) bool {
	for _, m := range tx.mops {
		m := m.Elems()
		key := m[1].String()
		if m[0].Text() == "append" {
			lists[key] = append(slices.Clone(lists[key]), m[2].String())
			continue
		}
		if !tx.must {
			continue
		}
		var saw []string
		for _, e := range m[2].Elems() {
			saw = append(saw, e.String())
		}
		if !slices.Equal(saw, lists[key]) {
			return false
		}
	}
	return true
}

// TestSameAnswerTwice judges a history with many anomalies again and again.
func TestSameAnswerTwice(t *testing.T) {
	h := simulate(rand.New(rand.NewPCG(1, 5)), "uncommitted", 400, 20, 4)
	first := checkAppend(h, Options{})
	for range 5 {
		r := checkAppend(h, Options{})
		if r.Reason != first.Reason || !slices.Equal(r.Stats, first.Stats) || len(r.Anomalies) != len(first.Anomalies) {
			t.Fatalf("%s %v, then %s %v", first.Reason, first.Stats, r.Reason, r.Stats)
		}
		for i := range r.Anomalies {
			if r.Anomalies[i].Message != first.Anomalies[i].Message {
				t.Fatalf("%s, then %s", first.Anomalies[i].Message, r.Anomalies[i].Message)
			}
		}
	}
}

// TestInfoMayComeAnyTime moves and removes the completions of transactions in
// doubt, and drops those that nobody saw.
func TestInfoMayComeAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 6))
		h := simulate(r, level, 60, 6, 4)
		var moved, late []history.Op
		for _, op := range h.Ops {
			switch {
			case op.Type != history.Info:
				moved = append(moved, op)
			case r.IntN(2) == 0:
				late = append(late, op)
			}
		}
		a, b := checkAppend(h, Options{}), checkAppend(&history.History{Ops: append(moved, late...)}, Options{})
		// The same but for the number of transactions, which now may end unheard of.
		if a.Verdict != b.Verdict || a.Reason != b.Reason {
			t.Fatalf("%s, %s\nafter moving :info %s, %s\n%s", a.Verdict, a.Reason, b.Verdict, b.Reason, text(h))
		}
	})
}

// TestAnythingIsTaken gives both checkers values that are no transactions, or nearly.
func TestAnythingIsTaken(t *testing.T) {
	odd := rapid.SampledFrom([]history.Value{
		{}, history.Int(-1), history.Int(1 << 62), history.Keyword("r"), history.Keyword("append"), history.Keyword("w"),
		history.Text("r"), history.Vec(), history.SetOf(history.Int(1)), history.MapOf(history.Int(1), history.Int(2)), history.Flag(true),
	})
	list := rapid.Custom(func(t *rapid.T) history.Value { return history.Vec(rapid.SliceOfN(odd, 0, 4).Draw(t, "elements")...) })
	micro := rapid.Custom(func(t *rapid.T) history.Value {
		f := rapid.SampledFrom([]string{"r", "append", "r", "append", "w"}).Draw(t, "f")
		parts := []history.Value{history.Keyword(f)}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			parts = append(parts, rapid.OneOf(odd, list).Draw(t, "part"))
		}
		return history.Vec(parts...)
	})
	value := rapid.Custom(func(t *rapid.T) history.Value {
		if rapid.IntRange(0, 4).Draw(t, "odd") == 0 {
			return rapid.OneOf(odd, list, micro).Draw(t, "value")
		}
		return history.Vec(rapid.SliceOfN(micro, 0, 4).Draw(t, "micro-ops")...)
	})
	rapid.Check(t, func(t *rapid.T) {
		h := &history.History{}
		for range rapid.IntRange(0, 12).Draw(t, "ops") {
			h.Ops = append(h.Ops, history.Op{
				Type:    history.Type(rapid.IntRange(0, 4).Draw(t, "type")),
				Process: rapid.SampledFrom([]history.Process{{}, history.Client(0), history.Client(1), history.Client(1 << 40), history.Client(-3), history.Nemesis()}).Draw(t, "process"),
				F:       rapid.SampledFrom([]string{"", "txn", "read"}).Draw(t, "f"),
				Value:   value.Draw(t, "value"),
			})
		}
		if r := checkAppend(h, Options{}); r.Verdict == checker.Valid && r.Facts == 0 {
			t.Fatalf("valid without a fact\n%s", text(h))
		}
		checker.Streamed(func() checker.Stream { return RWRegister(Options{}) }).Check(context.Background(), h)
	})
}
