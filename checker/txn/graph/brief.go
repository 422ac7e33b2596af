package graph

import "slices"

// readable is how many steps a witness may have before a shorter one is looked
// for among weaker classes.
const readable = 8

// brief adds a witness that people can read where one is long: a stale read may
// show by data alone only in a cycle through a thousand transactions, and be a
// cycle of two steps in real time. Where all orders together give a cycle of the
// same kind of half the length, it is recorded too, under its own class.
func (h *hunt) brief() {
	for _, long := range slices.Clone(h.cycles) {
		if len(long.steps) <= readable || long.level() == h.top || h.ctx.Err() != nil {
			continue
		}
		edges, way := h.widest(long.base())
		best, _ := h.trail.shortest(&h.part, &way, edges, h.budget/8, h.ctx)
		if best == nil || 2*len(best) > len(long.steps) {
			continue
		}
		w, ok := h.verified(best)
		if !ok || slices.ContainsFunc(h.cycles, func(other witness) bool { return other.class == w.class }) {
			continue
		}
		h.cycles = append(h.cycles, w)
	}
}

// widest returns the route for cycles of that base in all orders that take part,
// and the edges of which one must be in them.
func (h *hunt) widest(b base) ([]Step, route) {
	w := walk{d: relWW, rt: h.top == realtime}
	if h.process {
		w.d |= Process
	}
	must := relWW
	if b > g0 {
		w.d |= relWR
		must = relWR
	}
	switch b {
	case gSingleItem, gNonadjacentItem, g2Item:
		must, w.r = RW, RW
	case gSingle, gNonadjacent, g2:
		must, w.r = RWP, RW|RWP
	}
	switch b {
	case gNonadjacent, gNonadjacentItem:
		w.apart = true
	case g2, g2Item:
		w.d |= w.r
	}
	var forward bool
	h.number, forward = h.tarjan.components(&h.view, w, h.number, nil)
	return h.closable(must, h.number, w), route{walk: w, zone: h.number, forward: forward}
}
