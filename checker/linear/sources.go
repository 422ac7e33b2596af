package linear

import (
	"cmp"
	"slices"
	"sort"
)

// sources says, for each call that observes a value, which calls may have put
// that value there.
//
// A call w may be the source of o when it sets what o saw (of a miss: anything
// but what it expected), began before o ended, and no call that certainly set the
// register lies wholly between the two.
//
// A part of a history in which every observer keeps all of its sources is called
// closed here, and if it is not linearizable, neither is the whole: take a valid
// order of the whole and leave out what is not in the part. In it, whatever last
// set the register before o is one of o's sources, so it is still there, and
// less than before stands between the two. Calls in doubt that had no effect can
// go last. (A cas in doubt counts as an observer of what it expects.)
type sources struct {
	observers [][]int // call → the calls that have it as a source
}

// observed is the value that a call looks at, whether it must have been there or,
// for a cas in doubt, may have been.
func (c *call) observed() (v int32, ok bool) {
	if c.action == cas {
		return c.old, true
	}
	return c.needs()
}

// setters lists calls that set a register, in the order of their beginnings.
type setters struct {
	calls []int
	reach []uint32 // latest end of each and those before it
}

func (s *setters) add(i int, c *call) {
	reach := c.end
	if n := len(s.reach); n > 0 {
		reach = max(reach, s.reach[n-1])
	}
	s.calls, s.reach = append(s.calls, i), append(s.reach, reach)
}

// begun is how many of s began before a position.
func (s *setters) begun(calls []call, position uint32) int {
	return sort.Search(len(s.calls), func(k int) bool { return calls[s.calls[k]].begin >= position })
}

// findSources takes O(n log n) time and as much memory as there are pairs of an
// observer and a source, about n times the concurrency.
func findSources(calls []call) sources {
	src := sources{observers: make([][]int, len(calls))}
	settled := newSettled(calls)
	byValue := make(map[int32]*setters)
	var all setters
	for i := range calls {
		c := &calls[i]
		if !c.sets() {
			continue
		}
		if byValue[c.value] == nil {
			byValue[c.value] = &setters{}
		}
		byValue[c.value].add(i, c)
		all.add(i, c)
	}
	for o := range calls {
		from, but := &all, calls[o].old
		if calls[o].action != miss {
			v, ok := calls[o].observed()
			if !ok || byValue[v] == nil {
				continue
			}
			from, but = byValue[v], -1
		}
		began := from.begun(calls, calls[o].end)
		oldest := settled.before(calls[o].begin)
		found := false
		for k := began - 1; k >= 0 && int64(from.reach[k]) >= oldest; k-- {
			if w := from.calls[k]; w != o && int64(calls[w].end) >= oldest && calls[w].value != but {
				src.observers[w] = append(src.observers[w], o)
				found = true
			}
		}
		if !found && len(from.calls) > 0 && from.calls[0] != o {
			// Seen before it was there, or after it was gone: keep the nearest
			// writer, for whoever reads the witness.
			w := from.calls[max(0, began-1)]
			src.observers[w] = append(src.observers[w], o)
		}
	}
	return src
}

// settled answers: of the calls that certainly set the register and ended before
// a position, which began last?
type settled struct {
	ends   []uint32
	begins []int64 // latest begin among those up to here
}

func newSettled(calls []call) settled {
	var sure []*call
	for i := range calls {
		if c := &calls[i]; c.sets() && !c.crashed {
			sure = append(sure, c)
		}
	}
	slices.SortFunc(sure, func(a, b *call) int { return cmp.Compare(a.end, b.end) })
	s := settled{ends: make([]uint32, len(sure)), begins: make([]int64, len(sure))}
	for i, c := range sure {
		s.ends[i], s.begins[i] = c.end, int64(c.begin)
		if i > 0 {
			s.begins[i] = max(s.begins[i], s.begins[i-1])
		}
	}
	return s
}

func (s settled) before(position uint32) int64 {
	n, _ := slices.BinarySearch(s.ends, position)
	if n == 0 {
		return -1
	}
	return s.begins[n-1]
}

// closed returns the calls that are left when those that drop picks go, and with
// each that goes all who may have observed it.
func (src sources) closed(calls []call, drop func(i int) bool) []call {
	gone := make([]bool, len(calls))
	var todo []int
	for i := range calls {
		if drop(i) {
			gone[i] = true
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, o := range src.observers[i] {
			if !gone[o] {
				gone[o] = true
				todo = append(todo, o)
			}
		}
	}
	rest := make([]call, 0, len(calls)-len(todo))
	for i, c := range calls {
		if !gone[i] {
			rest = append(rest, c)
		}
	}
	return rest
}
