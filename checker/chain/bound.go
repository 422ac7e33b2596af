package chain

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Parts of the bound within which a healed network works again.
const (
	boundBlocks    = 10               // blocks' times
	redialBackoff  = 30 * time.Second // until a peer that was not there is dialled again
	usualBlockTime = time.Second      // where the history does not tell
	leastRound     = 4                // blocks' times of a round's timer, at least
)

// RecoveryTime is how long after its last fault a network may take until all nodes
// go forward, by the time from block to block and that of its longest fault: the
// bound of liveness, for who has to wait so long.
func RecoveryTime(block, outage time.Duration) time.Duration {
	return recoveryOf(block, outage).total()
}

// recoveryOf computes the bound. The timer of a round grows with each round that
// fails, on the networks that double it up to as long as the longest outage was.
func recoveryOf(block, outage time.Duration) recovery {
	return recovery{block: block, round: max(leastRound*block, outage), redial: redialBackoff}
}

// recovery is how long after a heal a network may take.
type recovery struct {
	block, round, redial time.Duration
}

func (b recovery) total() time.Duration { return boundBlocks*b.block + b.round + b.redial }

func (b recovery) String() string {
	return fmt.Sprintf("%v: %d blocks of %v, a round's timer of %v, %v until peers dial again",
		b.total().Round(time.Millisecond), boundBlocks, b.block.Round(time.Millisecond), b.round.Round(time.Millisecond), b.redial)
}

// recovery computes the bound for the run.
func (r *Reader) recovery(o *Options) recovery {
	block := o.BlockTime
	if block == 0 {
		block = r.test.Bounds.BlockTime
	}
	if block == 0 {
		block = r.blockTime()
	}
	var outage time.Duration
	for _, f := range r.faults() {
		if f.to != always {
			outage = max(outage, time.Duration(f.to-f.from))
		}
	}
	return recoveryOf(block, outage)
}

// blockTime is the median time between a block and its parent.
func (r *Reader) blockTime() time.Duration {
	var steps []int64
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.ts > 0 && b.up >= 0 && r.blocks[b.up].ts > 0 && b.ts >= r.blocks[b.up].ts {
			steps = append(steps, b.ts-r.blocks[b.up].ts)
		}
	}
	if len(steps) == 0 {
		return usualBlockTime
	}
	slices.SortFunc(steps, cmp.Compare)
	return max(usualBlockTime, time.Duration(min(steps[len(steps)/2], 3600))*time.Second)
}
