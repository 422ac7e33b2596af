package graph

import (
	"cmp"
	"context"
	"slices"
)

// perClass is how many witnesses of a class a report holds.
const perClass = 8

// Search finds the cycles of the graph and names them. It takes linear time plus
// what Options.Work allows, and the memory that the package comment states.
func (g *Graph) Search(ctx context.Context, o Options) Report {
	if ctx.Err() != nil {
		return Report{Unfinished: ended(ctx)}
	}
	want := wanted(o.Want)
	all := walk{d: relData}
	top := plain
	if want.ofLevel(process) {
		all.d |= Process
		top = process
	}
	if g.call != nil && want.ofLevel(realtime) {
		all.rt = true
		top = realtime
	}
	var t tarjan
	s := g.components(all, &t)
	r := Report{Counts: make(map[string]int), Components: len(s.ends), Edges: g.dataEdges()}
	h := hunt{ctx: ctx, whole: g, want: want, process: all.d&Process != 0, top: top, tarjan: &t, work: o.Work}
	var kept [allClasses][]witness
	for i := range s.ends {
		if ctx.Err() != nil {
			r.Unfinished = ended(ctx)
			break
		}
		h.part.load(g, &s, i, all)
		r.Largest = max(r.Largest, h.n)
		h.component()
		for _, w := range h.cycles {
			r.Counts[w.class.String()]++
			kept[w.class] = shorter(kept[w.class], w)
		}
		if r.Unfinished == "" {
			r.Unfinished = h.open()
		}
	}
	for c, list := range kept {
		for _, w := range list {
			r.Cycles = append(r.Cycles, Cycle{Class: class(c).String(), Steps: w.steps})
		}
	}
	return r
}

func ended(ctx context.Context) string {
	return "the search was ended early: " + context.Cause(ctx).Error()
}

// shorter adds a witness to a list that keeps the shortest ones, in order.
func shorter(list []witness, w witness) []witness {
	at, _ := slices.BinarySearchFunc(list, w, func(a, b witness) int {
		return cmp.Or(cmp.Compare(len(a.steps), len(b.steps)), -1) // after its equals
	})
	if at == perClass {
		return list
	}
	list = slices.Insert(list, at, w)
	return list[:min(len(list), perClass)]
}

// dataEdges counts pairs of transactions with a data dependency.
func (g *Graph) dataEdges() int {
	count := 0
	for _, rel := range g.rel {
		if rel&relData != 0 {
			count++
		}
	}
	return count
}
