package object

import (
	"cmp"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// monitorStack decides a stack whose elements are all different, without pops in
// doubt. An element is surely inside from the end of its push to the begin of its
// pop. Where nothing is surely inside the stack can be empty, so what is before
// and what is after are stacks of their own. Of such a stretch some element must
// be at the bottom throughout: one whose push can come first and whose pop can
// come last. It changes nothing for the others, so it is taken away; where there
// is none no order exists. O(n) for each level of depth.
func monitorStack(p *part) (finding, bool) {
	set, bad, ok := collectItems(p)
	if !ok || len(set.doubts) > 0 {
		return finding{}, false
	}
	if bad != nil {
		return *bad, true
	}
	if f, _ := set.emptiness(); f.verdict != checker.Valid {
		return f, true
	}
	// Only elements that are surely inside at some time can be in the way.
	all := make([]item, 0, len(set.all))
	for _, it := range set.all {
		if it.surely < it.till {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.surely, b.surely) })
	work := p.r.options.Work
	stretches := [][]item{all}
	for len(stretches) > 0 {
		last := len(stretches) - 1
		rest := stretches[last]
		stretches = stretches[:last]
		for from := 0; from < len(rest); {
			// The stretch that begins with element from: elements in the order of when
			// they are inside, for as long as they overlap.
			end, to := rest[from].till, from+1
			for to < len(rest) && rest[to].surely < end {
				end = max(end, rest[to].till)
				to++
			}
			if work -= int64(to - from); work < 0 {
				return finding{}, false
			}
			if to-from > 1 {
				begin := rest[from].surely
				left := slices.DeleteFunc(rest[from:to:to], func(it item) bool {
					return it.putBegin < begin && (it.take < 0 || it.takeEnd > end)
				})
				if len(left) == to-from {
					var calls []int32
					for _, it := range left {
						calls = append(calls, it.put, it.take)
					}
					return invalid("None of the elements can have been at the bottom of the others.", calls...)
				}
				if len(left) > 1 {
					stretches = append(stretches, left)
				}
			}
			from = to
		}
	}
	return valid()
}
