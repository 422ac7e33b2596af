package graph

import (
	"context"
	"slices"
)

// shortest returns the shortest cycle through one of the edges that the route
// closes, searching all of them to a length before any further. It is decided
// when no shorter one exists, and not when the work that it may do was not enough
// or ctx ended.
func (t *trail) shortest(p *part, way *route, edges []Step, work int64, ctx context.Context) (best []Step, decided bool) {
	end := t.work + work
	check := t.work
	passed := false // a cycle was found that could not be made a simple one
	for limit := 1; ; limit += 1 + limit/3 {
		again := false
		for _, e := range edges {
			if t.work >= check {
				if check = t.work + checkEvery; ctx.Err() != nil {
					return best, false
				}
			}
			if t.work > end {
				return best, false
			}
			cycle, cut := t.close(p, way, e, limit)
			again = again || cut
			if cycle == nil {
				continue
			}
			if cycle = simple(cycle); cycle == nil {
				passed = true
			} else if best == nil || len(cycle) < len(best) {
				best = slices.Clone(cycle)
				if len(best) == 2 {
					return best, true
				}
				limit = min(limit, len(best)-2)
			}
		}
		if best != nil || !again {
			return best, best != nil || !passed
		}
	}
}

// checkEvery is how many edges are visited between two looks at the context.
const checkEvery = 1 << 16

// simple makes a closed walk, without two rw in a row if it passes a transaction
// twice, a simple cycle by cutting off the half that may go. It returns nil when
// what is left would have two rw in a row, or none at all.
func simple(steps []Step) []Step {
	for {
		i, j, twice := repeated(steps)
		if !twice {
			return steps
		}
		inner := slices.Clone(steps[i:j])
		outer := slices.Concat(steps[j:], steps[:i])
		keepInner, keepOuter := apart(inner), apart(outer)
		switch {
		case keepInner && (!keepOuter || len(inner) <= len(outer)):
			steps = inner
		case keepOuter:
			steps = outer
		default:
			return nil
		}
	}
}

// repeated finds two steps that begin at the same transaction.
func repeated(steps []Step) (i, j int, found bool) {
	if len(steps) < 4 {
		return 0, 0, false // two cycles of two steps is the least
	}
	at := make(map[uint32]int, len(steps))
	for j, s := range steps {
		if i, ok := at[s.From]; ok {
			return i, j, true
		}
		at[s.From] = j
	}
	return 0, 0, false
}

// apart tells whether a cycle has rw edges, no two of them in a row.
func apart(steps []Step) bool {
	some := false
	for i, s := range steps {
		if s.Rel&relRW == 0 {
			continue
		}
		if steps[(i+1)%len(steps)].Rel&relRW != 0 {
			return false
		}
		some = true
	}
	return some
}
