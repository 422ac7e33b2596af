package linear

// split tells apart what sets a value twice at different times: when every call
// that observes a value has one source only (see sources), each setter can as
// well set a value of its own, which its observers then see. That changes nothing
// in a history without misses: in any order that works, what last set the register
// before an observer is one of its sources; and what works with more names works
// with fewer. The calls returned have unique values, the initial one is number 0.
// O(n log n); ok is false when some observer has two sources. Where values are few
// that is so, and nothing is tried.
func split(calls []call, initial int32, values int) (renamed []call, count int, ok bool) {
	setting := 0
	for i := range calls {
		if calls[i].sets() {
			setting++
		}
	}
	if setting > settersPerValue*values {
		return nil, 0, false
	}
	settled := newSettled(calls)
	// Setters of each value that are not in doubt, in the order of their
	// beginnings, and those that are.
	sure, doubt := make([]setters, values), make([]setters, values)
	for i := range calls {
		c := &calls[i]
		switch {
		case c.action == miss:
			return nil, 0, false
		case !c.sets():
		case c.crashed:
			doubt[c.value].add(i, c)
		default:
			sure[c.value].add(i, c)
		}
	}
	// The setter at i sets value i+1; what an observer saw that has no source at
	// all is one more.
	none := int32(len(calls) + 1)
	renamed = make([]call, len(calls))
	copy(renamed, calls)
	for o := range renamed {
		c := &renamed[o]
		if v, looks := calls[o].observed(); looks {
			source, several := sourceOf(calls, o, &sure[v], &doubt[v], settled, v == initial)
			if several {
				return nil, 0, false
			}
			number := none
			if source >= -1 {
				number = int32(source + 1)
			}
			if c.action == read {
				c.value = number
			} else {
				c.old = number
			}
		}
		if c.sets() {
			c.value = int32(o + 1)
		}
	}
	return renamed, len(calls) + 2, true
}

// settersPerValue is how often values are set, in the mean, for split to be tried.
const settersPerValue = 3

// sourceOf finds the source of call o: -1 for the initial value, -2 for none.
func sourceOf(calls []call, o int, sure, doubt *setters, settled settled, initial bool) (source int, several bool) {
	source = -2
	found := func(w int) bool {
		several = source != -2
		source = w
		return several
	}
	oldest := settled.before(calls[o].begin)
	if initial && oldest < 0 {
		found(-1)
	}
	for k := sure.begun(calls, calls[o].end) - 1; k >= 0 && int64(sure.reach[k]) >= oldest; k-- {
		if w := sure.calls[k]; w != o && int64(calls[w].end) >= oldest && found(w) {
			return source, true
		}
	}
	for k := range doubt.begun(calls, calls[o].end) {
		if w := doubt.calls[k]; w != o && found(w) {
			return source, true
		}
	}
	return source, several
}
