package weak

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// clocks are vector clocks that come and go: of each of k chains, how far it is
// known. A clock that nobody needs any more makes room for another one.
type clocks struct {
	k     int
	slabs [][]int32
	free  []int32
	used  int32
}

const perSlab = 256

func (c *clocks) of(id int32) []int32 {
	slab := c.slabs[id/perSlab]
	at := int(id%perSlab) * c.k
	return slab[at : at+c.k : at+c.k]
}

// take returns a clock with anything in it.
func (c *clocks) take() int32 {
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		return id
	}
	if int(c.used)%perSlab == 0 {
		c.slabs = append(c.slabs, make([]int32, perSlab*c.k))
	}
	c.used++
	return c.used - 1
}

func (c *clocks) bytes() int64 { return int64(len(c.slabs)) * perSlab * int64(c.k) * 4 }

// writers are who wrote each key, by chain, each chain's in order.
type writers struct {
	keyOff []int32 // into groups, by key
	groups []group
	txns   []int32
}

// group is the writers of a key in one chain: txns from its start to the next one's.
type group struct{ chain, start int32 }

// causal adds what Causal forces: whatever a transaction can know of, by sessions and
// reads, it has seen. So of each session the last writer of a key that it knows comes
// before the one that it read from.
func (x *inference) causal(ctx context.Context, order []int32, memory int64) (unfinished string) {
	h := x.h
	n := h.Len()
	needs := make([]int32, n) // who has yet to look at its clock: readers, and the next of the session
	for _, rd := range h.reads {
		if rd.from >= 0 {
			needs[rd.from]++
		}
	}
	// Transactions without a session are chains of their own, if anybody may miss
	// what they wrote.
	chain, place := make([]int32, n), make([]int32, n)
	k := int32(0)
	if x.a.Sessions {
		k = h.sessions
	}
	for t := range int32(n) {
		chain[t], place[t] = -1, 1
		if p := x.prev[t]; p >= 0 {
			chain[t], place[t] = chain[p], place[p]+1
		} else if x.a.Sessions && h.session[t] >= 0 {
			chain[t] = h.session[t]
		} else if needs[t] > 0 && len(h.writesOf(t)) > 0 {
			chain[t] = k
			k++
		}
	}
	for _, p := range x.prev {
		if p >= 0 {
			needs[p]++
		}
	}
	w := h.writersOf(chain)
	c := &clocks{k: int(k)}
	at := make([]int32, n) // by transaction: its clock
	s := newSight(x)
	for i, t := range order {
		if i%checkEvery == 0 {
			if ctx.Err() != nil {
				return ""
			}
			if memory > 0 && c.bytes() > memory {
				return memoryReached(memory)
			}
		}
		s.look(t)
		id := int32(-1)
		if p := x.prev[t]; p >= 0 {
			if needs[p]--; needs[p] == 0 {
				id = at[p]
			} else {
				id = c.take()
				copy(c.of(id), c.of(at[p]))
			}
		}
		for _, p := range s.sources {
			if id < 0 {
				id = c.take()
				copy(c.of(id), c.of(at[p]))
				continue
			}
			join(c.of(id), c.of(at[p]))
		}
		if id < 0 {
			id = c.take()
			clear(c.of(id))
		}
		knows := c.of(id)
		for _, key := range s.keys {
			w1 := s.from[key]
			var known []int32 // to w1
			if w1 >= 0 {
				known = c.of(at[w1])
			}
			groups := w.groups[w.keyOff[key] : w.keyOff[key+1]+1]
			for g, grp := range groups[:len(groups)-1] {
				upto := knows[grp.chain]
				if upto == 0 || known != nil && upto <= known[grp.chain] {
					continue
				}
				own := w.txns[grp.start:groups[g+1].start]
				last := len(own) - 1
				if place[own[last]] > upto {
					last = sort.Search(len(own), func(i int) bool { return place[own[i]] > upto }) - 1
				}
				if last < 0 || known != nil && place[own[last]] <= known[grp.chain] {
					continue
				}
				x.add(own[last], w1, t, key)
			}
		}
		if chain[t] >= 0 {
			knows[chain[t]] = place[t]
		}
		for _, rd := range h.readsOf(t) {
			if rd.from < 0 {
				continue
			}
			if needs[rd.from]--; needs[rd.from] == 0 {
				c.free = append(c.free, at[rd.from])
			}
		}
		at[t] = id
		if needs[t] == 0 {
			c.free = append(c.free, id)
		}
	}
	return ""
}

func join(into, other []int32) {
	other = other[:len(into)]
	for i, v := range other {
		if v > into[i] {
			into[i] = v
		}
	}
}

// writersOf groups the writers of each key by chain; those without one are left out.
// The groups of a key are followed by those of the next, so that the end of each is
// the start of another.
func (h *History) writersOf(chain []int32) writers {
	w := writers{keyOff: make([]int32, h.keys+1)}
	// By key, then, as that keeps its order, by chain.
	byChain := make([]int32, 0, h.Len())
	for t := range int32(h.Len()) {
		if chain[t] >= 0 && len(h.writesOf(t)) > 0 {
			byChain = append(byChain, t)
		}
	}
	slices.SortStableFunc(byChain, func(a, b int32) int { return cmp.Compare(chain[a], chain[b]) })
	off := make([]int32, h.keys+1)
	for _, t := range byChain {
		for _, key := range h.writesOf(t) {
			off[key+1]++
		}
	}
	for key := range h.keys {
		off[key+1] += off[key]
	}
	w.txns = make([]int32, off[h.keys])
	next := append([]int32(nil), off[:h.keys]...)
	for _, t := range byChain {
		for _, key := range h.writesOf(t) {
			w.txns[next[key]] = t
			next[key]++
		}
	}
	for key := range h.keys {
		w.keyOff[key] = int32(len(w.groups))
		last := int32(-1)
		for i := off[key]; i < off[key+1]; i++ {
			if c := chain[w.txns[i]]; c != last {
				w.groups = append(w.groups, group{c, i})
				last = c
			}
		}
	}
	w.keyOff[h.keys] = int32(len(w.groups))
	w.groups = append(w.groups, group{-1, int32(len(w.txns))})
	return w
}
