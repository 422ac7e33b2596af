package weak

import (
	"cmp"
	"slices"
)

// barriers stand between the ends and the beginnings of transactions in time.
type barriers struct {
	count         int32
	after, before []int32 // by transaction: the first one after its end, the last one before its beginning, or -1
}

// byTime returns the transactions for which a time is known, in its order.
func byTime(times []int32, unknown int32) []int32 {
	order := make([]int32, 0, len(times))
	for t, at := range times {
		if at != unknown {
			order = append(order, int32(t))
		}
	}
	if less := func(a, b int32) int { return cmp.Compare(times[a], times[b]) }; !slices.IsSortedFunc(order, less) {
		slices.SortStableFunc(order, less)
	}
	return order
}

// barriers puts one between each run of ends and the beginning that follows it.
func (h *History) barriers() barriers {
	n := h.Len()
	b := barriers{after: make([]int32, n), before: make([]int32, n)}
	for t := range n {
		b.after[t], b.before[t] = -1, -1
	}
	calls, rets := byTime(h.call, -1), byTime(h.ret, Never)
	ended := 0
	for _, t := range calls {
		fresh := false
		for ; ended < len(rets) && h.ret[rets[ended]] < h.call[t]; ended++ {
			b.after[rets[ended]] = b.count
			fresh = true
		}
		if fresh {
			b.count++
		}
		b.before[t] = b.count - 1
	}
	return b
}

// guess estimates when each transaction began and ended, to line them up by: by its
// times where there are any, else by how much had to come before it.
func (s *search) guess(order []int32) (start, stop []int32) {
	h := s.h
	n := h.Len()
	timed := false
	for t := range n {
		timed = timed || h.call[t] >= 0 || h.ret[t] != Never
	}
	start, stop = make([]int32, n), make([]int32, n)
	if !timed {
		depth := make([]int32, len(s.txn))
		for _, node := range order {
			for _, next := range s.out[s.outOff[node]:s.outOff[node+1]] {
				depth[next] = max(depth[next], depth[node]+1)
			}
		}
		for t := range n {
			start[t] = depth[s.end[t]]
			stop[t] = start[t]
		}
		return start, stop
	}
	for t := range n {
		start[t], stop[t] = h.call[t], h.ret[t]
	}
	// One without an end was seen to have happened by the end of who read from it.
	for t := range int32(n) {
		for _, v := range s.readBy(t) {
			if w := s.owner[v]; w >= 0 && h.ret[w] == Never {
				stop[w] = min(stop[w], h.ret[t])
			}
		}
	}
	for t := range n {
		if start[t] < 0 {
			start[t] = min(stop[t], h.ret[t])
		}
		if stop[t] == Never {
			stop[t] = start[t]
		}
	}
	return start, stop
}
