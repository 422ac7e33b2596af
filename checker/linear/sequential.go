package linear

import (
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Sequential returns the checker sequential for one register with the operations
// of Register: is there one order of all operations in which each process does
// its own in the order in which it did them, and that is what a register would
// have done? Real time does not matter. An operation in doubt may happen at any
// place after those that its process did before it, or never.
//
// Where no value is set twice that is decided in linear time: the calls of a
// value, joined with those that a cas makes of it, stand together in any order,
// so an order exists unless the orders of the processes lead in a circle from one
// such chain to another. Else it is searched, within Options.Work and
// Options.Memory (the problem is NP-complete: Cantin, Lipasti and Smith 2003).
//
// Sequential consistency of many registers does not follow from that of each: a
// history with more than one key is Invalid if one of them is, else Unknown.
func Sequential(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return SequentialStream(o) })
}

// SequentialStream is Sequential for a history that passes by.
func SequentialStream(o Options) checker.Stream {
	o = o.withDefaults()
	c := newColumns(o, registerModel())
	c.processes = true
	return &stream{name: "sequential", options: o, columns: c, judge: judgeSequential}
}

func judgeSequential(ctx context.Context, src history.Source, c *columns) (r checker.Result, end conclusion) {
	left := c.options.Work
	for i, k := range c.keys {
		found := c.decideSequential(ctx, k, left/int64(len(c.keys)-i), len(r.Anomalies) < maxAnomalies)
		left -= found.work
		if found.why == sayWork {
			found.why = fmt.Sprintf("work limit of %d steps reached", c.options.Work)
		}
		r.Facts += found.register.certain
		switch found.verdict {
		case checker.Invalid:
			if len(r.Anomalies) < maxAnomalies {
				r.Anomalies = append(r.Anomalies, found.explain(src, c, k))
			}
			if end.bad == "" {
				end.bad = c.title(k) + " is not sequentially consistent"
			}
		case checker.Unknown:
			end.giveUp(&r, c, k, found.why)
		}
	}
	end.verdict, end.why = checker.Valid, c.sayGood(r.Facts, "sequentially consistent")
	if len(c.keys) > 1 {
		end.verdict = checker.Unknown
		end.why = fmt.Sprintf("each of %d registers is sequentially consistent, which does not tell whether all together are", len(c.keys))
	}
	return r, end
}

// hop is why one chain comes before another: a process did before, of the first,
// and then after, of the second.
type hop struct {
	before, after int32 // calls
	to            int32 // chain of after
}

// contradiction is what was found out about one key.
type contradiction struct {
	outcome
	register *register
	process  map[uint32]int32 // of each call, by its begin
	hops     []hop            // the circle, where there is one
	initial  bool             // the last hop leads to the initial value, which nothing precedes
}

// processBytes is what it takes to remember the process of an operation.
const processBytes = 32

// decideSequential decides one key within work steps. What is not to be shown is
// not made smaller.
func (c *columns) decideSequential(ctx context.Context, k *key, work int64, shown bool) *contradiction {
	found := &contradiction{register: &register{}, process: make(map[uint32]int32)}
	if ctx.Err() != nil {
		found.why = context.Cause(ctx).Error()
		return found
	}
	if bytes := k.fullBytes() + processBytes*int64(k.records); bytes > c.room().all {
		found.why = c.sayTooLarge(bytes)
		return found
	}
	decoded, err := c.decode(k)
	if err == nil {
		err = c.each(k, func(r *row) bool { found.process[r.begin] = r.process; return ctx.Err() == nil })
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		found.why = err.Error()
		return found
	}
	found.register = decoded
	r := found.register
	clusters, ok := unique(r.calls, len(r.values), r.initial)
	if !ok {
		s := newTurns(ctx, r, found.process, work, c.options.Memory)
		found.outcome = s.decide(r.calls)
		found.work = work - s.work
		c.settleUnnamed(ctx, k, &found.outcome, s.work)
		if found.verdict == checker.Invalid && shown {
			found.proof = s.shrink(r.calls)
		}
		return found
	}
	found.verdict, found.work = checker.Valid, int64(len(r.calls))
	if bad := found.circle(clusters); bad != nil {
		found.verdict, found.proof = checker.Invalid, bad.proof(r.calls)
	}
	c.settleUnnamed(ctx, k, &found.outcome, work)
	return found
}

