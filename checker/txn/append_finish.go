package txn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/history"
)

// Finish judges what was taken.
func (c *listAppend) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	if err := c.options.Check(); err != nil {
		return checker.Result{Checker: c.Name(), Reason: err.Error()}
	}
	c.txns.settle()
	if c.txns.broken != "" {
		return checker.Result{Checker: c.Name(), Reason: c.txns.broken}
	}
	if need := c.txns.bytes() + c.finishing(); c.options.Memory > 0 && need > c.options.Memory {
		return checker.Result{Checker: c.Name(), Reason: fmt.Sprintf("memory limit of %d bytes is too low to judge this history: it may need %d", c.options.Memory, need)}
	}
	keys, edges, ok := c.judgeKeys(ctx)
	if !ok {
		if keys.twice != nil {
			return checker.Result{Checker: c.Name(), Reason: keys.appendedTwice()}
		}
		return checker.Ended(ctx, c.Name())
	}
	g, ordered := c.txns.graph(edges.b, keys.part, c.options)
	report := g.Search(ctx, graph.Options{Work: c.options.Work, Want: c.options.wants()})
	// Where ctx ended the search, what was found until then still holds.
	x := &explainer{txns: &c.txns, teller: keys, src: src}
	j := judgement{checker: c.Name(), options: c.options, facts: c.txns.count(committed), unfinished: report.Unfinished}
	if edges.cut != "" && j.unfinished == "" {
		j.unfinished = edges.cut
	}
	if n := keys.cases.beginnings; n > 0 && j.unfinished == "" {
		j.unfinished = fmt.Sprintf("key %s began with elements that nobody in this history appended", keys.name(keys.cases.beginningOf))
		if n > 1 {
			j.unfinished += fmt.Sprintf(", as did %d others", n-1)
		}
	}
	var all []shown
	for name, kept := range keys.cases.kept {
		for _, kept := range kept {
			all = append(all, keys.show(name, kept))
		}
	}
	for _, cycle := range report.Cycles {
		if s, ok := x.cycle(cycle); ok {
			all = append(all, s)
		} else {
			x.unverified = cycle.Class
		}
	}
	said := x.anomalies(all)
	for name, n := range keys.cases.count {
		j.found = append(j.found, finding{name: name, count: n, anomalies: said[name]})
	}
	for name, n := range report.Counts {
		if len(said[name]) > 0 {
			j.found = append(j.found, finding{name: name, count: n, anomalies: said[name]})
		}
	}
	if x.unverified != "" && j.unfinished == "" {
		j.unfinished = "a cycle of the class " + x.unverified + " could not be verified"
	}
	if report.Edges == 0 && !ordered {
		j.found = append(j.found, finding{name: emptyGraph, count: 1})
	}
	j.stats = []checker.Stat{
		{Name: "transactions", Value: strconv.Itoa(c.txns.len())},
		{Name: "dependencies", Value: strconv.Itoa(report.Edges)},
		{Name: "components", Value: strconv.Itoa(report.Components)},
		{Name: "largest component", Value: strconv.Itoa(report.Largest)},
	}
	return j.result()
}

// finishing is how many bytes it takes at most to judge what was taken, as far as
// is known beforehand: places and lists by key, edges, and the search when all of
// it is one component.
func (c *listAppend) finishing() int64 {
	const aMicro, aTxn = 12 + 9 + 5 + 14, 1 + 8 + 16 + 60
	return int64(len(c.txns.mops))*aMicro + int64(c.txns.len())*aTxn
}

// spareEdges is how many edges there may always be between reads and appends that
// were never read.
const spareEdges = 1 << 22

// judgeKeys looks at every key and adds its edges. It is false when ctx ended, or
// when an element was appended twice.
func (c *listAppend) judgeKeys(ctx context.Context) (*keyJudge, *edgeJudge, bool) {
	j := &keyJudge{listAppend: c, part: make([]bool, c.txns.len()), places: make([]int32, len(c.txns.mops))}
	for i, st := range c.txns.status {
		j.part[i] = st == committed || c.trust && st == inDoubt
	}
	j.starts, j.ops = c.byKey()
	e := &edgeJudge{keyJudge: j, b: graph.NewBuilder(c.txns.len()), spare: 4*len(c.txns.mops) + spareEdges, seenCommitted: c.options.forbidden()["G1a"]}
	_, e.realtime = c.options.orders()
	keys := int32(c.txns.keys.len())
	for k := range keys {
		if k%checker.CheckEvery == 0 && ctx.Err() != nil || !j.judge(k) {
			return j, e, false
		}
	}
	// Only now is it known of every transaction in doubt whether it took part.
	for k := range keys {
		if k%checker.CheckEvery == 0 && ctx.Err() != nil {
			return j, e, false
		}
		e.edges(k)
	}
	return j, e, true
}

func (j *keyJudge) appendedTwice() string {
	t := j.twice
	return fmt.Sprintf("%s was appended to key %s twice, by the ops at %d and %d: elements must be unique for their order to be known",
		j.elem(t.code), j.name(t.key), j.txns.at(t.a), j.txns.at(t.b))
}

// replay judges a witness.
func (j *keyJudge) replay(h *history.History) []string {
	c := ListAppend(Options{Models: []string{"strict-serializable"}}).(*listAppend)
	c.trust = true
	for e := range h.Events() {
		c.Take(e)
	}
	c.txns.settle()
	keys, edges, ok := c.judgeKeys(context.Background())
	if !ok {
		return nil
	}
	g, _ := c.txns.graph(edges.b, keys.part, c.options)
	names := slices.Collect(maps.Keys(g.Search(context.Background(), graph.Options{}).Counts))
	return append(names, slices.Collect(maps.Keys(keys.cases.count))...)
}
