package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Liveness returns the checker liveness: once all faults are healed, and a bound
// has passed, the chain grows and every node goes forward. The bound is ten blocks'
// time, the timer of a round (which grew for as long as the longest fault), and the
// time until peers dial again; it is among the stats. The last :converge op tells:
//
//   - the nodes reached one head, and it moved: all is well. How long the chain
//     took to grow after the heal is measured.
//   - they did not, though jepgo waited for the bound: a node of which the head did
//     not move at all (node-stuck), or all of them (chain-stopped), is an anomaly;
//     a warning where a fault destroyed what the node had, where its process ended
//     since, and where the chain was never seen to make an empty block, so that it
//     may wait for transactions. Of a node that moves slowly converge has to tell.
//
// It is left out where a fault was still in force, where a third or more of the
// nodes did not answer, where jepgo waited for less than the bound, and where
// nodes were forked, which converge and fork judge. O(n) time, O(nodes) memory.
func Liveness(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Liveness(o) })
}

// Liveness is Liveness for a pass.
func (r *Reader) Liveness(o Options) checker.Stream {
	return &liveness{r: r, o: o, converge: -1, before: -1, firstAfter: -1}
}

type liveness struct {
	r    *Reader
	o    Options
	tops []top // node → the highest block that it named before the heal

	before     int64 // the highest of all
	firstAfter int64 // when a higher one was first named, -1

	converge          int // position, -1
	converged, forked bool
	took              int64
	heads             map[string]int64
	found             findings
}

func (*liveness) Name() string { return "liveness" }

func (c *liveness) Take(e *history.Event) {
	it := c.r.take(e)
	if e.Process == history.Runner() && e.F == "converge" {
		c.takeConverge(e)
		return
	}
	if !it.completes {
		return
	}
	for i := range it.sightings {
		s := &it.sightings[i]
		if s.tag == pendingTag || s.node < 0 {
			continue
		}
		if c.r.healed >= 0 {
			if s.n > c.before && c.firstAfter < 0 {
				c.firstAfter = it.time
			}
			continue
		}
		for int(s.node) >= len(c.tops) {
			c.tops = append(c.tops, top{-1, -1})
		}
		if t := &c.tops[s.node]; s.n > t.n {
			*t = top{s.n, int32(it.at)}
		}
		c.before = max(c.before, s.n)
	}
}

func (c *liveness) takeConverge(e *history.Event) {
	c.converge = e.Position
	field, _ := e.Value.Field("converged")
	c.converged, _ = field.Flag()
	field, _ = e.Value.Field("forked")
	c.forked, _ = field.Flag()
	if split, ok := e.Value.Field("split"); ok && !split.IsNil() {
		c.forked = true
	}
	field, _ = e.Value.Field("took")
	c.took, _ = field.Int()
	c.heads = make(map[string]int64)
	list, _ := e.Value.Field("heads")
	if n := list.Len() / 2; list.Kind() == history.Map && n > 0 {
		for key := list.First(); n > 0; n-- {
			v := key.Next()
			if h, ok := v.Int(); ok {
				c.heads[string(key.Bytes())] = h
			}
			if n > 1 {
				key = v.Next()
			}
		}
	}
}

