package chain

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// restarts knows where in the history which node's process ended: where jepgo saw
// it end, and where the nemesis asked for a kill, which older histories tell alone.
type restarts map[string][]int

func readRestarts(h *history.History) restarts {
	r := make(restarts)
	for _, f := range checker.Faults(h) {
		if f.Name != "kill" {
			continue
		}
		for _, node := range f.Targets {
			r[node] = append(r[node], f.Request)
		}
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != "exit" || op.Process != history.Runner() {
			continue
		}
		if node, ok := op.Value.Field("node"); ok {
			r[node.Text()] = append(r[node.Text()], i)
		}
	}
	for _, at := range r {
		slices.Sort(at)
	}
	return r
}

// between returns the position of an end of node's process after from and before to; ok is
// false when the node lived through it all. O(log kills).
func (r restarts) between(node string, from, to int) (at int, ok bool) {
	kills := r[node]
	i, _ := slices.BinarySearch(kills, from)
	if i < len(kills) && kills[i] < to {
		return kills[i], true
	}
	return 0, false
}