// place is where the calls of a value stand.
type place struct {
	chain int32 // value at its root, -1 for a value that nobody set
	level int32 // within the chain
}

// circle looks for chains that come before each other.
func (d *contradiction) circle(clusters []cluster) *conflict {
	calls := d.register.calls
	for i := range calls {
		if c := &calls[i]; c.action == cas {
			from := &clusters[c.old]
			if from.next >= 0 {
				return &conflict{values: []int32{from.next, c.value, c.old}}
			}
			from.next = c.value
		}
	}
	if bad := rootless(clusters); bad != nil {
		return bad
	}
	places := make([]place, len(clusters))
	for v := range clusters {
		if clusters[v].root {
			for at, level := int32(v), int32(0); at >= 0; at, level = clusters[at].next, level+2 {
				places[at] = place{int32(v), level}
			}
		}
	}
	last := make(map[int32]int32) // process → its last call
	hops := make([][]hop, len(clusters))
	for i := range calls {
		c := &calls[i]
		now := places[c.value]
		if c.action == read {
			now.level++
		}
		process := d.process[c.begin]
		if at, ok := last[process]; ok {
			before := &calls[at]
			then := places[before.value]
			if before.action == read {
				then.level++
			}
			switch {
			case then.chain != now.chain:
				hops[then.chain] = append(hops[then.chain], hop{at, int32(i), now.chain})
			case then.level > now.level:
				d.hops = []hop{{at, int32(i), now.chain}}
				return d.conflict()
			}
			if now.chain == d.register.initial && then.chain != now.chain {
				d.hops, d.initial = []hop{{at, int32(i), now.chain}}, true
				return d.conflict()
			}
		}
		if !c.crashed { // what is in doubt may happen later than what follows it
			last[process] = int32(i)
		}
	}
	if d.hops = shortestCircle(hops); d.hops == nil {
		return nil
	}
	return d.conflict()
}

// conflict is that of the hops.
func (d *contradiction) conflict() *conflict {
	bad := &conflict{}
	for _, h := range d.hops {
		for _, i := range []int32{h.before, h.after} {
			bad.marks = append(bad.marks, d.register.calls[i].begin+1)
		}
	}
	return bad
}

// circleTries bounds from how many chains a shorter circle is looked for.
const circleTries = 32

// shortestCircle finds a short circle among chains; nil when there is none.
func shortestCircle(hops [][]hop) []hop {
	// Chains that nothing comes before any more go, until all or none is left.
	before := make([]int32, len(hops))
	for _, list := range hops {
		for _, h := range list {
			before[h.to]++
		}
	}
	var free []int32
	for v, n := range before {
		if n == 0 {
			free = append(free, int32(v))
		}
	}
	left := len(hops)
	for len(free) > 0 {
		v := free[len(free)-1]
		free = free[:len(free)-1]
		left--
		for _, h := range hops[v] {
			if before[h.to]--; before[h.to] == 0 {
				free = append(free, h.to)
			}
		}
	}
	var best []hop
	tries := 0
	for v := range hops {
		if left == 0 || tries == circleTries {
			break
		}
		if before[v] == 0 {
			continue
		}
		if found := circleThrough(hops, before, int32(v)); found != nil {
			tries++
			if best == nil || len(found) < len(best) {
				best = found
			}
		}
	}
	return best
}

// circleThrough finds a shortest circle through start, breadth first.
func circleThrough(hops [][]hop, before []int32, start int32) []hop {
	type visit struct {
		by   hop
		from int32
	}
	seen := map[int32]visit{}
	todo := []int32{start}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		for _, h := range hops[v] {
			if before[h.to] == 0 {
				continue
			}
			if _, ok := seen[h.to]; ok {
				continue
			}
			seen[h.to] = visit{h, v}
			if h.to != start {
				todo = append(todo, h.to)
				continue
			}
			var found []hop
			for at := start; ; {
				step := seen[at]
				found = append(found, step.by)
				if at = step.from; at == start {
					slices.Reverse(found)
					return found
				}
			}
		}
	}
	return nil
}
