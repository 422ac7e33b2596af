package chain

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// restarts knows when the nemesis killed or restarted which node: positions of its requests.
type restarts map[string][]int

func readRestarts(h *history.History) restarts {
	r := make(restarts)
	for _, f := range checker.Faults(h) {
		if !f.Restarts {
			continue
		}
		for _, node := range f.Targets {
			r[node] = append(r[node], f.Request)
		}
	}
	return r
}

// between returns the position of a kill of node after from and before to; ok is
// false when the node lived through it all. O(log kills).
func (r restarts) between(node string, from, to int) (at int, ok bool) {
	kills := r[node]
	i, _ := slices.BinarySearch(kills, from)
	if i < len(kills) && kills[i] < to {
		return kills[i], true
	}
	return 0, false
}
