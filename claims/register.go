package claims

import (
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/checker/linear"
)

// register claims that the chain orders the transactions of the workload of that
// name, and that what a node shows follows that order.
func register() claim {
	return claim{
		workload: "register",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			out := []checker.Stream{r.Replay(), r.Session(), r.Staleness()}
			if p.FinalTag == latest {
				out = append(out, linear.RegisterStream(linear.Options{Keyed: true}))
			}
			return out
		},
		notClaimed: func(p Profile) []string {
			out := []string{"Local reads are not claimed to be linearizable: each node answers from its own height. Their staleness is measured."}
			if p.FinalTag != latest {
				out = append(out, fmt.Sprintf("Transactions are not claimed to be linearizable: under the profile %s the head, which receipts come from, may reorganise.", p.Name))
			}
			return out
		},
	}
}
