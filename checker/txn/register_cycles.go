package txn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/history"
)

// cyclesOf finds the cycles of all that may be concluded. Where there are some, it
// looks again at what the options alone give, so that no cycle is named for more
// than is known.
func (f *registerFindings) cyclesOf(ctx context.Context) {
	strongest := len(f.levels) - 1
	report, against := f.search(ctx, strongest)
	f.report = report
	for _, c := range against {
		f.points.add("cyclic-versions", func() shown { return f.contradicted(c) })
	}
	if strongest == 0 || len(report.Counts) == 0 {
		f.cycles, f.classes = report.Cycles, report.Counts
		return
	}
	sure, _ := f.search(ctx, 0)
	f.cycles, f.classes = sure.Cycles, sure.Counts
	f.lean(report.Cycles)
}

// lean adds those cycles that need more than the options give. Where two
// inferences contradict each other there are cycles without rw as well: these say
// less to people than one that has the read in it, so they come last.
func (f *registerFindings) lean(cycles []graph.Cycle) {
	var plain, odd []graph.Cycle
	for _, cycle := range cycles {
		class, natural := f.leaning(cycle)
		if class == "" {
			continue
		}
		cycle.Class = class
		if natural {
			plain = append(plain, cycle)
		} else {
			odd = append(odd, cycle)
		}
	}
	for _, list := range [][]graph.Cycle{plain, odd} {
		found := f.counts()
		for _, cycle := range list {
			if saysMore(cycle.Class, found) {
				f.cycles = append(f.cycles, cycle)
				f.classes[cycle.Class]++
			}
		}
	}
}

// search makes the graph of what a level allows and searches it.
func (f *registerFindings) search(ctx context.Context, level int) (graph.Report, []keyContradiction) {
	allowed := f.levels[level]
	e := &registerEdges{r: f.r, o: f.order(level), b: graph.NewBuilder(f.r.len()), timed: allowed&inferRealtime != 0}
	e.run(ctx, allowed)
	g, ordered := f.r.txns.graph(e.b, f.r.part, f.c.options)
	f.ordered = ordered
	report := g.Search(ctx, graph.Options{Work: f.c.options.Work, Want: f.c.options.wants()})
	report.Edges += e.timely
	for _, limit := range []string{report.Unfinished, e.cut} {
		if f.unfinished == "" {
			f.unfinished = limit
		}
	}
	return report, e.contradictions
}

// saysMore reports whether an anomaly rules out a model that those found do not.
func saysMore(name string, found map[string]int) bool {
	not, alsoNot := lattice.Broken(slices.Collect(maps.Keys(found)))
	ruledOut := append(not, alsoNot...)
	not, alsoNot = lattice.Broken([]string{name})
	return slices.ContainsFunc(append(not, alsoNot...), func(model string) bool { return !slices.Contains(ruledOut, model) })
}

// leaning returns the class of a cycle that leans on the order of processes or on
// real time for the order of versions, "" when it does not; natural says that its
// edges alone make it one of that class. If the versions were
// the other way round there would be some other anomaly: a G-single-item of that
// order, or one that rules out as much and more. So it is never called less.
func (f *registerFindings) leaning(c graph.Cycle) (class string, natural bool) {
	level := 0
	for _, step := range c.Steps {
		if step.Rel == graph.Process || step.Rel == graph.Realtime {
			continue
		}
		_, needed, ok := f.leastWhy(step.Rel, int32(step.From), int32(step.To), "", "")
		if !ok {
			return c.Class, true // it will not be verified
		}
		level = max(level, needed)
	}
	if level == 0 {
		return "", false
	}
	suffix := []string{"", "-process", "-realtime"}[level]
	base, isRealtime := strings.CutSuffix(c.Class, "-realtime")
	base, _ = strings.CutSuffix(base, "-process")
	if isRealtime {
		suffix = "-realtime"
	}
	if base == "G0" || base == "G1c" {
		return "G-single-item" + suffix, false
	}
	return base + suffix, true
}

// contradicted puts into words why the versions of a key have no order.
func (f *registerFindings) contradicted(c keyContradiction) shown {
	o := f.order(0)
	o.build(c.key, f.levels[0])
	s := shown{cycle: true, end: "So each of these versions would have to come before itself."}
	name := func(i int32) string {
		at := slices.Index(s.txns, i)
		if at < 0 {
			at = len(s.txns)
			s.txns = append(s.txns, i)
		}
		return nameOf(at)
	}
	for _, e := range c.cycle {
		why := o.evidenced(e, name)
		s.started = append(s.started, why.started...)
		s.clauses = append(s.clauses, fmt.Sprintf("%s of key %s comes before %s, as %s",
			f.r.name(o.versions[e.a]), f.r.keyName(c.key), f.r.name(o.versions[e.b]), why.text))
	}
	s.end += " " + map[evidence]string{
		byOrder: "The order that was given", byWFR: "That writes follow reads", bySequential: "The order of processes", byLinearizable: "Real time",
	}[c.dropped] + " is left out of the order of this key from here on."
	return s
}

// replay judges a witness.
func (f *registerFindings) replay(h *history.History) []string {
	o := f.c.options
	o.Order, o.Versions, o.Memory = nil, nil, 0
	c := RWRegister(o).(*rwRegister)
	c.trust = true
	for e := range h.Events() {
		c.Take(e)
	}
	c.txns.settle()
	r := newRegisters(&c.txns, true)
	if f.levels[0]&byOrder != 0 {
		c.options.Versions = f.log(r)
	}
	found := c.judge(context.Background(), r)
	var names []string
	for name := range found.counts() {
		names = append(names, name)
	}
	return names
}

// log is the order of versions that was given for the keys of another history.
func (f *registerFindings) log(of *registers) []Written {
	keys := make(map[string]int32)
	for k := range int32(f.r.keys.len()) {
		keys[f.r.keys.value(k).Key()] = k
	}
	log := []Written{}
	for k := range int32(of.keys.len()) {
		key := of.keys.value(k)
		for _, v := range f.given(keys[key.Key()]) {
			log = append(log, Written{key, f.r.value(v)})
		}
	}
	return log
}
