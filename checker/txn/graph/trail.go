package graph

import (
	"math"
	"slices"
)

// route is where a trail may lead: along which edges, and only to states whose
// zone is not above the target's. With the components of a walk that includes the
// route as zones no path is lost, since edges never lead to a smaller zone.
type route struct {
	walk
	zone []uint32
	// forward: real time and d together have no cycle, so that no path leads
	// through a transaction that was invoked after the target had completed.
	forward bool
}

// anyLength is a limit that limits nothing.
const anyLength = math.MaxInt

// trail finds shortest paths, breadth first. It is memory to be reused.
type trail struct {
	seen   []uint32 // by state: the search that saw it last
	search uint32
	back   []hop // by state: where from, and by which relation
	queue  []uint32
	steps  []Step
	work   int64 // edges looked at, ever
}

type hop struct {
	from uint32
	rel  Rel
}

// reset makes room for a component.
func (t *trail) reset(p *part) {
	t.seen = slices.Grow(t.seen[:0], 2*p.n)[:2*p.n]
	t.back = slices.Grow(t.back[:0], 2*p.n)[:2*p.n]
	clear(t.seen)
	t.search = 0
}

// close finds the shortest way from the end of step back to its start, with at
// most limit edges (at least 1), and returns the cycle, the step first. Where the walk keeps
// two states apart the step is one of r, so that neither the first nor the last
// edge of the way may be; the cycle may then pass a transaction twice. The result
// is only lent. cut tells that the limit may have kept it from finding one.
func (t *trail) close(p *part, way *route, step Step, limit int) (cycle []Step, cut bool) {
	from, target := step.To, step.From
	shift := way.shift()
	t.search++
	if t.search == 0 { // once in 2³² searches
		clear(t.seen)
		t.search = 1
	}
	start, goal := from<<shift, target<<shift
	if way.apart {
		start |= 1
		t.seen[start^1], t.seen[goal|1] = t.search, t.search // passing the step's ends again is no way
	}
	if way.zone[start] > way.zone[goal] {
		return nil, false
	}
	t.seen[start] = t.search
	t.queue = append(t.queue[:0], start)
	horizon := uint32(len(p.order))
	if way.forward && way.rt {
		horizon = min(horizon, p.rank[target])
	}
	reached := horizon // the barriers from here on were followed
	depth, layer := 0, 1
	last := limit == 1
	for head := 0; head < len(t.queue); head++ {
		if head == layer {
			depth, layer = depth+1, len(t.queue)
			last = depth+1 == limit
		}
		state := t.queue[head]
		v := state >> shift
		for e := p.off[v]; e < p.off[v+1]; e++ {
			rel := p.rel[e]
			if d := rel & way.d; d != 0 {
				to := p.to[e] << shift
				if to == goal {
					t.work += int64(e - p.off[v])
					return t.unwind(step, shift, state, d.first()), false
				}
				if t.seen[to] != t.search && !last {
					t.visit(to, state, d.first(), way, goal)
				}
			}
			if way.apart && state&1 == 0 && rel&way.r != 0 {
				if to := p.to[e]<<1 | 1; t.seen[to] != t.search && !last {
					t.visit(to, state, (rel & way.r).first(), way, goal)
				}
			}
		}
		t.work += int64(p.off[v+1]-p.off[v]) + 1
		if !way.rt {
			continue
		}
		if p.precedes(v, target) {
			return t.unwind(step, shift, state, Realtime), false
		}
		if rank := p.rank[v]; !last && rank < reached {
			for _, to := range p.order[rank:reached] {
				if to <<= shift; t.seen[to] != t.search {
					t.visit(to, state, Realtime, way, goal)
				}
			}
			t.work += int64(reached - rank)
			reached = rank
		}
	}
	return nil, last
}

func (t *trail) visit(to, from uint32, rel Rel, way *route, goal uint32) {
	if way.zone[to] > way.zone[goal] {
		return
	}
	t.seen[to] = t.search
	t.back[to] = hop{from, rel}
	t.queue = append(t.queue, to)
}

// unwind returns the cycle of step, the way to state, and the edge back.
func (t *trail) unwind(step Step, shift, state uint32, rel Rel) []Step {
	t.steps = append(t.steps[:0], Step{From: state >> shift, To: step.From, Rel: rel})
	for state>>shift != step.To {
		h := t.back[state]
		t.steps = append(t.steps, Step{From: h.from >> shift, To: state >> shift, Rel: h.rel})
		state = h.from
	}
	t.steps = append(t.steps, step)
	slices.Reverse(t.steps)
	return t.steps
}
