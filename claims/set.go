package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// set claims that each element that was acknowledged is in its set at the end,
// once.
func set() claim {
	return claim{
		workload: "set",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			out := localReads(r)
			if p.FinalTag == latest {
				full := func() checker.Stream { return checker.SetFull(checker.SetFullOptions{}) }
				out = append(out, settled(checker.Independent("set-full", full), settledOps{write: "add", read: "elements", keyed: true}))
			}
			return out
		},
		notClaimed: func(p Profile) []string { return append([]string{replicaReads}, mayBeTakenBack(p)...) },
	}
}
