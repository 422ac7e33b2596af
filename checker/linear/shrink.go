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

// stretchAlone returns the shortest stretch of calls around the one that began at
// last which is not linearizable whatever came before it, nor is when it is all
// that there is. It serves where a cas or a lock makes so long a chain of calls
// that no part of it can go; nil when there is none that can be shown.
func (s *searcher) stretchAlone(calls []call, last uint32) []call {
	at := slices.IndexFunc(calls, func(c call) bool { return c.begin == last })
	if at < 0 {
		return nil
	}
	end := calls[at].end
	for reach := 0; reach < 2*shownCalls && reach <= at && s.work > 0; reach++ {
		from := calls[at-reach].begin
		part, states := s.stretch(calls, from, end)
		if len(part) > shownCalls {
			return nil
		}
		f := begin(part, s.values, from, states, false, s.memory/4)
		why, _ := f.walk(s.ctx, refuteWidth, -1, s.work)
		s.work -= f.steps + int64(len(calls))
		if why == stuck && !f.dropped && s.invalid(part) {
			return part
		}
	}
	return nil
}
