package weak

import (
	"context"
	"slices"
	"strings"
)

// explain makes the core of a violation small, finds the weakest level that it breaks,
// and why. It is false when the core alone is not found to break anything.
func (h *History) explain(ctx context.Context, v *Violation, work int64) bool {
	if !h.only(v.Core).broken(ctx, v.Ask, work) {
		return false
	}
	core := h.shrink(ctx, v.Core, v.Ask)
	sub := h.only(core)
	for _, a := range weaker(v.Ask) {
		if a == v.Ask || !sub.broken(ctx, a, smallWork) {
			continue
		}
		v.Ask = a
		core = h.shrink(ctx, core, a)
		sub = h.only(core)
		break
	}
	v.Name, v.Core = v.Ask.Name(), core
	if v.Ask.Level <= Causal {
		weak := sub.Infer(ctx, v.Ask, 0).Broken
		if weak == nil {
			return false
		}
		v.Ask, v.Name, v.Cycle, v.Checked = weak.Ask, weak.Name, weak.Cycle, weak.Checked
		sub.whole(v.Cycle, core)
		return true
	}
	if len(core) <= largest {
		if s := sub.saturate(v.Ask); s.contradict {
			v.Cycle, v.Derived = s.proof()
			sub.whole(v.Cycle, core)
			sub.whole(v.Derived, core)
			v.Checked = true
			if cause := v.causes(); cause != "" {
				v.Name = cause
			} else if v.Ask.Level == SnapshotIsolation && v.single() {
				v.Name = strings.Replace(v.Name, "nonadjacent", "single", 1)
			}
			return true
		}
	}
	v.Exhausted = true
	v.Checked = sub.contradicts(v.Ask)
	// Sets that can be tried in full must have been.
	return v.Checked || len(core) > largestTried
}

// causes is the name of a cycle of reads, sessions and time alone, "" for another one.
func (v *Violation) causes() string {
	name := "G1c"
	for _, e := range v.Cycle {
		switch {
		case e.Why == Before || e.Why == Overwrote:
			return ""
		case e.Why == Realtime:
			name = "G1c-realtime"
		case e.Why == Session && name == "G1c":
			name = "G1c-process"
		}
	}
	return name
}

// single reports whether a cycle with a single rw edge, or without one, is all that
// could be instead of each edge that was derived, and at last of the cycle: then that
// is what there is, whichever order the versions had.
func (v *Violation) single() bool {
	overwrote := func(edges []Edge) (n int) {
		for _, e := range edges {
			if e.Why == Overwrote {
				n++
			}
		}
		return n
	}
	for _, e := range slices.Concat(v.Derived, v.Cycle) {
		most := 1
		if e.Why == Before && e.Reader >= 0 {
			most = 0 // the reader's own is one
		}
		if overwrote(e.Path) > most {
			return false
		}
	}
	return overwrote(v.Cycle) <= 1
}

// shrink leaves out of a core what it can do without, in ever smaller pieces. Sets
// that are very large stay about as they are.
func (h *History) shrink(ctx context.Context, core []int32, a Ask) []int32 {
	const most = 4 << 20 // transactions looked at in all
	spent := 0
	for size := (len(core) + 1) / 2; size > 0; size /= 2 {
		for again := true; again; {
			again = false
			for at := 0; at < len(core) && spent < most; {
				rest := slices.Concat(core[:at], core[min(at+size, len(core)):])
				spent += len(rest)
				if len(rest) > 0 && h.only(rest).broken(ctx, a, smallWork) {
					core, again = rest, size == 1
				} else {
					at += size
				}
			}
		}
	}
	return core
}

// proof returns the contradiction of a saturation: a cycle of edges, and those derived
// ones that it and the ways that show them take for granted, in order.
func (s *saturation) proof() (cycle, derived []Edge) {
	last := s.links[len(s.links)-1]
	nodes := append([]int32{last.from}, s.way(last.to, last.from)...)
	used := make(map[int]bool)
	cycle = s.edges(nodes, used)
	// Newer edges depend on older ones only.
	for i := len(s.links) - 1; i >= 0; i-- {
		if used[i] && s.links[i].path != nil {
			s.edges(s.links[i].path, used)
		}
	}
	inCycle := make(map[int]bool)
	s.edges(nodes, inCycle)
	for i, l := range s.links {
		if used[i] && !inCycle[i] && (l.edge.Why == Before || l.edge.Why == Overwrote) {
			derived = append(derived, s.shown(l))
		}
	}
	return cycle, derived
}

// edges returns the edges along nodes and notes which links they are.
func (s *saturation) edges(nodes []int32, used map[int]bool) []Edge {
	var edges []Edge
	for i := 1; i < len(nodes); i++ {
		at := slices.IndexFunc(s.links, func(l link) bool { return l.from == nodes[i-1] && l.to == nodes[i] })
		used[at] = true
		if l := s.links[at]; l.edge.From != l.edge.To {
			edges = append(edges, s.shown(l))
		}
	}
	return edges
}

// shown is the edge of a link with the way that shows it.
func (s *saturation) shown(l link) Edge {
	e := l.edge
	for i := 1; i < len(l.path); i++ {
		at := slices.IndexFunc(s.links, func(o link) bool { return o.from == l.path[i-1] && o.to == l.path[i] })
		if o := s.links[at]; o.edge.From != o.edge.To {
			e.Path = append(e.Path, o.edge)
		}
	}
	return e
}
