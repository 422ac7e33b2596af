package txn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/history"
)

// judged returns the names of the cycles found and of what else was, and the whole
// result.
func (h *tinyHistory) judged(o Options) (cycles, points map[string]int, r checker.Result) {
	all := &history.History{Ops: h.ops}
	c := RWRegister(o).(*rwRegister)
	for e := range all.Events() {
		c.Take(e)
	}
	c.txns.settle()
	f := c.judge(context.Background(), newRegisters(&c.txns, false))
	s := RWRegister(o)
	for e := range all.Events() {
		s.Take(e)
	}
	return f.classes, f.points.count, s.Finish(context.Background(), all.Source())
}

func (h *tinyHistory) String() string {
	var lines []string
	for i := range h.ops {
		lines = append(lines, h.ops[i].String())
	}
	return strings.Join(lines, "\n")
}

// A cycle that is found rules out models; none of these may hold in any order of
// versions that the options allow.
func TestRegisterNamesNoMoreThanIsTrue(t *testing.T) {
	invalid, leaning, total := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawTiny(t)
		worlds := h.worlds()
		for _, o := range []Options{
			{},
			{Models: []string{rapid.SampledFrom(lattice.Models()[8:]).Draw(t, "model")}},
			{
				Models:  []string{rapid.SampledFrom(lattice.Models()[8:]).Draw(t, "model")},
				WFRKeys: rapid.Bool().Draw(t, "wfr"), SequentialKeys: rapid.Bool().Draw(t, "sequential"), LinearizableKeys: rapid.Bool().Draw(t, "linearizable"),
			},
		} {
			if o.Check() != nil {
				continue
			}
			total++
			cycles, points, r := h.judged(o)
			if strings.Contains(r.Reason, "could not be verified") {
				t.Fatalf("%+v: %s\n%s", o, r.Reason, h)
			}
			if len(cycles) > 0 {
				invalid++
			}
			if points["cyclic-versions"] > 0 {
				continue
			}
			// Who sees what was aborted or intermediate may depend on what comes after it.
			otherwise, stronger := lattice.Broken(slices.Collect(maps.Keys(points)))
			otherwise = append(otherwise, stronger...)
			not, alsoNot := lattice.Broken(slices.Collect(maps.Keys(cycles)))
			for _, w := range worlds {
				if !h.asserted(w, o) {
					continue
				}
				for _, model := range append(not, alsoNot...) {
					if !slices.Contains(w.broken, model) && !slices.Contains(otherwise, model) {
						t.Fatalf("%+v: found %v, so that %s is ruled out, but it holds with the versions in the order %v: %v\n%s", o, cycles, model, w.orders, w.found, h)
					}
				}
			}
			for name := range cycles {
				if strings.HasSuffix(name, "-realtime") {
					leaning++
				}
			}
		}
	})
	t.Logf("%d questions, %d answered by cycles, %d of these in real time", total, invalid, leaning)
	if invalid == 0 {
		t.Error("no history had a cycle")
	}
}

// With all versions in a given order nothing is left open: a model is ruled out
// exactly where that order rules it out.
func TestRegisterOrderGivenIsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawTiny(t)
		worlds := h.worlds()
		w := worlds[rapid.IntRange(0, len(worlds)-1).Draw(t, "world")]
		o := Options{Models: []string{rapid.SampledFrom(lattice.Models()[8:]).Draw(t, "model")}, Versions: []Written{}}
		if o.Check() != nil {
			return
		}
		for key, order := range w.orders {
			for _, val := range order {
				o.Versions = append(o.Versions, Written{history.Int(int64(key)), history.Int(int64(val))})
			}
		}
		cycles, points, r := h.judged(o)
		if points["cyclic-versions"] > 0 || strings.Contains(r.Reason, "could not be verified") {
			t.Fatalf("%v: %s\n%s", w.orders, r.Reason, h)
		}
		not, alsoNot := lattice.Broken(slices.Collect(maps.Keys(cycles)))
		got := slices.Contains(append(not, alsoNot...), o.Models[0])
		if want := slices.Contains(w.broken, o.Models[0]); got != want {
			t.Fatalf("%s with the versions in the order %v: found %v, which rules it out: %v; there is %v\n%s", o.Models[0], w.orders, cycles, got, w.found, h)
		}
	})
}
