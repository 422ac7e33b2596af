// Package workloads holds what jepgo does to a network: for each workload its
// contract, its generator, and what the completions of its operations mean. What
// may fairly be claimed of it is in package claims.
//
// Every operation ends within its time limit, and every random choice comes from
// the Rand of the environment; which answers a choice builds on (a cas expects
// what was seen) depends on the network. Load is bounded by the number of
// threads, one operation each at a time. It is not for performance figures: the
// operations are chosen to tell orders apart.
package workloads

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/usage"
)

// All lists the workloads by name. To add one, add it here.
func All() []Workload {
	return []Workload{
		head(), register(), counter(), set(), bank(), appendWorkload(), logWorkload(), transfer(), callAt(), precompile(),
		receipt(), block(), consensus(), sub(), pool(),
	}
}

// Default names the workloads that a test runs when none is asked for.
func Default() []string { return []string{"register", "head"} }

// Names lists the names of All.
func Names() []string {
	var names []string
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return names
}

// Everything is the name that stands for all workloads.
const Everything = "all"

// Expand puts all workloads that a network with these offers can run in the place
// of Everything, and leaves each name once.
func Expand(names []string, o Offers) []string {
	var out []string
	for _, name := range names {
		these := []string{name}
		if name == Everything {
			these = nil
			for _, w := range All() {
				if w.Lacks(o) == "" {
					these = append(these, w.Name)
				}
			}
		}
		for _, name := range these {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Share is how many of the run's client threads are about each of these
// workloads at a time, when the ones that submit transactions have them together;
// at least 1.
func Share(threads int, names []string) int {
	sharing := 0
	for _, name := range names {
		if w, err := Get(name); err == nil && w.Submits {
			sharing++
		}
	}
	return max(1, threads/max(1, sharing))
}

// Extra is how many accounts workloads need on so many nodes beside those of the
// main phase's clients: each its deployer, and the clients of the last
// transactions, which register alone makes, with some to crash.
func Extra(nodes int, names []string) int { return len(names) + 2*finalClients*nodes }

// Get returns the workload of that name.
func Get(name string) (Workload, error) {
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, fmt.Errorf("workload %q does not exist: %swant %s or some of %s", name, usage.Meant(name, Names()), Everything, strings.Join(Names(), ", "))
}
