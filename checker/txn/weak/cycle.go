package weak

import (
	"cmp"
	"context"
	"slices"
)

// cyclic makes a violation of a cycle: order holds the transactions that lead to none.
func (x *inference) cyclic(order []int32) Answer {
	left := make([]bool, x.h.Len())
	for t := range left {
		left[t] = true
	}
	for _, t := range order {
		left[t] = false
	}
	parts := x.components(left)
	slices.SortStableFunc(parts, func(a, b []int32) int { return cmp.Compare(len(a), len(b)) })
	var best []int32
	for _, part := range parts[:min(len(parts), maxShown)] {
		if c := x.shortest(part); best == nil || len(c) < len(best) {
			best = c
		}
	}
	v := &Violation{Ask: x.a, Name: x.a.Name()}
	data := true // reads and sessions alone make the cycle
	for i, to := range best {
		e := x.edge(best[(i+len(best)-1)%len(best)], to)
		data = data && e.Why != Before
		v.Cycle = append(v.Cycle, e)
	}
	if data {
		v.Ask.Level, v.Name = ReadCommitted, "G1c"
		v.Ask.Sessions = slices.ContainsFunc(v.Cycle, func(e Edge) bool { return e.Why == Session })
		if v.Ask.Sessions {
			v.Name = "G1c-process"
		}
	}
	x.h.settle(v)
	return Answer{Broken: v, Count: len(parts)}
}

// components returns the strongly connected components of two transactions or more
// among those that are left (Tarjan 1972, without recursion).
func (x *inference) components(left []bool) [][]int32 {
	type frame struct {
		t  int32
		at int
	}
	var (
		index   = make([]int32, len(left)) // 0: not met
		low     = make([]int32, len(left))
		on      = make([]bool, len(left))
		edges   = make([][]int32, len(left))
		stack   []int32
		frames  []frame
		counter int32
		parts   [][]int32
	)
	open := func(t int32) {
		counter++
		index[t], low[t], on[t] = counter, counter, true
		stack = append(stack, t)
		x.before(t, true, func(p int32) {
			if left[p] {
				edges[t] = append(edges[t], p)
			}
		})
		frames = append(frames, frame{t: t})
	}
	for t := range int32(len(left)) {
		if !left[t] || index[t] != 0 {
			continue
		}
		open(t)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.at < len(edges[f.t]) {
				p := edges[f.t][f.at]
				f.at++
				if index[p] == 0 {
					open(p)
				} else if on[p] {
					low[f.t] = min(low[f.t], index[p])
				}
				continue
			}
			done := f.t
			edges[done] = nil
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].t
				low[up] = min(low[up], low[done])
			}
			if low[done] != index[done] {
				continue
			}
			cut := len(stack) - 1
			for stack[cut] != done {
				cut--
			}
			for _, t := range stack[cut:] {
				on[t] = false
			}
			if len(stack)-cut > 1 {
				part := slices.Clone(stack[cut:])
				slices.Sort(part)
				parts = append(parts, part)
			}
			stack = stack[:cut]
		}
	}
	return parts
}

