package object

import (
	"cmp"
	"slices"
)

// link is a call whose place among the others the data tells: any order that the
// object allows sorts the calls by level.
type link struct {
	level      int64
	call       int32
	begin, end int32 // moments
}

// inversion looks for two calls of which the one of the higher level ended before
// the other began. Without any, the calls are linearizable: an order by level, and
// within a level by begin, respects time. It sorts links. O(n log n).
func inversion(links []link) (lower, higher int32, found bool) {
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.begin, b.begin)) })
	latest := -1 // of lower levels, the one that begins last
	for from := 0; from < len(links); {
		to := from
		for ; to < len(links) && links[to].level == links[from].level; to++ {
			if l := &links[to]; latest >= 0 && l.end != never && links[latest].begin > l.end {
				return links[latest].call, l.call, true
			}
		}
		if last := to - 1; latest < 0 || links[last].begin > links[latest].begin {
			latest = last
		}
		from = to
	}
	return 0, 0, false
}

// moments returns begin and end of each of the part's calls, in the order of
// begin.
func (p *part) moments() []span {
	index := make(map[int32]int32)
	out := make([]span, 0, p.operations())
	for at, ev := range p.events {
		id := int32(ev >> 1)
		if ev&1 == 0 {
			if p.r.call(id).end != never {
				index[id] = int32(len(out))
			}
			out = append(out, span{id, int32(at), never})
		} else {
			out[index[id]].end = int32(at)
			delete(index, id)
		}
	}
	return out
}

// monitorFetching decides a counter whose increments answer: each answer is a
// level, reads of it are just after, and increments in doubt fill the levels that
// are missing. O(n log n).
func monitorFetching(p *part) (finding, bool) {
	start := p.r.spec.start
	var links []link
	var doubts []link
	by := make(map[int64]int32) // the increment to each level
	top := int64(start)
	for _, s := range p.moments() {
		c := p.r.call(s.call)
		if s.end == never {
			if c.f != fetchRead {
				doubts = append(doubts, link{0, s.call, s.begin, never})
			}
			continue
		}
		n, isInt := p.r.values.int(c.res)
		if !isInt {
			return proof("It returned no number.", s.call)
		}
		if n > mostSum || n < -mostSum {
			return finding{}, false // levels would wrap; the search has none
		}
		if c.f == fetchAndIncrement {
			n++
		}
		if c.f != fetchRead {
			if other, ok := by[n]; ok {
				return proof("Two operations incremented the same number.", other, s.call)
			}
			by[n] = s.call
		}
		if n < start || n == start && c.f != fetchRead {
			return proof("It returned less than what the counter started with.", s.call)
		}
		level := 2 * n
		if c.f == fetchRead {
			level++
		}
		top = max(top, n)
		links = append(links, link{level, s.call, s.begin, s.end})
	}
	if missing := top - start - int64(len(by)); missing > int64(len(doubts)) {
		return finding{}, false // the search says it with what calls there are
	}
	// Increments in doubt take the missing levels, the first to begin the lowest:
	// the higher the level, the later it may begin.
	for n, next := start+1, 0; n <= top; n++ {
		if _, ok := by[n]; !ok {
			doubts[next].level = 2 * n
			links = append(links, doubts[next])
			next++
		}
	}
	lower, higher, found := inversion(links)
	if !found {
		return valid()
	}
	if p.r.call(lower).end == never {
		return finding{}, false
	}
	return proof("The one that saw more had ended before the other began.", lower, higher)
}

// monitorSet decides a set that only grows and is read as a whole, each element
// added at most once; and one element to which nobody removes. Everything else is
// left to the search.
func monitorSet(p *part) (finding, bool) {
	whole, single := false, false
	member, elem, several := p.members(), int32(-1), false
	for _, ev := range p.events {
		if ev&1 == 1 {
			continue
		}
		c := p.r.call(int32(ev >> 1))
		if c.f != setRead {
			m := member(c)
			several, elem = several || elem >= 0 && m != elem, m
		}
		switch {
		case c.f == setRemove:
			return finding{}, false
		case c.f == setRead && c.end != never:
			if c.res >= 0 {
				return finding{}, false // that is no collection
			}
			whole = true
		case c.f == setContains:
			single = true
		case c.f == setAdd && c.end != never && c.res != c.arg && c.res != 0:
			single = true // it says whether it changed the set, perhaps
		}
	}
	if whole == single && whole {
		return finding{}, false
	}
	if whole {
		return monitorGrowing(p)
	}
	if several {
		return finding{}, false // the object was kept whole
	}
	return monitorMember(p)
}

