package graph

import "slices"

// view is a graph in compressed rows: node n's edges are to[off[n]:off[n+1]],
// sorted, and rel says why each is there.
type view struct {
	n   int
	off []uint32
	to  []uint32
	rel []Rel
	clock
}

// Graph is the dependency graph of a history. It does not change, and may be
// searched by several goroutines at once.
type Graph struct {
	view
	call, ret []int32
}

// Nodes returns how many transactions there are.
func (g *Graph) Nodes() int { return g.n }

// Rel returns the reasons why from comes before to, 0 when there is none.
// It takes O(log e).
func (g *Graph) Rel(from, to uint32) Rel {
	if from == to || int(from) >= g.n || int(to) >= g.n {
		return 0
	}
	rel := g.edge(from, to)
	if g.before(from, to) {
		rel |= Realtime
	}
	return rel
}

// edge returns the relations that are stored for a pair.
func (v *view) edge(from, to uint32) Rel {
	start := v.off[from]
	i, found := slices.BinarySearch(v.to[start:v.off[from+1]], to)
	if !found {
		return 0
	}
	return v.rel[start+uint32(i)]
}

// Options say what to search for, and how long.
type Options struct {
	// Want tells whether a class is of interest, by its name; nil means all. A
	// class that implies one of interest is searched for too, being evidence for
	// it. Orders that no class of interest needs take no part.
	Want func(class string) bool
	// Work bounds the edges visited in each component beyond the linear passes, so
	// that the same graph always gives the same report. 0 means 50 times the
	// edges of the component.
	Work int64
}

// Report is what a search found.
type Report struct {
	// Cycles holds the witnesses, the most severe class first and the shortest
	// first within a class: one for each component and strongest class, no more
	// than eight of a class. Where a witness has more than eight steps and an order
	// of processes or time gives one of half the length, that is there as well.
	Cycles []Cycle
	// Counts holds, by class, how many components gave a witness of it, be it in
	// Cycles or beyond the eight.
	Counts map[string]int
	// Components is the number of strongly connected components of two
	// transactions and more, in all orders that took part; Largest is the size of
	// the largest.
	Components, Largest int
	// Edges is the number of pairs of transactions with a data dependency.
	Edges int
	// Unfinished is empty when all was decided; else it says which limit left
	// which class open, and where.
	Unfinished string
}

// Cycle is a simple cycle of transactions: each step starts where the one before
// it ends, the first where the last one ends.
type Cycle struct {
	Class string
	Steps []Step
}

// Step is one edge of a cycle: From comes before To, for the one reason Rel.
type Step struct {
	From, To uint32
	Rel      Rel
}
