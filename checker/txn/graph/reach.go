package graph

import (
	"context"
	"slices"
)

// reach asks many questions of reachability at once, 64 for each pass over the
// transactions in question, in topological order. It is memory to be reused.
type reach struct {
	bits  []uint64 // by component
	nodes []uint32 // in topological order
	at    []uint32 // where the nodes of a component begin in nodes
}

// any returns an edge whose start can be reached from its end on the route, whose
// zones are components in topological order. It is decided when one was found or
// none exists, and not when the work was not enough or ctx ended.
func (r *reach) any(v *view, way *route, edges []Step, work int64, ctx context.Context) (hit Step, found, decided bool) {
	zone := way.zone
	r.sort(zone)
	r.bits = slices.Grow(r.bits[:0], len(r.at))[:len(r.at)]
	clear(r.bits)
	edges = slices.Clone(edges)
	slices.SortStableFunc(edges, func(a, b Step) int { return int(zone[a.To]) - int(zone[b.To]) })
	for batch := range slices.Chunk(edges, 64) {
		if work < 0 || ctx.Err() != nil {
			return Step{}, false, false
		}
		low, high := zone[batch[0].To], uint32(0)
		for i, e := range batch {
			r.bits[zone[e.To]] |= 1 << i
			high = max(high, zone[e.From])
		}
		work -= r.spread(v, way, low, high)
		for i, e := range batch {
			if r.bits[zone[e.From]]&(1<<i) != 0 {
				return e, true, true
			}
		}
		clear(r.bits[low : high+1])
	}
	return Step{}, false, true
}

// spread hands the bits of the zones from low to high on along all edges, and
// returns how many it looked at.
func (r *reach) spread(v *view, way *route, low, high uint32) (work int64) {
	transactions, zone := uint32(v.n), way.zone
	for _, node := range r.nodes[r.at[low]:r.at[high+1]] {
		bits := r.bits[zone[node]]
		if bits == 0 {
			continue
		}
		give := func(to uint32) {
			work++
			if z := zone[to]; z <= high {
				r.bits[z] |= bits
			}
		}
		if node >= transactions {
			i := node - transactions
			give(v.order[i])
			if i+1 < uint32(len(v.order)) {
				give(node + 1)
			}
			continue
		}
		for e := v.off[node]; e < v.off[node+1]; e++ {
			if v.rel[e]&way.d != 0 {
				give(v.to[e])
			}
		}
		if way.rt && v.rank[node] < uint32(len(v.order)) {
			give(transactions + v.rank[node])
		}
	}
	return work
}

// sort lists nodes by their zone.
func (r *reach) sort(zone []uint32) {
	r.at = slices.Grow(r.at[:0], len(zone)+2)[:len(zone)+2]
	clear(r.at)
	for _, z := range zone {
		r.at[z+1]++
	}
	for z := 1; z < len(r.at); z++ {
		r.at[z] += r.at[z-1]
	}
	r.nodes = slices.Grow(r.nodes[:0], len(zone))[:len(zone)]
	for node, z := range zone {
		r.nodes[r.at[z]] = uint32(node)
		r.at[z]++
	}
	copy(r.at[1:], r.at)
	r.at[0] = 0
}
