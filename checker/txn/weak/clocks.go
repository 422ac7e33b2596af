package weak

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
)

// clocks are vector clocks that come and go: of each of k chains, how far it is
// known. They are made of pages that several of them share as long as they agree on
// all chains there, as clocks do on those that have ended. A clock that nobody needs
// any more makes room for another one.
type clocks struct {
	width  int       // pages of a clock
	tables [][]int32 // by clock: its pages; page 0 is all zeros, and stays
	free   []int32   // clocks
	pages  []*page
	uses   []int32 // by page
	spare  []int32 // pages
	steps  int64   // pages looked at, ever
}

const pageSize = 32

type page [pageSize]int32

func newClocks(k int32) *clocks {
	return &clocks{width: int(k+pageSize-1) / pageSize, pages: []*page{{}}, uses: []int32{1}}
}

// get is how far a clock knows a chain.
func (c *clocks) get(id, chain int32) int32 {
	return c.pages[c.tables[id][chain/pageSize]][chain%pageSize]
}

// set has a clock know a chain that far.
func (c *clocks) set(id, chain, place int32) {
	at := &c.tables[id][chain/pageSize]
	c.own(at)
	c.pages[*at][chain%pageSize] = place
}

// own gives a clock a page of its own.
func (c *clocks) own(at *int32) {
	if old := *at; old == 0 || c.uses[old] > 1 {
		*at = c.fresh()
		*c.pages[*at] = *c.pages[old]
		c.drop(old)
	}
}

func (c *clocks) fresh() int32 {
	if n := len(c.spare); n > 0 {
		p := c.spare[n-1]
		c.spare = c.spare[:n-1]
		c.uses[p] = 1
		return p
	}
	const together = 64
	all := make([]page, together)
	for i := range all {
		c.pages = append(c.pages, &all[i])
		c.uses = append(c.uses, 0)
		c.spare = append(c.spare, int32(len(c.pages))-1)
	}
	return c.fresh()
}

func (c *clocks) drop(p int32) {
	if p == 0 {
		return
	}
	if c.uses[p]--; c.uses[p] == 0 {
		c.spare = append(c.spare, p)
	}
}

// take returns a clock that knows nothing.
func (c *clocks) take() int32 {
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		return id
	}
	c.tables = append(c.tables, make([]int32, c.width))
	return int32(len(c.tables)) - 1
}

// give gives a clock back.
func (c *clocks) give(id int32) {
	for i, p := range c.tables[id] {
		c.drop(p)
		c.tables[id][i] = 0
	}
	c.free = append(c.free, id)
}

// join has a clock know what another one knows.
func (c *clocks) join(id, other int32) {
	into, from := c.tables[id], c.tables[other]
	c.steps += int64(len(into))
	for i, theirs := range from {
		mine := into[i]
		if theirs == mine || theirs == 0 {
			continue
		}
		c.steps++
		if mine != 0 {
			a, b := c.pages[mine], c.pages[theirs]
			more, less := false, false
			for j := range a {
				more = more || a[j] > b[j]
				less = less || a[j] < b[j]
			}
			if !less {
				continue
			}
			if more {
				c.own(&into[i])
				a = c.pages[into[i]]
				for j := range a {
					a[j] = max(a[j], b[j])
				}
				continue
			}
		}
		c.drop(mine)
		c.uses[theirs]++
		into[i] = theirs
	}
}

func (c *clocks) bytes() int64 {
	return int64(len(c.pages))*(pageSize*4+16) + int64(len(c.tables))*int64(c.width*4+24)
}

// mostSteps bounds the work on clocks: half a minute or so.
const mostSteps = 1 << 32

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
	c := newClocks(k)
	at := make([]int32, n) // by transaction: its clock
	s := newSight(x)
	for i, t := range order {
		if i%checkEvery == 0 {
			if ctx.Err() != nil {
				return ""
			}
		}
		if memory > 0 && c.bytes() > memory {
			return fmt.Sprintf("memory limit of %d bytes reached by the clocks of %d sessions", memory, k)
		}
		if c.steps > mostSteps {
			return fmt.Sprintf("work limit of %d steps reached by the clocks of %d sessions", int64(mostSteps), k)
		}
		s.look(t)
		id := int32(-1)
		if p := x.prev[t]; p >= 0 {
			if needs[p]--; needs[p] == 0 {
				id = at[p]
			} else {
				id = c.take()
				c.join(id, at[p])
			}
		} else {
			id = c.take()
		}
		for _, p := range s.sources {
			c.join(id, at[p])
		}
		for _, key := range s.keys {
			w1 := s.from[key]
			groups := w.groups[w.keyOff[key] : w.keyOff[key+1]+1]
			for g, grp := range groups[:len(groups)-1] {
				upto, known := c.get(id, grp.chain), int32(0)
				if w1 >= 0 {
					known = c.get(at[w1], grp.chain)
				}
				if upto <= known {
					continue
				}
				own := w.txns[grp.start:groups[g+1].start]
				last := len(own) - 1
				if place[own[last]] > upto {
					last = sort.Search(len(own), func(i int) bool { return place[own[i]] > upto }) - 1
				}
				if last >= 0 && place[own[last]] > known {
					x.add(own[last], w1, t, key)
				}
			}
		}
		if chain[t] >= 0 {
			c.set(id, chain[t], place[t])
		}
		for _, rd := range h.readsOf(t) {
			if rd.from < 0 {
				continue
			}
			if needs[rd.from]--; needs[rd.from] == 0 {
				c.give(at[rd.from])
			}
		}
		at[t] = id
		if needs[t] == 0 {
			c.give(id)
		}
	}
	return ""
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
