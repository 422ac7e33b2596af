package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// transfer claims that one client of one node sees accounts go forward in time.
func transfer() claim {
	return claim{
		workload: "transfer",
		streams: func(_ Profile, r *chain.Reader) []checker.Stream {
			return []checker.Stream{r.Session(), r.Staleness()}
		},
		notClaimed: func(Profile) []string { return []string{replicaReads} },
	}
}

// callAt claims that what a contract held after a block never changes.
func callAt() claim {
	return claim{
		workload:   "call-at",
		streams:    func(_ Profile, r *chain.Reader) []checker.Stream { return []checker.Stream{r.Replay()} },
		notClaimed: func(Profile) []string { return nil },
	}
}

// logs has nothing that is claimed of it alone.
func logs() claim {
	return claim{
		workload:   "log",
		streams:    func(Profile, *chain.Reader) []checker.Stream { return nil },
		notClaimed: func(Profile) []string { return nil },
	}
}
