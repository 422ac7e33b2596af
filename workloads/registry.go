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
	"strings"
)

// All lists the workloads by name. To add one, add it here.
func All() []Workload {
	return []Workload{head(), register()}
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

// Get returns the workload of that name.
func Get(name string) (Workload, error) {
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, fmt.Errorf("workload %q does not exist, want one of %s", name, strings.Join(Names(), ", "))
}