func (c *liveness) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	bound := c.r.recovery(&c.o)
	stats := []checker.Stat{{Name: "bound", Value: bound.String()}}
	leave := func(format string, args ...any) checker.Result {
		return checker.Result{Checker: c.Name(), LeftOut: true, Stats: stats, Reason: fmt.Sprintf(format, args...)}
	}
	nodes := slices.Clone(c.r.test.Nodes)
	if len(nodes) == 0 {
		nodes = c.r.nodeNames
	}
	switch {
	case c.r.healed < 0:
		return leave("the history has no phase heal")
	case c.converge < 0:
		return leave("the history has no :converge op")
	case 3*(len(nodes)-len(c.heads)) >= len(nodes):
		return leave("%d of %d nodes answered after the heal, and not %s: with a third or more away nothing is promised", len(c.heads), len(nodes), strings.Join(c.silent(nodes), ", "))
	case c.forked:
		return leave("nodes were on different chains after the heal (op %d), which converge and fork judge", c.converge)
	}
	for _, f := range c.r.faults() {
		if f.to == always {
			return leave("%s (op %d) was not seen to be undone", f.kind, f.op)
		}
	}
	if c.firstAfter >= 0 {
		stats = append(stats, checker.Stat{Name: "first new block after the heal", Value: "seen after " + time.Duration(c.firstAfter-c.r.healed).Round(time.Millisecond).String()})
	}
	if !c.converged && c.took < int64(bound.total()) && !c.moved() {
		return leave("jepgo waited %v for one head after the heal, less than the bound of %v", time.Duration(c.took).Round(time.Millisecond), bound)
	}
	c.judge(nodes)
	return c.found.result(src, c.Name(), fmt.Sprintf("%s went forward after the heal", plural(c.found.facts, "node")),
		"no node named a block before the heal, so nothing could be compared", stats)
}

// moved is whether every node that answered after the heal is above all blocks that
// were named before: then none of them is stuck, however long jepgo waited.
func (c *liveness) moved() bool {
	for _, h := range c.heads {
		if h <= c.before {
			return false
		}
	}
	return len(c.heads) > 0
}

// silent lists the nodes that did not answer after the heal, with the ends of their
// processes.
func (c *liveness) silent(nodes []string) (list []string) {
	for _, name := range nodes {
		if _, answered := c.heads[name]; answered {
			continue
		}
		if n, known := c.r.asked[name]; known {
			if ends := c.r.died[n]; len(ends) > 0 {
				name += fmt.Sprintf(" (its process ended, op %d)", ends[len(ends)-1])
			}
		}
		list = append(list, name)
	}
	return list
}

// judge compares the heads of the nodes with what they named before the heal.
func (c *liveness) judge(nodes []string) {
	highest := c.before
	for _, h := range c.heads {
		highest = max(highest, h)
	}
	stuck := 0
	lost := func(name string, n int32) string {
		if at, died := c.r.endedBetween(n, c.r.healedAt, c.converge); died {
			return fmt.Sprintf("its process ended (op %d)", at)
		}
		for _, f := range c.r.faults() {
			if _, lasting := explains(f.kind); lasting && slices.Contains(f.targets, name) {
				return fmt.Sprintf("%s hit it (op %d)", f.kind, f.op)
			}
		}
		return ""
	}
	for _, name := range nodes {
		n, known := c.r.asked[name]
		head, answered := c.heads[name]
		if !known || int(n) >= len(c.tops) || c.tops[n].n < 0 {
			continue
		}
		was := c.tops[n]
		switch {
		case !answered:
			c.found.warn("%s did not answer after the heal", c.silent([]string{name})[0])
		case c.converged || head > was.n:
			c.found.facts++
		case head < highest && lost(name, n) != "":
			c.found.warn("%s stays at block %d, %s", name, head, lost(name, n))
		case head < highest:
			c.found.facts++
			stuck++
			c.found.report("node-stuck", []int{int(was.op), c.converge}, saying(
				"%s stays at block %d: it named that or a later one before the heal (%d, op %d), and %v after it was at %d, while the highest node was at %d (op %d).",
				name, head, was.n, was.op, time.Duration(c.took).Round(time.Second), head, highest, c.converge)).nodes = []string{name}
		default:
			c.found.facts++
			stuck++
		}
	}
	if stuck < c.found.facts || stuck == 0 || c.found.count > 0 {
		return
	}
	if !slices.ContainsFunc(c.r.bodies, func(b body) bool { return len(b.txs) == 0 }) {
		c.found.warn("no block follows %d (op %d); whether this chain makes blocks without transactions is not known", highest, c.converge)
		return
	}
	c.found.report("chain-stopped", []int{c.converge}, saying(
		"no block follows %d: %v after the heal every node that answered is there (op %d), and nothing was in force.",
		highest, time.Duration(c.took).Round(time.Second), c.converge))
}
