package graph

import (
	"cmp"
	"slices"
)

// clock is real-time order without its edges, of which there may be n²/2. The
// barriers of the package comment are the places in order: barrier i leads to
// order[i] and to barrier i+1.
type clock struct {
	order []uint32 // transactions whose invocation is known, in that order
	rank  []uint32 // of each transaction, the barrier that it leads to: how many invocations its completion does not precede
	place []uint32 // of each transaction, its place in order plus one, or 0; see index
}

// precedes tells whether a completed before b was invoked.
func (c *clock) precedes(a, b uint32) bool { return c.place[b] > c.rank[a] }

// invoked returns where a transaction was invoked, -1 where that is not known.
// Nobody is invoked after having completed.
func invoked(call, ret int32) int32 {
	if call > ret {
		return -1
	}
	return call
}

// set orders transactions by time, reusing what the clock held. It takes O(n)
// where positions are dense, as they are in a history, else O(n log n). So each
// transaction comes before its own completion's barrier: real time has no cycle.
func (c *clock) set(call, ret []int32) {
	n := len(call)
	c.rank = slices.Grow(c.rank[:0], n)[:n]
	known, last := 0, int32(-1)
	for i := range n {
		if at := invoked(call[i], ret[i]); at >= 0 {
			known++
			last = max(last, at)
		}
	}
	c.order = slices.Grow(c.order[:0], known)[:known]
	if int(last) < 4*n+1024 {
		c.bucket(call, ret, last)
	} else {
		c.sort(call, ret)
	}
}

// index finds the place of each transaction, which only precedes needs.
func (c *clock) index() {
	c.place = slices.Grow(c.place[:0], len(c.rank))[:len(c.rank)]
	clear(c.place)
	for i, v := range c.order {
		c.place[v] = uint32(i + 1)
	}
}

// bucket sorts by counting how many invocations stand at and before each position.
func (c *clock) bucket(call, ret []int32, last int32) {
	upTo := make([]uint32, last+1)
	for i := range call {
		if at := invoked(call[i], ret[i]); at >= 0 {
			upTo[at]++
		}
	}
	for at := 1; at < len(upTo); at++ {
		upTo[at] += upTo[at-1]
	}
	for i, r := range ret {
		switch {
		case r < 0 || last < 0:
			c.rank[i] = 0
		case r >= last:
			c.rank[i] = uint32(len(c.order))
		default:
			c.rank[i] = upTo[r]
		}
	}
	for i := len(call) - 1; i >= 0; i-- { // backwards, so that equal ones stay in order
		if at := invoked(call[i], ret[i]); at >= 0 {
			upTo[at]--
			c.order[upTo[at]] = uint32(i)
		}
	}
}

func (c *clock) sort(call, ret []int32) {
	c.order = c.order[:0]
	for i := range call {
		if invoked(call[i], ret[i]) >= 0 {
			c.order = append(c.order, uint32(i))
		}
	}
	slices.SortFunc(c.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(call[a], call[b]), cmp.Compare(a, b))
	})
	for i, r := range ret {
		at, _ := slices.BinarySearchFunc(c.order, r, func(v uint32, r int32) int {
			if call[v] <= r {
				return -1
			}
			return 1
		})
		c.rank[i] = uint32(at)
	}
}

// before tells whether real time puts a before b.
func (g *Graph) before(a, b uint32) bool {
	if g.call == nil {
		return false
	}
	at := invoked(g.call[b], g.ret[b])
	return at >= 0 && g.ret[a] < at
}
