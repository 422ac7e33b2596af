package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/history"
)

// What the contract of the workload bank begins with.
const (
	BankAccounts = 8
	BankBalance  = 10 // of each account
)

// bank claims that money only moves: the balances of one block add up, on every
// node, at every tag and on any network.
func bank() claim {
	return claim{
		workload: "bank",
		streams: func(_ Profile, r *chain.Reader) []checker.Stream {
			total := int64(BankAccounts * BankBalance)
			accounts := make([]history.Value, BankAccounts)
			for i := range accounts {
				accounts[i] = history.Int(int64(i))
			}
			return append(localReads(r), renamed(checker.Bank(checker.BankOptions{Accounts: accounts, Total: &total}), map[string]string{"balances": "read"}))
		},
		notClaimed: func(Profile) []string { return []string{replicaReads} },
	}
}

// localReads are the checkers of workloads with transactions to a contract and
// local reads of what it holds.
func localReads(r *chain.Reader) []checker.Stream {
	return []checker.Stream{r.Replay(), r.Session(), r.Staleness()}
}

// replicaReads is never claimed of local reads.
const replicaReads = "Local reads are not claimed to be linearizable: each node answers from its own height. Their staleness is measured."
