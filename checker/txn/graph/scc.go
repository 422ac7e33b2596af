package graph

import "slices"

// walk says which edges a traversal may take.
type walk struct {
	d     Rel  // edges that are always allowed
	r     Rel  // where apart: edges of which no two may follow one another
	apart bool // every transaction v has two states: 2v, and 2v+1 after an edge of r
	rt    bool // real-time order is allowed
}

func (w walk) shift() uint32 {
	if w.apart {
		return 1
	}
	return 0
}

// states is how many nodes the walk has: the states of transactions first, then,
// with real time, the barriers.
func (w walk) states(v *view) int {
	n := v.n << w.shift()
	if w.rt {
		n += len(v.order)
	}
	return n
}

// frame is a node that the traversal is in: the next edge to take, and the index
// that the node got when it was entered.
type frame struct{ node, at, index uint32 }

// tarjan finds strongly connected components. It is memory to be reused.
type tarjan struct {
	frames []frame
	stack  []uint32
}

// components numbers the strongly connected components that the walk sees, in
// topological order: no edge leads to a component with a smaller number. Each of
// two nodes and more is given to emit, when that is not nil; nodes are as
// walk.states counts them, and the slice is only lent. It returns number, reused
// or anew, and whether every component is a single node.
//
// This is Tarjan's algorithm with one word a node (Pearce, "A space-efficient
// algorithm for finding strongly connected components", 2016), without recursion.
// It begins with the latest transactions, so that the path of the traversal stays
// short where dependencies mostly follow time.
func (t *tarjan) components(v *view, w walk, number []uint32, emit func([]uint32)) (_ []uint32, acyclic bool) {
	states := w.states(v)
	number = slices.Grow(number[:0], states)[:states]
	clear(number)
	c := pass{tarjan: t, view: v, walk: w, number: number, index: 1, next: uint32(states), emit: emit}
	if w.rt {
		for _, root := range slices.Backward(v.order) {
			c.from(root << w.shift())
		}
	}
	for root := (v.n << w.shift()) - 1; root >= 0; root-- {
		c.from(uint32(root))
	}
	return number, c.next == 0
}

// pass is one run of components. A node's number is 0 before it is entered, then
// the smallest index known to be reachable, then the number of its component;
// those are given downwards from the end, so that they stay above all indices.
type pass struct {
	*tarjan
	*view
	walk
	number []uint32
	index  uint32
	next   uint32
	emit   func([]uint32)
}

func (c *pass) enter(node uint32) {
	c.number[node] = c.index
	c.frames = append(c.frames, frame{node: node, index: c.index})
	c.index++
}

func (c *pass) from(root uint32) {
	if c.number[root] != 0 {
		return
	}
	number := c.number
	c.enter(root)
	for len(c.frames) > 0 {
		f := &c.frames[len(c.frames)-1]
		low := number[f.node]
		to, more := c.step(f, &low)
		number[f.node] = low
		if more {
			c.enter(to)
			continue
		}
		node, index := f.node, f.index
		c.frames = c.frames[:len(c.frames)-1]
		if low == index {
			c.close(node)
		} else {
			c.stack = append(c.stack, node)
		}
		if len(c.frames) > 0 {
			above := c.frames[len(c.frames)-1].node
			number[above] = min(number[above], number[node])
		}
	}
}

// step advances to the next node that was not entered yet, and lowers low by
// those on the way that were.
func (c *pass) step(f *frame, low *uint32) (uint32, bool) {
	number, shift := c.number, c.shift()
	states := uint32(c.n) << shift
	if f.node >= states { // a barrier: its transaction, then the next barrier
		for i := f.node - states; f.at < 2; {
			var to uint32
			switch f.at {
			case 0:
				to = c.order[i] << shift
			case 1:
				if i+1 == uint32(len(c.order)) {
					f.at = 2
					return 0, false
				}
				to = f.node + 1
			}
			f.at++
			if number[to] == 0 {
				return to, true
			}
			*low = min(*low, number[to])
		}
		return 0, false
	}
	v := f.node >> shift
	start := c.off[v]
	degree := c.off[v+1] - start
	for ; f.at < degree; f.at++ {
		if c.rel[start+f.at]&c.d == 0 {
			continue
		}
		to := c.to[start+f.at] << shift
		if number[to] == 0 {
			f.at++
			return to, true
		}
		*low = min(*low, number[to])
	}
	if c.apart && f.node&1 == 0 {
		for ; f.at < 2*degree; f.at++ {
			e := start + f.at - degree
			if c.rel[e]&c.r == 0 {
				continue
			}
			to := c.to[e]<<1 | 1
			if number[to] == 0 {
				f.at++
				return to, true
			}
			*low = min(*low, number[to])
		}
	}
	if c.rt && f.at < 2*degree+1 {
		f.at = 2*degree + 1
		if rank := c.rank[v]; rank < uint32(len(c.order)) {
			to := states + rank
			if number[to] == 0 {
				return to, true
			}
			*low = min(*low, number[to])
		}
	}
	return 0, false
}

// close ends a component whose first node is root.
func (c *pass) close(root uint32) {
	first := len(c.stack)
	for first > 0 && c.number[c.stack[first-1]] >= c.number[root] {
		first--
	}
	c.stack = append(c.stack, root)
	members := c.stack[first:]
	for _, m := range members {
		c.number[m] = c.next
	}
	c.index -= uint32(len(members))
	c.next--
	if c.emit != nil && len(members) > 1 {
		c.emit(members)
	}
	c.stack = c.stack[:first]
}
