package linear

import "slices"

const (
	// quickSteps bounds the first search for a proof near where the walk got stuck.
	quickSteps = 300_000
	// refuteWidth is how many configurations such a proof may have at once.
	refuteWidth = 4096
)

// joke looks for a proof that there is no order even when calls in doubt may do
// more than they can. It returns where the history fails, never when it does not.
func (s *searcher) joke(calls []call) uint32 {
	f := begin(calls, s.values, 0, []int32{s.initial}, true, s.memory/4)
	if len(f.classes) == 0 {
		return never
	}
	why, at := f.walk(s.ctx, refuteWidth, -1, s.work/4)
	s.work -= f.steps
	if why != stuck || f.dropped {
		return never
	}
	return calls[at].end
}

// refuted is what is of no use: proofs of less than reach calls around one.
type refuted struct{ at, reach int32 }

// refute looks for a stretch of calls around the one that has no place which is
// not linearizable whatever came before it. It returns where that ends, never
// when there is none. It does not try again what was in vain.
func (s *searcher) refute(calls []call, at int32, steps int64, vain *refuted) uint32 {
	if vain.at != at {
		*vain = refuted{at: at, reach: 32}
	}
	for reach := vain.reach; reach < at && steps > 0; reach *= 8 {
		from := calls[at-reach].begin
		to := calls[min(at+reach, int32(len(calls)-1))].begin
		part, states := s.stretch(calls, from, to)
		f := begin(part, s.values, from, states, false, s.memory/4)
		why, last := f.walk(s.ctx, refuteWidth, -1, min(steps, s.work))
		steps -= f.steps + int64(len(part))
		s.work -= f.steps
		switch {
		case why == stuck && !f.dropped:
			return part[last].end
		case why == stuck || why == arrived:
			vain.reach = 8 * reach
		}
	}
	return never
}

// stretch is what of calls reaches into the time between two positions, and the
// states that the register may be in at its beginning: all values that it makes a
// difference to see, and one for all the others.
func (s *searcher) stretch(calls []call, from, to uint32) (part []call, states []int32) {
	part = prefix(calls, to)
	part = prune(slices.DeleteFunc(part, func(c call) bool { return c.end < from }), s.values)
	seen := make([]bool, s.values)
	states = append(states, int32(s.values))
	for i := range part {
		v := part[i].old
		if part[i].action == read {
			v = part[i].value
		}
		if v >= 0 && !seen[v] {
			seen[v] = true
			states = append(states, v)
		}
	}
	return part, states
}
