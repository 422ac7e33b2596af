package graph

import "slices"

// part is one component as a graph of its own: transactions numbered from 0 in
// the order of their numbers in the whole, edges inside only.
type part struct {
	view
	nodes []uint32 // numbers in the whole
	has   Rel      // relations that occur
	call  []int32
	ret   []int32
}

// split is the whole graph cut into components.
type split struct {
	members []uint32 // of all components of two transactions and more
	ends    []int    // where each ends in members
	number  []uint32 // of each transaction, its component's
	local   []uint32 // of each transaction in one of those, its number there
}

// components cuts the graph by those edges that the walk takes.
func (g *Graph) components(w walk, t *tarjan) split {
	var s split
	v := g.view
	if w.rt {
		v.clock.set(g.call, g.ret)
	}
	s.number, _ = t.components(&v, w, nil, func(nodes []uint32) {
		start := len(s.members)
		for _, n := range nodes {
			if int(n) < g.n { // not a barrier
				s.members = append(s.members, n)
			}
		}
		slices.Sort(s.members[start:])
		s.ends = append(s.ends, len(s.members))
	})
	s.number = s.number[:g.n]
	if len(s.ends) > 0 {
		s.local = make([]uint32, g.n)
	}
	s.inOrder()
	return s
}

// inOrder sorts the components by their first transaction, and numbers the
// transactions inside each.
func (s *split) inOrder() {
	runs := make([][]uint32, len(s.ends))
	start := 0
	for i, end := range s.ends {
		runs[i] = s.members[start:end]
		start = end
	}
	slices.SortFunc(runs, func(a, b []uint32) int { return int(a[0]) - int(b[0]) })
	sorted := make([]uint32, 0, len(s.members))
	for i, run := range runs {
		for j, n := range run {
			s.local[n] = uint32(j)
		}
		sorted = append(sorted, run...)
		s.ends[i] = len(sorted)
	}
	s.members = sorted
}

// of returns the members of the i-th component.
func (s *split) of(i int) []uint32 {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.members[start:s.ends[i]]
}

// load makes p the i-th component of the graph, reusing its memory.
func (p *part) load(g *Graph, s *split, i int, w walk) {
	p.nodes = s.of(i)
	p.n = len(p.nodes)
	p.has = 0
	edges := 0
	for _, n := range p.nodes {
		edges += int(g.off[n+1] - g.off[n])
	}
	p.off = append(slices.Grow(p.off[:0], p.n+1), 0)
	p.to, p.rel = slices.Grow(p.to[:0], edges), slices.Grow(p.rel[:0], edges)
	for _, n := range p.nodes {
		for e := g.off[n]; e < g.off[n+1]; e++ {
			to, rel := g.to[e], g.rel[e]&w.d
			if rel == 0 || s.number[to] != s.number[n] {
				continue
			}
			p.to = append(p.to, s.local[to])
			p.rel = append(p.rel, rel)
			p.has |= rel
		}
		p.off = append(p.off, uint32(len(p.to)))
	}
	p.order = p.order[:0]
	if !w.rt {
		return
	}
	p.has |= Realtime
	p.call, p.ret = slices.Grow(p.call[:0], p.n), slices.Grow(p.ret[:0], p.n)
	for _, n := range p.nodes {
		p.call, p.ret = append(p.call, g.call[n]), append(p.ret, g.ret[n])
	}
	p.clock.set(p.call, p.ret)
	p.clock.index()
}
