package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// sampled is a workload of which nothing is claimed by itself; what others and it
// tell together may be.
func sampled(workload string, sentence ...string) claim {
	return claim{
		workload:   workload,
		streams:    func(Profile, *chain.Reader) []checker.Stream { return nil },
		notClaimed: func(Profile) []string { return sentence },
	}
}

// pool claims nothing of what a pool holds.
func pool() claim {
	return sampled("pool", "Nothing is claimed of what a node has in its pool: it is volatile, and asked for as a sample.")
}

// sub claims nothing of when a subscription ends.
func sub() claim {
	return sampled("sub", "Subscriptions are not claimed to last: one that ends is opened again.")
}
