// Package claims says what may fairly be claimed of a network: for each workload
// and profile the checkers that judge it, and what is deliberately not judged.
// It knows histories only, so that a program that judges them needs no chain.
package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/usage"
)

// claim is what one workload's operations are held to.
type claim struct {
	workload string
	// streams begins the checkers that are fair on a network of that profile, on
	// what r decodes.
	streams func(p Profile, r *chain.Reader) []checker.Stream
	// notClaimed lists, as sentences, what is deliberately not judged there.
	notClaimed func(p Profile) []string
}

// all lists the claims by workload. To add one, add it here.
func all() []claim {
	return []claim{
		head(), register(), counter(), set(), bank(), appends(), logs(), transfer(), callAt(), precompile(),
		sampled("receipt"), sampled("block"), sampled("consensus"), sub(), pool(),
	}
}

// Workloads lists the names of the workloads that something is claimed of.
func Workloads() []string {
	var names []string
	for _, c := range all() {
		names = append(names, c.workload)
	}
	return names
}

// profileOf is the profile whose claims a run is held to: that of its --claim, if
// it was given.
func profileOf(info checker.TestInfo) (Profile, error) {
	if info.Claim != "" {
		return ParseLevel(info.Claim)
	}
	return ParseProfile(info.Profile)
}

// Checkers returns the checkers of Streams, for a history in memory.
func Checkers(info checker.TestInfo) (fair []checker.Checker, notClaimed []string, err error) {
	streams, notClaimed, err := Streams(info)
	for i := range streams {
		fair = append(fair, checker.Streamed(func() checker.Stream {
			again, _, _ := Streams(info)
			return again[i]
		}))
	}
	return fair, notClaimed, err
}

// always is how many checkers judge every run.
const always = 3

// Streams begins the checkers that are fair for a run of jepgo's own, each name
// once, for one pass over its history, and returns as sentences what is not
// claimed. The run's profile is the one that --claim named, if it was given.
func Streams(info checker.TestInfo) (fair []checker.Stream, notClaimed []string, err error) {
	p, err := profileOf(info)
	if err != nil {
		return nil, nil, err
	}
	if len(info.Workloads) == 0 {
		return nil, nil, fmt.Errorf("history names no workload, want some of %s", strings.Join(Workloads(), ", "))
	}
	r := chain.NewReader()
	fair = []checker.Stream{checker.StatsStream(checker.Floor{Spare: []string{"replace", "cancel"}}), checker.NemesisFaultsStream(), checker.ConvergeStream()}
	add := func(streams ...checker.Stream) {
		for _, one := range streams {
			if !slices.ContainsFunc(fair, func(other checker.Stream) bool { return other.Name() == one.Name() }) {
				fair = append(fair, one)
			}
		}
	}
	for _, name := range info.Workloads {
		i := slices.IndexFunc(all(), func(c claim) bool { return c.workload == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("workload %q does not exist: %swant one of %s", name, usage.Meant(name, Workloads()), strings.Join(Workloads(), ", "))
		}
		c := all()[i]
		add(c.streams(p, r)...)
		for _, s := range c.notClaimed(p) {
			if !slices.Contains(notClaimed, s) {
				notClaimed = append(notClaimed, s)
			}
		}
	}
	add(feeds(info.Workloads, p, info, r)...)
	return fair, notClaimed, nil
}
