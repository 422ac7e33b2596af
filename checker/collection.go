package checker

import "github.com/jepgo/jepgo/history"

// collection holds what the last read of a growing collection returned, and tells
// how the next read differs. Reads of a grow-only set repeat nearly all of the
// read before, in nearly its order, so an element that stands where it stood costs
// a comparison and nothing else; only those that came, went or moved are looked
// up. The zero collection is empty and ready for use.
type collection struct {
	order []int32 // the elements of the last read, each once
	next  []int32 // space for the order of the next
	where []int32 // element → its place in order, or absent
	met   []int32 // element → the read that last met it out of its place
	left  []int32 // element → the read that last passed over it
	reads int32

	skipped []int32
	entered []int32 // for whoever wants to look at them after the read
}

const absent = -1

// holds reports whether the last read had the element.
func (c *collection) holds(id int32) bool {
	return int(id) < len(c.where) && c.where[id] != absent
}

// cover makes room for n elements.
func (c *collection) cover(n int) {
	for len(c.where) < n {
		c.where = append(c.where, absent)
		c.met = append(c.met, 0)
		c.left = append(c.left, 0)
	}
}

// change is told what is different.
type change interface {
	enter(id int32) // was not in the read before
	leave(id int32) // is not in this read; called after all enters
	again(id int32) // is in this read more than once
}

// read takes the next read, a list, vector or set.
func (c *collection) read(v history.View, in *interner, to change) {
	c.reads++
	now := c.reads
	next, skipped := c.next[:0], c.skipped[:0]
	at, moved := 0, -1 // next place in order; first place that is not as it was
	elem, n := v, v.Len()
	for i := range n {
		if i == 0 {
			elem = v.First()
		} else {
			elem = elem.Next()
		}
		num, isInt := elem.Int()
		if isInt && at < len(c.order) && in.isInt(c.order[at], num) {
			next = append(next, c.order[at])
			at++
			continue
		}
		var id int32
		if isInt {
			id = in.numberInt(num)
		} else {
			id = in.number(elem)
		}
		c.cover(int(id) + 1)
		place := int(c.where[id])
		switch {
		case c.met[id] == now:
			to.again(id)
			continue
		case place == absent:
			to.enter(id)
		case place >= at:
			for _, over := range c.order[at:place] {
				c.left[over] = now
				skipped = append(skipped, over)
			}
			at = place + 1
			if place == len(next) {
				next = append(next, id)
				c.met[id] = now
				continue
			}
		case c.left[id] == now:
			c.left[id] = 0
		default: // stood in its place and was met there
			to.again(id)
			continue
		}
		c.met[id] = now
		if moved < 0 {
			moved = len(next)
		}
		next = append(next, id)
	}
	for _, id := range skipped {
		if c.left[id] == now {
			c.where[id] = absent
			to.leave(id)
		}
	}
	for _, id := range c.order[at:] {
		c.where[id] = absent
		to.leave(id)
	}
	c.next, c.order, c.skipped = c.order, next, skipped
	if moved >= 0 {
		for i := moved; i < len(next); i++ {
			c.where[next[i]] = int32(i)
		}
	}
}
