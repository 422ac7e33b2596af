package linear

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
)

func (s *searcher) invalid(calls []call) bool {
	return s.decide(prune(calls, s.values)).verdict == checker.Invalid
}

// nearest returns calls that are not linearizable, of those before the cut at
// which the history stops to make sense: as few of the latest as will do, and
// whoever set what they saw.
func (s *searcher) nearest(calls []call, cut uint32) []call {
	calls = prune(prefix(calls, cut), s.values)
	var ends []uint32
	for i := range calls {
		if !calls[i].crashed {
			ends = append(ends, calls[i].end)
		}
	}
	slices.Sort(ends)
	src := findSources(calls)
	for reach := 24; reach < len(ends) && s.work > 0; reach *= 4 {
		from := ends[len(ends)-reach]
		part := src.closed(calls, func(i int) bool { return calls[i].end < from })
		if len(part) < len(calls) && s.invalid(part) {
			return part
		}
	}
	return calls
}

// shrink removes calls while the rest stays closed (see sources) and invalid:
// big pieces first, then single calls until none can go. Every part it settles
// on has been searched and found invalid; when the searcher may search no more it
// returns the smallest so far.
func (s *searcher) shrink(calls []call) []call {
	for size := max(1, len(calls)/2); ; size = max(1, size/2) {
		removed := false
		src := findSources(calls)
		for from := 0; from < len(calls) && s.work > 0 && s.ctx.Err() == nil; {
			s.work -= int64(len(calls))
			rest := src.closed(calls, func(i int) bool { return from <= i && i < from+size })
			if len(rest) > 0 && s.invalid(rest) {
				calls, removed = rest, true
				src = findSources(calls)
			} else {
				from += size
			}
		}
		if s.work <= 0 || s.ctx.Err() != nil || size == 1 && !removed {
			return calls
		}
	}
}
