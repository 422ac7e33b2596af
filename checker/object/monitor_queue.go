package object

import (
	"cmp"
	"slices"
)

// monitorFIFO decides a queue whose elements are all different (Henzinger, Sezgin
// and Vafeiadis 2013; Bouajjani and others 2015). It is not linearizable if and
// only if an element is taken that was not put before, or taken twice; or a was
// put before b, and b taken before a or a never; or an empty answer came while
// something was surely inside. O(n), and O(n log n) with takes in doubt.
//
// A take in doubt may have taken any element that is missing. Each missing
// element that was passed by has a deadline, the first end of a take of one that
// was put after it; the k-th deadline needs a k-th take in doubt that began
// before it. With empty answers as well this is left to the search.
func monitorFIFO(p *part) (finding, bool) {
	set, bad, ok := collectItems(p)
	if !ok {
		return finding{}, false
	}
	if bad != nil {
		return *bad, true
	}
	if len(set.doubts) > 0 && len(set.empty) > 0 {
		return finding{}, false
	}
	if f, ok := set.overtaken(); ok {
		return f, true
	}
	if len(set.doubts) > 0 {
		return set.missing()
	}
	return set.emptiness()
}

// monitorBag decides a queue without order whose elements are all different.
func monitorBag(p *part) (finding, bool) {
	set, bad, ok := collectItems(p)
	if !ok {
		return finding{}, false
	}
	if bad != nil {
		return *bad, true
	}
	if len(set.doubts) > 0 && len(set.empty) > 0 {
		return finding{}, false
	}
	return set.emptiness()
}

// overtaken looks for b, put after a and taken before a, or instead of it.
func (s *items) overtaken() (finding, bool) {
	// In the order of moments: of all elements whose put has ended by now, the one
	// whose take begins last.
	byEnd := make([]int32, 0, len(s.all))
	for i := range s.all {
		if s.all[i].putEnd != never && (s.all[i].take >= 0 || len(s.doubts) == 0) {
			byEnd = append(byEnd, int32(i))
		}
	}
	slices.SortFunc(byEnd, func(a, b int32) int { return cmp.Compare(s.all[a].putEnd, s.all[b].putEnd) })
	next, last := 0, int32(-1)
	for i := range s.all {
		b := &s.all[i]
		for next < len(byEnd) && s.all[byEnd[next]].putEnd < b.putBegin {
			if a := byEnd[next]; last < 0 || s.all[a].takeBegin > s.all[last].takeBegin {
				last = a
			}
			next++
		}
		if last < 0 || b.take < 0 || s.all[last].takeBegin <= b.takeEnd {
			continue
		}
		a := &s.all[last]
		if a.take < 0 {
			return invalid("The one that was put first was never taken, though one that was put after it was.", a.put, b.put, b.take)
		}
		return invalid("The one that was put first was taken last.", a.put, a.take, b.put, b.take)
	}
	return finding{}, false
}

// missing gives each element that is missing, and was passed by, a take in doubt.
func (s *items) missing() (finding, bool) {
	type lost struct{ item, deadline, by int32 }
	var all []lost
	// Elements in the order in which their puts begin, from the last: the take that
	// ends first among those behind.
	first, at := int32(-1), len(s.all)
	byEnd := make([]int32, 0, len(s.all))
	for i := range s.all {
		if it := &s.all[i]; it.take < 0 {
			byEnd = append(byEnd, int32(i))
		}
	}
	slices.SortFunc(byEnd, func(a, b int32) int { return cmp.Compare(s.all[b].putEnd, s.all[a].putEnd) })
	for _, i := range byEnd {
		for at > 0 && s.all[at-1].putBegin > s.all[i].putEnd {
			at--
			if b := &s.all[at]; b.take >= 0 && (first < 0 || b.takeEnd < s.all[first].takeEnd) {
				first = int32(at)
			}
		}
		if first >= 0 {
			all = append(all, lost{i, s.all[first].takeEnd, first})
		}
	}
	slices.SortFunc(all, func(a, b lost) int { return cmp.Compare(a.deadline, b.deadline) })
	for k, l := range all {
		if k < len(s.doubts) && s.doubts[k].begin < l.deadline {
			continue
		}
		var calls []int32
		for _, l := range all[:k+1] {
			calls = append(calls, s.all[l.item].put, s.all[l.by].put, s.all[l.by].take)
		}
		for _, d := range s.doubts[:min(k, len(s.doubts))] {
			calls = append(calls, d.call)
		}
		return invalid("More elements were passed by than operations in doubt can have taken.", calls...)
	}
	return valid()
}

// monitorPriority decides a queue that returns the least integer first, whose
// elements are all different. O(n log n).
//
// Going from the least element up, each is taken at the first moment of its take
// at which no lesser one is inside. That is best for all that follow: an element
// is in the way of greater ones from the end of its put (any earlier it need not
// be inside) to when it is taken, so the sooner the better. There is no choice
// left, so what this finds no moment for has none.
func monitorPriority(p *part) (finding, bool) {
	set, bad, ok := collectItems(p)
	if !ok || len(set.doubts) > 0 {
		return finding{}, false
	}
	if bad != nil {
		return *bad, true
	}
	order := make([]int32, len(set.all))
	ranks := make([]int64, len(set.all))
	for i := range order {
		order[i] = int32(i)
		if ranks[i], ok = p.r.values.int(set.all[i].value); !ok {
			return finding{}, false
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ranks[a], ranks[b]) })
	// next[g] leads to the first gap from g on that no element is in the way of.
	next := make([]int32, set.moments+1)
	for g := range next {
		next[g] = int32(g)
	}
	free := func(g int32) int32 {
		for next[g] != g {
			next[g] = next[next[g]]
			g = next[g]
		}
		return g
	}
	block := func(from, to int32) {
		for g := free(from); g < to; g = free(g) {
			next[g] = g + 1
		}
	}
	const note = "At each moment of it a lesser element was inside, that could not have been taken before."
	for k, i := range order {
		it := &set.all[i]
		to := set.moments
		if it.take >= 0 {
			if to = free(it.till); to >= it.takeEnd {
				return invalid(note, set.callsOf(order[:k+1], it.takeEnd)...)
			}
		}
		if it.putEnd < to {
			block(it.putEnd, to)
		}
	}
	for _, e := range set.empty {
		if free(e.begin) >= e.end {
			return invalid("At each moment of it something was inside, that could not have been taken before.",
				append(set.callsOf(order, e.end), e.call)...)
		}
	}
	return valid()
}

// callsOf returns the calls of those elements that began before a moment.
func (s *items) callsOf(which []int32, before int32) []int32 {
	var calls []int32
	for _, i := range which {
		if it := &s.all[i]; it.putBegin < before {
			calls = append(calls, it.put, it.take)
		}
	}
	return calls
}
