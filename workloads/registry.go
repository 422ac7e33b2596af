// Package workloads holds what jepgo does to a network, and what may fairly be
// claimed of it: for each workload its contract, its generator, what the
// completions of its operations mean, and the checkers that are fair for it
// under each profile.
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

	"github.com/jepgo/jepgo/checker"
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

// Checkers returns the checkers that are fair for a run of jepgo's own, each
// name once, and as sentences what is not claimed. The run's profile is the one
// that --claim named, if it was given.
func Checkers(info checker.TestInfo) (fair []checker.Checker, notClaimed []string, err error) {
	name := info.Claim
	if name == "" {
		name = info.Profile
	}
	p, err := ParseProfile(name)
	if err != nil {
		return nil, nil, err
	}
	if len(info.Workloads) == 0 {
		return nil, nil, fmt.Errorf("history names no workload, want some of %s", strings.Join(Names(), ", "))
	}
	fair = []checker.Checker{checker.Stats(checker.Floor{}), checker.NemesisFaults(), checker.Converge()}
	for _, name := range info.Workloads {
		w, err := Get(name)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range w.Checkers(p) {
			if !slices.ContainsFunc(fair, func(other checker.Checker) bool { return other.Name() == c.Name() }) {
				fair = append(fair, c)
			}
		}
		for _, s := range w.NotClaimed(p) {
			if !slices.Contains(notClaimed, s) {
				notClaimed = append(notClaimed, s)
			}
		}
	}
	return fair, notClaimed, nil
}
