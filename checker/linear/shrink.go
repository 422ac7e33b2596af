package linear

import "github.com/jepgo/jepgo/checker"

func (s *searcher) invalid(calls []call) bool {
	return s.decide(calls).verdict == checker.Invalid
}

// firstFailure returns calls that are not linearizable and end at the earliest
// completion at which the history stops to make sense, by bisection between what
// was found; or only those of them that already prove it.
func (s *searcher) firstFailure(found outcome) []call {
	ends := s.r.ends()
	best := s.r.calls
	if found.failing < len(ends) {
		best = s.r.prefix(ends[found.failing-1], s.nilAny)
	}
	if found.proof != nil {
		best = found.proof
	}
	for low, high := found.valid, found.failing; low+1 < high; {
		mid := (low + high) / 2
		calls := s.r.prefix(ends[mid-1], s.nilAny)
		switch now := s.piece(calls); {
		case now.verdict != checker.Invalid:
			low = mid
		case now.proof != nil:
			best, high = now.proof, mid
		default:
			best, high = calls, mid
		}
	}
	return best
}

// shrink removes calls while the rest stays closed (see sources) and invalid:
// big pieces first, then single calls until none can go. Every part it settles
// on has been searched and found invalid; when the searcher may search no more it
// returns the smallest so far.
func (s *searcher) shrink(calls []call) []call {
	for size := max(1, len(calls)/2); ; size = max(1, size/2) {
		removed := false
		src := findSources(calls, s.nilAny)
		for from := 0; from < len(calls) && !s.over(); {
			rest := src.closed(calls, func(i int) bool { return from <= i && i < from+size })
			if len(rest) > 0 && s.invalid(rest) {
				calls, removed = rest, true
				src = findSources(calls, s.nilAny)
			} else {
				from += size
			}
		}
		if s.over() || size == 1 && !removed {
			return calls
		}
	}
}
