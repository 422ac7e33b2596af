package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// precompile claims that nodes agree on the blocks that hold its transactions.
func precompile() claim {
	return claim{
		workload: "precompile",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			return []checker.Stream{r.Fork(p.FinalTag)}
		},
		notClaimed: func(Profile) []string {
			return []string{"What a precompiled contract returns is not known to jepgo: nodes are compared with each other."}
		},
	}
}