// monitorMember decides adds and contains of one element: some moment must be
// the first at which it is there.
func monitorMember(p *part) (finding, bool) {
	const no = int32(-1)
	// The moment is after each begin here, and before each end.
	after, before := span{no, -1, -1}, span{no, never, never}
	firstAdd := span{no, never, never}
	for _, s := range p.moments() {
		c := p.r.call(s.call)
		is, known := answer(p.r.op(c))
		switch {
		case c.f == setAdd && known:
			return finding{}, false
		case c.f == setAdd:
			if s.begin < firstAdd.begin {
				firstAdd = s
			}
			if s.end < before.end {
				before = s
			}
		case known && is:
			if s.end < before.end {
				before = s
			}
		case known && s.begin > after.begin:
			after = s
		}
	}
	switch {
	case before.call == no:
		return valid()
	case firstAdd.begin > before.end:
		return invalid("It was there before anybody began to add it.", firstAdd.call, before.call)
	case after.begin > before.end:
		return invalid("It was there already when the other one began.", firstAdd.call, before.call, after.call)
	}
	return valid()
}

// monitorGrowing decides a set that only grows and is read as a whole: reads must
// form a chain by inclusion, and each element is added just before the first read
// that has it. O(n log n) and what changes between reads.
func monitorGrowing(p *part) (finding, bool) {
	var reads, adds []span
	adder := newSparse(p) // index into adds, plus 1
	for _, s := range p.moments() {
		c := p.r.call(s.call)
		switch {
		case c.f == setRead && s.end != never:
			if p.r.bags.all[-1-c.res].twice != 0 {
				return invalid("It has an element twice.", s.call)
			}
			reads = append(reads, s)
		case c.f == setAdd:
			if adder.get(c.arg) != 0 {
				return finding{}, false
			}
			adds = append(adds, s)
			adder.set(c.arg, int32(len(adds)))
		}
	}
	size := func(r span) int32 { return p.r.bags.all[-1-p.r.call(r.call).res].size }
	runs := p.r.bags.runs(p.key, p.results(reads))
	least := newSparse(p) // size of the smallest read that has an element
	var known []int32
	for _, run := range runs {
		was := least.get(run.elem)
		if was == 0 {
			known = append(known, run.elem)
		}
		if was == 0 || run.size < was {
			least.set(run.elem, run.size)
		}
	}
	// A read of n elements has all elements of reads as small, if there are n such.
	slices.SortStableFunc(reads, func(a, b span) int { return cmp.Compare(size(a), size(b)) })
	slices.SortFunc(known, func(a, b int32) int { return cmp.Compare(least.get(a), least.get(b)) })
	count := 0
	for i, r := range reads {
		for count < len(known) && least.get(known[count]) <= size(r) {
			count++
		}
		if count == int(size(r)) {
			continue
		}
		for _, other := range reads[:i+1] { // one of them has what r lacks
			if other.call != r.call && !p.r.bags.within(p.r.call(other.call).res, p.r.call(r.call).res) {
				return proof("Each of the two reads has an element that the other lacks.", other.call, r.call)
			}
		}
		return finding{}, false
	}
	var links []link
	for _, r := range reads {
		links = append(links, link{2*int64(size(r)) + 1, r.call, r.begin, r.end})
	}
	for _, elem := range known {
		i := adder.get(elem)
		if i == 0 {
			return invalid("It has an element that nobody added.", p.readWith(reads, elem))
		}
		a := adds[i-1]
		links = append(links, link{2 * int64(least.get(elem)), a.call, a.begin, a.end})
	}
	for _, a := range adds {
		if c := p.r.call(a.call); least.get(c.arg) == 0 && a.end != never {
			links = append(links, link{never, a.call, a.begin, a.end})
		}
	}
	lower, higher, found := inversion(links)
	if !found {
		return valid()
	}
	return p.grewBackwards(reads, lower, higher)
}

// results returns the collections that calls returned.
func (p *part) results(reads []span) []int32 {
	ids := make([]int32, len(reads))
	for i, r := range reads {
		ids[i] = -1 - p.r.call(r.call).res
	}
	return ids
}

// readWith returns the first read, of those given, that has an element.
func (p *part) readWith(reads []span, elem int32) int32 {
	for _, r := range reads {
		if slices.Contains(p.r.bags.elems(-1-p.r.call(r.call).res), elem) {
			return r.call
		}
	}
	return -1
}

// grewBackwards says which two calls are the wrong way round, and adds the calls
// that say so.
func (p *part) grewBackwards(reads []span, lower, higher int32) (finding, bool) {
	calls := []int32{lower, higher}
	l, h := p.r.call(lower), p.r.call(higher)
	switch {
	case l.f == setRead && h.f == setRead:
		return proof("The read that has more had ended before the other began.", calls...)
	case l.f == setRead:
		return proof("The element was added before the read began, and the read lacks it.", calls...)
	case h.f == setRead:
		return proof("The read had ended before anybody began to add what it has.", calls...)
	}
	// Both are adds: a read has the first, begun last, and lacks the other.
	for _, r := range reads {
		elems := p.r.bags.elems(-1 - p.r.call(r.call).res)
		if slices.Contains(elems, l.arg) && !slices.Contains(elems, h.arg) {
			return proof("The element that was added first is not in a read that has the other.", lower, higher, r.call)
		}
	}
	return proof("The elements were read in another order than they were added in.", calls...)
}
