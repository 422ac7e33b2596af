package nemesis

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
)

// powerRule says which sums of voting power a side may have, and which of them
// is nearest to the border. total is that of all nodes.
type powerRule struct {
	allows func(sum, total int64) bool
	most   bool // the largest sum allowed, else the least
}

// The rules are those of BFT: a quorum is over two thirds, so a third away is
// one too many. Sums are compared without division, so that they are exact.
var (
	underThirdOf     = powerRule{func(sum, total int64) bool { return 3*sum < total }, true}
	overThirdOf      = powerRule{func(sum, total int64) bool { return 3*sum >= total }, false}
	underHalfOf      = powerRule{func(sum, total int64) bool { return 2*sum < total }, true}
	overHalfOf       = powerRule{func(sum, total int64) bool { return 2*sum >= total }, false}
	underTwoThirdsOf = powerRule{func(sum, total int64) bool { return 3*sum <= 2*total }, true}
	overTwoThirdsOf  = powerRule{func(sum, total int64) bool { return 3*sum > 2*total }, false}
)

// byPower splits off the side that the rule finds nearest to its border.
func byPower(rule powerRule) func(scene, *rand.Rand) (Grudge, []string, error) {
	return func(s scene, rng *rand.Rand) (Grudge, []string, error) {
		nodes := shuffled(s.nodes, rng) // of several such sides the order decides
		side := nearest(nodes, s.power, rule)
		if side == nil {
			return nil, nil, errors.New("voting power: no side of that size can be made of these nodes")
		}
		side = slices.DeleteFunc(slices.Clone(s.nodes), func(n string) bool { return !slices.Contains(side, n) })
		return split(s.nodes, side), side, nil
	}
}

// weight is a set of nodes as bits, and their power.
type weight struct {
	sum  int64
	bits uint64
}

// nearest finds a side, neither empty nor everybody, whose power is exactly the
// nearest to the border that the rule allows; nil when there is none. Of several
// it returns one that follows from the order of nodes. It meets in the middle:
// O(2^(n/2)) time and memory for n nodes, 65,536 sums for 32; Horowitz and Sahni
// (1974).
func nearest(nodes []string, power map[string]int64, rule powerRule) []string {
	total := powerIn(nodes, power)
	half := len(nodes) / 2
	left, right := sums(nodes[:half], power), sums(nodes[half:], power)
	slices.SortStableFunc(right, func(a, b weight) int { return cmp.Compare(a.sum, b.sum) })
	all := uint64(1)<<len(nodes) - 1
	best, found := weight{}, false
	for _, l := range left {
		// What the rule allows is everything up to a border, or from one on, so on
		// the sorted side there is one place where it changes.
		at, _ := slices.BinarySearchFunc(right, l.sum, func(r weight, sum int64) int {
			if rule.allows(sum+r.sum, total) != rule.most {
				return 1
			}
			return -1
		})
		step := 1
		if rule.most {
			at, step = at-1, -1
		}
		// The nearest may be nobody or everybody; the one beside it is not.
		for ; at >= 0 && at < len(right); at += step {
			w := weight{l.sum + right[at].sum, l.bits | right[at].bits<<half}
			if w.bits == 0 || w.bits == all {
				continue
			}
			if !found || rule.most && w.sum > best.sum || !rule.most && w.sum < best.sum {
				best, found = w, true
			}
			break
		}
	}
	if !found {
		return nil
	}
	var side []string
	for i, n := range nodes {
		if best.bits>>i&1 == 1 {
			side = append(side, n)
		}
	}
	return side
}

// sums lists the power of every subset.
func sums(nodes []string, power map[string]int64) []weight {
	all := []weight{{}}
	for i, n := range nodes {
		for _, w := range all[:len(all):len(all)] {
			all = append(all, weight{w.sum + power[n], w.bits | 1<<i})
		}
	}
	return all
}
