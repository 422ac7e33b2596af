package graph

import (
	"context"
	"fmt"
	"slices"
)

// least is the work that even the smallest component may cause for one class.
const least = 100_000

// hunt classifies one component after another.
type hunt struct {
	ctx     context.Context
	whole   *Graph
	want    set
	process bool  // process edges take part
	top     level // the last one that takes part: it makes the component
	work    int64

	part
	tarjan            *tarjan
	trail             trail
	reach             reach
	number, dependent []uint32 // components of walks, by state
	edges             []Step

	found     set // what the component shows, with all that it implies
	undecided set
	cycles    []witness
	budget    int64
}

// witness is a cycle that was verified.
type witness struct {
	class
	steps []Step
}

// component classifies the part that is loaded: level by level, the most severe
// class first, leaving out what is implied already.
//
// That some cycle of a class exists is decided by components of a walk, as no
// class that implies this one is there: then every cycle that the walk allows is
// of this class. G0 is a component of ww, G1c one of ww and wr that has a wr
// inside, G2 one of all edges that has a rw inside. Where every transaction has
// two states, and rw leads from the first to the second and nothing else leads
// there, a component that has both ends of an rw is a walk without two rw in a
// row: G-single or G-nonadjacent. Were one transaction passed twice there, one
// half of the walk could be cut off and the other would still have no two rw in a
// row, at the place of the cut neither.
func (h *hunt) component() {
	h.found, h.undecided, h.cycles = 0, 0, h.cycles[:0]
	h.trail.reset(&h.part)
	h.budget = h.work
	if h.budget <= 0 {
		h.budget = 50*int64(len(h.to)+2*len(h.order)) + least
	}
	for l := plain; l < levels; l++ {
		if (h.want &^ h.found).ofLevel(l) {
			h.level(l)
		}
	}
	h.undecided &^= h.found
	h.brief()
}

func (h *hunt) level(l level) {
	var order Rel
	switch {
	case l == process && h.has&Process == 0, l == realtime && h.has&Realtime == 0:
		return // nothing that was not there one level before
	case l >= process && h.process:
		order = Process
	}
	rt := l == realtime
	need := func(b base) bool { return (h.want &^ h.found).has(classOf(l, b)) }

	if l < h.top {
		all := walk{d: relData | order, rt: rt}
		h.number, _ = h.tarjan.components(&h.view, all, h.number, nil)
		if !h.anyInside(relData, h.number) {
			return
		}
	}
	if need(g0) {
		w := walk{d: relWW | order, rt: rt}
		h.number, _ = h.tarjan.components(&h.view, w, h.number, nil)
		h.any(classOf(l, g0), h.inside(relWW, h.number, w), route{walk: w, zone: h.number})
	}
	depend := walk{d: relWW | relWR | order, rt: rt}
	var forward bool
	h.dependent, forward = h.tarjan.components(&h.view, depend, h.dependent, nil)
	if need(g1c) {
		h.any(classOf(l, g1c), h.inside(relWR, h.dependent, depend), route{walk: depend, zone: h.dependent})
	}
	for _, kind := range []struct {
		single, nonadjacent, adjacent base
		rw, must                      Rel
	}{
		{gSingleItem, gNonadjacentItem, g2Item, RW, RW},
		{gSingle, gNonadjacent, g2, RW | RWP, RWP},
	} {
		if h.has&kind.must == 0 {
			continue
		}
		if need(kind.single) {
			h.within(classOf(l, kind.single), kind.must, route{walk: depend, zone: h.dependent, forward: forward})
		}
		if need(kind.single) || need(kind.nonadjacent) {
			apart := walk{d: depend.d, r: kind.rw, apart: true, rt: rt}
			h.number, _ = h.tarjan.components(&h.view, apart, h.number, nil)
			edges := h.inside(kind.must, h.number, apart)
			if need(kind.single) {
				h.single(classOf(l, kind.single), edges, route{walk: depend, zone: h.dependent, forward: forward})
			}
			if need(kind.nonadjacent) {
				h.nonadjacent(classOf(l, kind.nonadjacent), edges, route{walk: apart, zone: h.number}, forward)
			}
		}
		if need(kind.adjacent) {
			w := walk{d: depend.d | kind.rw, rt: rt}
			h.number, _ = h.tarjan.components(&h.view, w, h.number, nil)
			h.any(classOf(l, kind.adjacent), h.inside(kind.must, h.number, w), route{walk: w, zone: h.number})
		}
	}
}

// inside returns the edges of those relations whose ends are in one component of
// the walk: where states are apart, from the first state to the second.
func (h *hunt) inside(rel Rel, number []uint32, w walk) []Step {
	h.edges = h.edges[:0]
	shift := w.shift()
	for v := range uint32(h.n) {
		for e := h.off[v]; e < h.off[v+1]; e++ {
			if is := h.rel[e] & rel; is != 0 && number[v<<shift] == number[h.to[e]<<shift|shift] {
				h.edges = append(h.edges, Step{From: v, To: h.to[e], Rel: is.first()})
			}
		}
	}
	return h.edges
}

