package object

// chains links the numbers 0, 1, 2… by a state that each has, in their order.
type chains struct {
	heads, tails []int32 // by state
	stamps       []uint32
	stamp        uint32
	next         []int32 // by number, -1 at the end
}

func (c *chains) reset() {
	c.stamp++
	c.next = c.next[:0]
}

// add gives the next number a state.
func (c *chains) add(state int32) {
	n := int32(len(c.next))
	c.next = append(c.next, -1)
	for int(state) >= len(c.stamps) {
		more := max(64, len(c.stamps))
		c.stamps = append(c.stamps, make([]uint32, more)...)
		c.heads = append(c.heads, make([]int32, more)...)
		c.tails = append(c.tails, make([]int32, more)...)
	}
	if c.stamps[state] != c.stamp {
		c.stamps[state], c.heads[state] = c.stamp, n
	} else {
		c.next[c.tails[state]] = n
	}
	c.tails[state] = n
}

// first returns the first number of a state, or -1.
func (c *chains) first(state int32) int32 {
	if int(state) >= len(c.stamps) || c.stamps[state] != c.stamp {
		return -1
	}
	return c.heads[state]
}
