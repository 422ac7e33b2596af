package graph

import (
	"context"
	"slices"
)

// thread looks for the shortest simple cycle without two rw in a row by trying
// all paths of each length, where a search among walks could not know whether
// they can be made simple. It takes exponential time, so it is decided only where
// the component is small or the cycle is short.
//
// The route keeps states apart, and each edge has both its ends in one zone.
func (t *trail) thread(p *part, way *route, edges []Step, work int64, ctx context.Context) (cycle []Step, decided bool) {
	s := threading{trail: t, part: p, route: way, end: t.work + work, on: make([]bool, p.n)}
	for limit := 1; limit < p.n; limit++ {
		again := false
		for _, e := range edges {
			if ctx.Err() != nil {
				return nil, false
			}
			cycle, cut := s.close(e, limit)
			if cycle != nil {
				return cycle, true
			}
			if t.work > s.end {
				return nil, false
			}
			again = again || cut
		}
		if !again {
			break
		}
	}
	return nil, true
}

// threading is a path that grows and shrinks.
type threading struct {
	*trail
	*part
	*route
	end   int64
	on    []bool // transactions on the path
	spots []spot
}

// spot is a state on the path, how it was entered and which edge to try next.
type spot struct {
	state, next uint32
	rel         Rel
}

func (s *threading) close(step Step, limit int) (cycle []Step, cut bool) {
	clear(s.on)
	s.on[step.From], s.on[step.To] = true, true
	s.spots = append(s.spots[:0], spot{state: step.To<<1 | 1})
	for len(s.spots) > 0 && s.work <= s.end {
		at := &s.spots[len(s.spots)-1]
		if at.next == 0 {
			if rel := s.leads(at.state, step.From); rel != 0 {
				return s.cycle(step, rel), false
			}
		}
		if len(s.spots) == limit {
			cut = true
		} else if next, ok := s.advance(at, step.From); ok {
			s.on[next.state>>1] = true
			s.spots = append(s.spots, next)
			continue
		}
		s.on[at.state>>1] = false
		s.spots = s.spots[:len(s.spots)-1]
	}
	return nil, cut
}

// leads returns by which relation, of those that may end the path, a state leads
// to the target.
func (s *threading) leads(state, target uint32) Rel {
	s.work++
	if d := s.edge(state>>1, target) & s.d; d != 0 {
		return d.first()
	}
	if s.rt && s.precedes(state>>1, target) {
		return Realtime
	}
	return 0
}

// advance tries the edges of d, those of r, and then real time.
func (s *threading) advance(at *spot, target uint32) (spot, bool) {
	v := at.state >> 1
	start, degree := s.off[v], s.off[v+1]-s.off[v]
	zone := s.zone[target<<1]
	for {
		k := at.next
		at.next++
		s.work++
		var to spot
		switch {
		case k < degree:
			rel := s.rel[start+k] & s.d
			to = spot{state: s.to[start+k] << 1, rel: rel.first()}
		case k < 2*degree:
			if at.state&1 == 0 {
				rel := s.rel[start+k-degree] & s.r
				to = spot{state: s.to[start+k-degree]<<1 | 1, rel: rel.first()}
			}
		default:
			if k -= 2 * degree; !s.rt || s.rank[v]+k >= uint32(len(s.order)) {
				return spot{}, false
			}
			to = spot{state: s.order[s.rank[v]+k] << 1, rel: Realtime}
		}
		if to.rel != 0 && !s.on[to.state>>1] && s.zone[to.state] == zone {
			return to, true
		}
	}
}

func (s *threading) cycle(step Step, last Rel) []Step {
	s.steps = append(s.steps[:0], step)
	for i, at := range s.spots[1:] {
		s.steps = append(s.steps, Step{From: s.spots[i].state >> 1, To: at.state >> 1, Rel: at.rel})
	}
	from := s.spots[len(s.spots)-1].state >> 1
	return slices.Clone(append(s.steps, Step{From: from, To: step.From, Rel: last}))
}
