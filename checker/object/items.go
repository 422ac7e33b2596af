package object

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// item is one element of a queue or stack: the calls that put and took it, and
// when. Moments are indices of the part's events.
type item struct {
	value        int32
	put, take    int32 // calls, -1 where there is none
	putBegin     int32
	putEnd       int32 // never for a put in doubt
	takeBegin    int32 // never for an element that nobody is known to have taken
	takeEnd      int32
	surely, till int32 // from and to when the element is surely inside; surely >= till: never
}

// items are the elements of a part in which each is put at most once.
type items struct {
	all     []item // in the order in which their puts begin
	empty   []span // takes that found nothing
	doubts  []span // takes in doubt
	moments int32  // how many events there are
}

// span is a call and its moments.
type span struct{ call, begin, end int32 }

// collectItems reads p, whose operation 0 puts and 1 takes. ok is false where an
// element is put twice, or is nil, so that a take does not tell whose element it
// took. A finding is of a take that no order can explain.
func collectItems(p *part) (set *items, bad *finding, ok bool) {
	set = &items{moments: int32(len(p.events))}
	index := newSparse(p)
	ends := make(map[int32]int32) // moments of ends of takes that are still open
	for at, ev := range p.events {
		id, moment := int32(ev>>1), int32(at)
		c := p.r.call(id)
		switch {
		case c.f == 0 && ev&1 == 0:
			if c.arg == 0 || index.get(c.arg) > 0 {
				return nil, nil, false
			}
			set.all = append(set.all, item{value: c.arg, put: id, take: -1, putBegin: moment, putEnd: never, takeBegin: never, takeEnd: never})
			index.set(c.arg, int32(len(set.all)))
		case c.f == 0:
			if i := index.get(c.arg); i > 0 {
				set.all[i-1].putEnd = moment
			}
		case ev&1 == 0 && c.end == never:
			set.doubts = append(set.doubts, span{id, moment, never})
		case ev&1 == 0:
			ends[id] = moment
		case c.res == 0:
			set.empty = append(set.empty, span{id, ends[id], moment})
			delete(ends, id)
		default:
			begin := ends[id]
			delete(ends, id)
			i := index.get(c.res)
			if i == 0 {
				// Its put may begin later; that it did not begin is enough.
				if bad == nil {
					bad = &finding{calls: []int32{id}}
				}
				continue
			}
			it := &set.all[i-1]
			if it.take >= 0 {
				if bad == nil {
					bad = &finding{calls: []int32{it.put, it.take, id}, note: "The element was put once and taken twice."}
				}
				continue
			}
			it.take, it.takeBegin, it.takeEnd = id, begin, moment
		}
	}
	// Puts in doubt of elements that nobody took are left out.
	set.all = slices.DeleteFunc(set.all, func(it item) bool { return it.putEnd == never && it.take < 0 })
	for i := range set.all {
		it := &set.all[i]
		it.surely, it.till = min(it.putEnd, it.takeEnd), max(it.takeBegin, it.putBegin)
	}
	if bad != nil {
		bad.verdict, bad.by = checker.Invalid, "monitor"
		// A put that came too late belongs to the picture.
		c := p.r.call(bad.calls[0])
		if len(bad.calls) == 1 {
			if i := index.get(c.res); i > 0 {
				for at := range set.all {
					if set.all[at].value == c.res {
						bad.calls = append(bad.calls, set.all[at].put)
						bad.note = "The element was taken before anybody began to put it."
					}
				}
			}
		}
	}
	return set, bad, true
}

// sparse maps numbers of values to small numbers: in a slice where the part is
// most of the history, in a map where it is one of many.
type sparse struct {
	dense []int32
	few   map[int32]int32
}

func newSparse(p *part) *sparse {
	if n := p.r.values.len(); n <= 4*len(p.events)+64 {
		return &sparse{dense: make([]int32, n)}
	}
	return &sparse{few: make(map[int32]int32)}
}

func (s *sparse) get(i int32) int32 {
	if s.dense != nil {
		return s.dense[i]
	}
	return s.few[i]
}

func (s *sparse) set(i, to int32) {
	if s.dense != nil {
		s.dense[i] = to
	} else {
		s.few[i] = to
	}
}

// valid and invalid are what monitors find.
func valid() (finding, bool) { return finding{verdict: checker.Valid, by: "monitor"}, true }

func invalid(note string, calls ...int32) (finding, bool) {
	calls = slices.DeleteFunc(calls, func(c int32) bool { return c < 0 })
	slices.Sort(calls)
	return finding{verdict: checker.Invalid, by: "monitor", note: note, calls: slices.Compact(calls)}, true
}

// proof is invalid where the note says it all.
func proof(note string, calls ...int32) (finding, bool) {
	f, ok := invalid(note, calls...)
	f.proof = true
	return f, ok
}

// emptiness checks the takes that found nothing: each needs a moment at which
// nothing is surely inside. O(moments).
//
// That is enough because the moments can be chosen for all at once: an element
// that is not surely inside at one can be put and taken on one side of it.
func (s *items) emptiness() (finding, bool) {
	if len(s.empty) == 0 {
		return valid()
	}
	// free[m] is how many of the gaps before moment m are free; gap m is between
	// the moments m and m+1.
	free := make([]int32, s.moments+2)
	for i := range s.all {
		if it := &s.all[i]; it.surely < it.till {
			free[it.surely]++
			free[min(it.till, s.moments)]--
		}
	}
	inside, count := int32(0), int32(0)
	for m, change := range free {
		free[m] = count
		inside += change
		if inside == 0 {
			count++
		}
	}
	for _, e := range s.empty {
		if free[e.end] == free[e.begin] {
			return invalid("At each moment of it at least one element was surely inside.", s.cover(e)...)
		}
	}
	return valid()
}

// cover returns e and the fewest elements that are inside throughout it.
func (s *items) cover(e span) []int32 {
	calls := []int32{e.call}
	for at := e.begin; at < e.end; {
		best := -1
		for i := range s.all {
			if it := &s.all[i]; it.surely <= at && it.till > at && (best < 0 || it.till > s.all[best].till) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		calls = append(calls, s.all[best].put, s.all[best].take)
		at = s.all[best].till
	}
	return calls
}
