package runner

import (
	"context"
	"time"

	"github.com/jepgo/jepgo/client"
)

// Over so many blocks the block time is measured, at most and at least: those that
// nodes make while they start come slowly.
const (
	paceBlocks = 32
	leastPace  = 8
)

// findBlockTime takes the block time from the devnet file, or from the timestamps
// of the newest blocks as the first node has them. It stays 0 on a chain that has
// hardly any.
func (t *test) findBlockTime(ctx context.Context) error {
	if f := t.o.file; f != nil && f.BlockTime > 0 {
		t.blockTime = f.BlockTime
		return nil
	}
	n := t.clients[0]
	head, err := n.HeaderAt(ctx, client.Latest)
	if err != nil {
		return err
	}
	if head.Number <= leastPace {
		return nil
	}
	from := uint64(1) // a genesis block is as old as somebody wrote
	if head.Number > paceBlocks {
		from = head.Number - paceBlocks
	}
	if first := n.Headers(ctx, []uint64{from})[0]; first.Err == nil && head.Time > first.Value.Time {
		t.blockTime = time.Duration(head.Time-first.Value.Time) * time.Second / time.Duration(head.Number-from)
	}
	return nil
}
