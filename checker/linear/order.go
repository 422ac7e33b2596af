package linear

import (
	"encoding/binary"
	"slices"
)

// step is what a register does: the state after c, or that c cannot happen now.
// A cas in doubt that finds something else does nothing, so it needs no step.
func (c *call) step(state int32) (after int32, ok bool) {
	switch c.action {
	case write:
		return c.value, true
	case cas:
		return c.value, state == c.old
	case miss:
		return state, state != c.old
	}
	return state, state == c.value
}

// order is a beginning of an order of calls.
type order struct {
	placed  []int32 // calls in their order
	state   int32
	blocked []int32 // calls that were under way then and were not placed
	stuck   int32   // of those, the one that completes first
	partial bool    // there may be a longer one
}

// longest finds an order of as many completions as can be had before one has no
// place: calls are tried one after another, with a step back where none fits
// (Wing and Gong 1993), and what was tried is remembered as the first call that
// has no place, which of those after it have, and the state. It looks at steps
// calls at most; what it returns is then only the longest so far.
func longest(calls []call, initial int32, steps int) order {
	w := &walker{calls: calls, tried: make(map[string]bool), placed: make([]bool, len(calls))}
	ends := make([]int32, 0, len(calls)) // calls by their ends
	for i := range calls {
		if !calls[i].crashed {
			ends = append(ends, int32(i))
		}
	}
	slices.SortFunc(ends, func(a, b int32) int { return int(int64(calls[a].end) - int64(calls[b].end)) })
	w.ends = ends
	type frame struct {
		call, state, first int32
		at                 int // where to try on after a step back
	}
	var stack []frame
	best := order{stuck: -1}
	most := -1
	state, first, at := initial, 0, 0 // first: of ends, the first that has no place
	for first = w.skip(0); ; {
		if first > most {
			most = first
			best = order{state: state, stuck: -1}
			for _, f := range stack {
				best.placed = append(best.placed, f.call)
			}
		}
		if first == len(ends) || w.looked > steps {
			break
		}
		next, after := w.next(state, first, at)
		if next < 0 {
			if len(stack) == 0 {
				break
			}
			back := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			w.placed[back.call] = false
			state, first, at = back.state, int(back.first), back.at
			continue
		}
		w.placed[next] = true
		moved := w.skip(first)
		if w.known(after, moved) {
			w.placed[next] = false
			at = int(next) + 1
			continue
		}
		stack = append(stack, frame{int32(next), state, int32(first), int(next) + 1})
		state, first, at = after, moved, 0
	}
	best.partial = w.looked > steps
	if most < len(ends) {
		best.stuck = ends[most]
		placed := make([]bool, len(calls))
		for _, i := range best.placed {
			placed[i] = true
		}
		for i := range calls {
			if !placed[i] && (int32(i) == best.stuck || calls[i].begin < calls[best.stuck].end) {
				best.blocked = append(best.blocked, int32(i))
			}
		}
	}
	return best
}

// walker is where longest is.
type walker struct {
	calls  []call
	ends   []int32
	placed []bool
	tried  map[string]bool
	key    []byte
	looked int // at calls
}

// skip is the first of ends from there on that has no place.
func (w *walker) skip(first int) int {
	for first < len(w.ends) && w.placed[w.ends[first]] {
		first++
	}
	return first
}

// next is a call from at on that can come now, -1 for none.
func (w *walker) next(state int32, first, at int) (call int, after int32) {
	limit := w.calls[w.ends[first]].end
	for i := at; i < len(w.calls) && w.calls[i].begin < limit; i++ {
		w.looked++
		if w.placed[i] {
			continue
		}
		if after, ok := w.calls[i].step(state); ok {
			return i, after
		}
	}
	// A lone completion begins where it ends.
	if i := int(w.ends[first]); at <= i && w.calls[i].begin == limit && !w.placed[i] {
		if after, ok := w.calls[i].step(state); ok {
			return i, after
		}
	}
	return -1, 0
}

// known remembers what was tried.
func (w *walker) known(state int32, first int) bool {
	w.key = binary.AppendVarint(binary.AppendVarint(w.key[:0], int64(state)), int64(first))
	limit := uint32(never)
	if first < len(w.ends) {
		limit = w.calls[w.ends[first]].end
	}
	for i := range w.calls {
		if w.calls[i].begin > limit {
			break
		}
		w.looked++
		// Of what ended before, all has a place.
		if w.placed[i] && w.calls[i].end > limit {
			w.key = binary.AppendVarint(w.key, int64(i))
		}
	}
	if w.tried[string(w.key)] {
		return true
	}
	w.tried[string(w.key)] = true
	return false
}
