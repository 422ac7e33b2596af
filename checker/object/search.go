package object

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
)

// greedySteps is how many steps an operation the depth-first search gets before
// it must give way to the frontier, and stallSteps how many without getting on.
const (
	greedySteps = 64
	stallSteps  = 1 << 14
)

// search decides p by search: first depth-first while that gets on, then by the
// frontier with half of what is left, then depth-first to the limit.
func search(ctx context.Context, p *part, o Options) finding {
	return solve(ctx, p, compile(p, nil), o)
}

// solve decides the problem q of p.
func solve(ctx context.Context, p *part, q *problem, o Options) finding {
	b := newBudget(ctx, o)
	q.table.budget = b
	f := finding{by: "depth-first"}
	var ok, done bool
	at := 0
	if o.only != frontierOnly {
		most, stall := int64(greedySteps*len(q.calls)+stallSteps), int64(stallSteps)
		if o.only == depthOnly {
			most, stall = o.Work, o.Work
		}
		d := newDepth(q, b)
		ok, done = d.run(most, stall)
		at = d.furthest
		if done && !ok {
			f.calls = q.before(d.furthest)
		}
	}
	if !done && o.only != depthOnly && b.why == "" {
		f.by = "frontier"
		fr := newFrontier(q, b)
		half := b.work / 2
		b.work -= half
		ok, done = fr.run()
		b.work += half
		at = max(at, fr.at)
		if done && !ok {
			f.calls = q.before(fr.at)
		}
		if !done && o.only == anyEngine && q.table.wrong < 0 && ctx.Err() == nil {
			b.why = ""
			f.by = "depth-first"
			fr = nil
			d := newDepth(q, b)
			ok, done = d.run(o.Work, o.Work)
			at = max(at, d.furthest)
			if done && !ok {
				f.calls = q.before(d.furthest)
			}
		}
	}
	f.steps = b.steps
	switch {
	case q.table.wrong >= 0:
		f.why = fmt.Sprintf("the model says that %q is pure, yet it changes the state", q.ops[q.table.wrong].String())
	case !done:
		f.why = b.why
	case ok:
		f.verdict = checker.Valid
		return f
	default:
		f.verdict = checker.Invalid
		f.stop = q.calls[q.events[at]>>1]
		return f
	}
	if at < len(q.events) {
		f.at = p.r.position(uint32(q.calls[q.events[at]>>1])<<1 | q.events[at]&1)
	}
	return f
}

// position is where an event stands in the history.
func (r *recorder) position(ev uint32) int {
	if c := r.call(int32(ev >> 1)); ev&1 == 1 {
		return int(c.end)
	} else {
		return int(c.begin)
	}
}

// before returns the calls that began before the end at event at, that of it
// included: where a search ended there, they are not linearizable by themselves.
func (q *problem) before(at int) []int32 {
	var calls []int32
	for i, ev := range q.events {
		if i > at {
			break
		}
		if ev&1 == 0 {
			calls = append(calls, q.calls[ev>>1])
		}
	}
	return calls
}
