package claims

import (
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/checker/txn"
)

// appends claims that the chain runs the transactions of the workload append one
// after the other, in an order that real time agrees with.
func appends() claim {
	return claim{
		workload: "append",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			out := []checker.Stream{r.Replay()}
			if p.FinalTag == latest {
				out = append(out, renamed(txn.ListAppend(txn.Options{}), map[string]string{"txn": "txn"}))
			}
			return out
		},
		notClaimed: func(p Profile) []string {
			if p.FinalTag == latest {
				return nil
			}
			return []string{fmt.Sprintf("Transactions on lists are not claimed to be serializable: under the profile %s what their receipts say may be taken back.", p.Name)}
		},
	}
}