// closable returns the edges of those relations that the walk might close to a
// cycle, as its components do not deny that.
func (h *hunt) closable(rel Rel, number []uint32, w walk) []Step {
	h.edges = h.edges[:0]
	shift := w.shift()
	for v := range uint32(h.n) {
		for e := h.off[v]; e < h.off[v+1]; e++ {
			if is := h.rel[e] & rel; is != 0 && number[v<<shift] >= number[h.to[e]<<shift|shift] {
				h.edges = append(h.edges, Step{From: v, To: h.to[e], Rel: is.first()})
			}
		}
	}
	return h.edges
}

// anyInside tells whether inside would return something, each transaction having
// one state.
func (h *hunt) anyInside(rel Rel, number []uint32) bool {
	for v := range uint32(h.n) {
		for e := h.off[v]; e < h.off[v+1]; e++ {
			if h.rel[e]&rel != 0 && number[v] == number[h.to[e]] {
				return true
			}
		}
	}
	return false
}

// any records a short cycle of the class through one of the edges, of which the
// first is in one. Only an eighth of the budget goes into shortening it.
func (h *hunt) any(c class, edges []Step, way route) {
	if len(edges) == 0 {
		return
	}
	best, decided := h.trail.shortest(&h.part, &way, edges, h.budget/8, h.ctx)
	for i := 0; best == nil && !decided && i < min(len(edges), 8) && h.ctx.Err() == nil; i++ {
		cycle, _ := h.trail.close(&h.part, &way, edges[i], anyLength)
		best = simple(cycle)
	}
	if best != nil {
		h.record(best)
	} else {
		h.undecided |= 1 << c
	}
}

// nonadjacent records a cycle without two rw in a row through one of the edges,
// each of which is in a closed walk of that kind. Where the other edges have no
// cycles the shortest such walk is a simple cycle, see component.
func (h *hunt) nonadjacent(c class, edges []Step, way route, forward bool) {
	if !forward && len(edges) > 0 {
		cycle, decided := h.trail.thread(&h.part, &way, edges, h.budget/8, h.ctx)
		if cycle != nil {
			h.record(cycle)
		}
		if decided {
			return
		}
	}
	h.any(c, edges, way)
}

// within records a cycle with exactly one of those edges if one has both ends in
// a component of the others, which spares the passes that would decide it.
func (h *hunt) within(c class, rel Rel, way route) {
	if way.forward {
		return // there is none
	}
	edges := h.closable(rel, way.zone, way.walk)
	at := slices.IndexFunc(edges, func(e Step) bool { return way.zone[e.From] == way.zone[e.To] })
	if at >= 0 {
		edges[0], edges[at] = edges[at], edges[0]
		h.any(c, edges, way)
	}
}

// single looks for a cycle with exactly one of the edges, each of which is in a
// closed walk without two rw in a row: first by search, then by reachability of
// all at once.
func (h *hunt) single(c class, edges []Step, way route) {
	kept := edges[:0:0]
	for _, e := range edges {
		if way.zone[e.To] <= way.zone[e.From] {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return
	}
	best, decided := h.trail.shortest(&h.part, &way, kept, h.budget/8, h.ctx)
	if best == nil && !decided && h.ctx.Err() == nil {
		var hit Step
		var ok bool
		if hit, ok, decided = h.reach.any(&h.view, &way, kept, h.budget, h.ctx); ok {
			best, _ = h.trail.close(&h.part, &way, hit, anyLength)
		}
	}
	if best != nil {
		h.record(best)
	} else if !decided {
		h.undecided |= 1 << c
	}
}

// record keeps a cycle under the class that its steps give it, if it holds.
func (h *hunt) record(steps []Step) {
	if w, ok := h.verified(steps); ok {
		h.found |= w.implies()
		h.cycles = append(h.cycles, w)
	}
}

// verified returns a cycle with the numbers of the whole graph, and whether it is
// one there.
func (h *hunt) verified(steps []Step) (w witness, ok bool) {
	w.steps = make([]Step, len(steps))
	for i, s := range steps {
		w.steps[i] = Step{From: h.nodes[s.From], To: h.nodes[s.To], Rel: s.Rel}
	}
	w.class, ok = h.whole.verify(w.steps)
	return w, ok
}

// open says what was left undecided, or nothing.
func (h *hunt) open() string {
	for c := class(0); c < allClasses; c++ {
		if h.undecided.has(c) {
			return fmt.Sprintf("%s is open in a component of %d transactions and %d edges: %d edges visited",
				c, h.n, len(h.to), h.budget)
		}
	}
	return ""
}