// shortest returns a short cycle within a component, each transaction before the one
// that follows it: the shortest one where the component is not large.
func (x *inference) shortest(part []int32) []int32 {
	const enough = 4 << 20 // edges
	in := make(map[int32]bool, len(part))
	for _, t := range part {
		in[t] = true
	}
	var best []int32
	work := 0
	after := make(map[int32]int32, len(part)) // the way on to start
	var queue []int32
	for _, start := range part {
		if best != nil && (work > enough || len(best) == 2) {
			break
		}
		clear(after)
		queue = append(queue[:0], start)
		for head := 0; head < len(queue) && after[start] == 0; head++ {
			t := queue[head]
			x.before(t, true, func(p int32) {
				work++
				if !in[p] || after[p] != 0 {
					return
				}
				after[p] = t + 1
				if p != start {
					queue = append(queue, p)
				}
			})
		}
		cycle := []int32{start}
		for t := after[start] - 1; t != start; t = after[t] - 1 {
			cycle = append(cycle, t)
		}
		if best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	return best
}

// edge finds out again why one transaction comes before another.
func (x *inference) edge(from, to int32) Edge {
	if e, ok := x.seen(from, to); ok {
		return e
	}
	// Somebody read what to wrote and had to see from.
	var best Edge
	tried := 0
	for r := range int32(x.h.Len()) {
		for _, rd := range x.h.readsOf(r) {
			if rd.from != to || r == from || tried == maxShown || !x.h.wrote(from, rd.key) {
				continue
			}
			path := x.path(from, to, r, rd.key)
			if path == nil {
				continue
			}
			tried++
			if best.Path == nil || len(path) < len(best.Path) {
				best = Edge{From: from, To: to, Why: Before, Key: rd.key, Reader: r, Path: path}
			}
		}
	}
	return best
}

// seen is the edge of a session or a read between two transactions.
func (x *inference) seen(from, to int32) (Edge, bool) {
	if x.prev[to] == from {
		return Edge{From: from, To: to, Why: Session}, true
	}
	for _, rd := range x.h.readsOf(to) {
		if rd.from == from {
			return Edge{From: from, To: to, Why: WroteRead, Key: rd.key}, true
		}
	}
	return Edge{}, false
}

// path shows that reader had to see w when it read a key from w1: the shortest chain of
// sessions and reads from w to it that counts at this level, nil when there is none.
func (x *inference) path(w, w1, reader, key int32) []Edge {
	h := x.h
	switch x.a.Level {
	case ReadCommitted:
		reads := h.readsOf(reader)
		for i := len(reads) - 1; i >= 0; i-- {
			if reads[i] != (read{key, w1}) {
				continue
			}
			for _, rd := range reads[:i] {
				if rd.from == w {
					return []Edge{{From: w, To: reader, Why: WroteRead, Key: rd.key}}
				}
			}
			return nil
		}
		return nil
	case ReadAtomic:
		if e, ok := x.seen(w, reader); ok {
			return []Edge{e}
		}
		if x.a.Sessions && h.session[w] >= 0 && h.session[w] == h.session[reader] && w < reader {
			return []Edge{{From: w, To: reader, Why: Session}}
		}
		return nil
	}
	after := map[int32]int32{reader: reader}
	queue := []int32{reader}
	for head := 0; head < len(queue); head++ {
		t := queue[head]
		if t == w {
			break
		}
		x.before(t, false, func(p int32) {
			if _, met := after[p]; !met {
				after[p] = t
				queue = append(queue, p)
			}
		})
	}
	if _, met := after[w]; !met {
		return nil
	}
	var path []Edge
	for t := w; t != reader; t = after[t] {
		e, _ := x.seen(t, after[t])
		// A session is passed in one step.
		if n := len(path); e.Why == Session && n > 0 && path[n-1].Why == Session {
			path[n-1].To = e.To
			continue
		}
		path = append(path, e)
	}
	return path
}

// staleRead makes a violation of a read of the initial state.
func (x *inference) staleRead() Answer {
	var best *Violation
	for _, s := range x.stale {
		path := x.path(s.writer, Initial, s.reader, s.key)
		if path == nil {
			continue // not so
		}
		v := &Violation{Ask: x.a, Name: x.a.Name(), Cycle: append(path, Edge{
			From: s.reader, To: s.writer, Why: Overwrote, Key: s.key, Source: Initial,
		})}
		if best == nil || len(v.Cycle) < len(best.Cycle) {
			best = v
		}
	}
	x.h.settle(best)
	return Answer{Broken: best, Count: x.staleCount}
}

// settle finds the core of a violation, and whether that breaks a weaker level as well:
// then the violation is of that one.
func (h *History) settle(v *Violation) {
	v.Core = involved(v.Cycle)
	sub := h.only(v.Core)
	if v.Name == v.Ask.Name() {
		for _, a := range weaker(v.Ask) {
			if a == v.Ask || !sub.broken(context.Background(), a, smallWork) {
				continue
			}
			weak := sub.Infer(context.Background(), a, 0).Broken
			sub.whole(weak.Cycle, v.Core)
			v.Ask, v.Name, v.Cycle = weak.Ask, weak.Name, weak.Cycle
			v.Core = involved(v.Cycle)
			sub = h.only(v.Core)
			break
		}
	}
	v.Checked = sub.contradicts(v.Ask)
}

// involved are the transactions of edges and of the paths that show them, in order.
func involved(edges []Edge) []int32 {
	var txns []int32
	for _, e := range edges {
		txns = append(txns, e.From, e.To)
		if e.Why == Before && e.Reader >= 0 {
			txns = append(txns, e.Reader)
		}
		if e.Why == Overwrote && e.Source >= 0 {
			txns = append(txns, e.Source)
		}
		txns = append(txns, involved(e.Path)...) // paths have none themselves
	}
	slices.Sort(txns)
	return slices.Compact(txns)
}

// weaker lists what a is asked for, from the weakest level without any order on; the
// last one is a itself.
func weaker(a Ask) []Ask {
	var all []Ask
	for _, o := range []Ask{{}, {Sessions: true}, {Sessions: true, Realtime: true}} {
		if o.Sessions && !a.Sessions && !a.Realtime || o.Realtime && !a.Realtime {
			continue
		}
		for l := ReadCommitted; l <= a.Level; l++ {
			if l < Prefix && o.Realtime || l == Prefix && a.Level > Prefix {
				continue // what breaks a prefix has a better name
			}
			all = append(all, Ask{l, o.Sessions, o.Realtime})
		}
	}
	if !slices.Contains(all, a) {
		all = append(all, a)
	}
	return all
}

// broken reports whether a small history is found to break a level.
func (h *History) broken(ctx context.Context, a Ask, work int64) bool {
	if a.Level <= Causal {
		x := newInference(h, a)
		order, acyclic := x.order(false)
		if !acyclic {
			return true
		}
		switch a.Level {
		case ReadCommitted:
			x.committed(ctx)
		case ReadAtomic:
			x.atomic(ctx)
		default:
			x.causal(ctx, order, 0)
		}
		_, acyclic = x.order(true)
		return x.staleCount > 0 || !acyclic
	}
	return newSearch(h, a, work).run(ctx).Broken != nil
}

// smallWork is enough to decide a history of few transactions.
const smallWork = 1 << 20
