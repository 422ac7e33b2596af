package claims

import (
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// counter claims that each acknowledged call of the workload of that name took
// effect, and none twice.
func counter() claim {
	return claim{
		workload: "counter",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			out := localReads(r)
			if p.FinalTag == latest {
				out = append(out, settled(checker.Counter(checker.CounterOptions{}), settledOps{write: "inc", read: "count"}))
			}
			return out
		},
		notClaimed: func(p Profile) []string { return append([]string{replicaReads}, mayBeTakenBack(p)...) },
	}
}

// mayBeTakenBack says why what was acknowledged is not looked for in the end,
// where it is not.
func mayBeTakenBack(p Profile) []string {
	if p.FinalTag == latest {
		return nil
	}
	return []string{fmt.Sprintf("Acknowledged transactions are not claimed to be in effect at the end: under the profile %s the head, which receipts come from, may reorganise.", p.Name)}
}
