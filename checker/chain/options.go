package chain

import (
	"time"

	"github.com/jepgo/jepgo/checker"
)

// Options say what a network's profile promises.
type Options struct {
	// FinalTag is the block tag whose answers are final: latest, finalized, or ""
	// for none.
	FinalTag string
	// Depth is how many blocks of the head a reorganisation may take back; 0 where
	// none may. What lies deeper below the head counts as settled.
	Depth int64
	// Odd: a reorganisation beyond Depth is a warning, for Depth is a guess.
	Odd bool
	// BlockTime is how long a block takes, 0 for what the history shows.
	BlockTime time.Duration
}

// Streams begins all checkers of this package for one pass.
func Streams(o Options) []checker.Stream {
	r := NewReader()
	return []checker.Stream{
		r.Fork(o.FinalTag), r.Finality(o.FinalTag), r.Session(), r.Replay(), r.Staleness(),
		r.StateAgree(), r.CallAt(), r.Immutable(), r.Index(o), r.Logs(o),
		r.Durability(o), r.Nonce(o), r.ExactlyOnce(o),
		r.ReorgDepth(o), r.HeadRegress(o), r.ChainTime(), r.Sub(o), r.Equivocation(), r.CrashLog(),
		r.Participation(), r.ResourceSlope(), r.Liveness(o), r.Lifecycle(o),
	}
}

// settled is the highest height that no reorganisation reaches any more.
func (o *Options) settled(tip int64) int64 { return tip - o.Depth - 1 }
