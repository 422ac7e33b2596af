package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskFlip flips bits of what is read.
type diskFlip struct{ share float64 }

func diskFlipEntry() Entry {
	return diskEntry("disk-flip", "flip bits of what nodes read", "#C39BD3", func() diskKind { return new(diskFlip) })
}

func (d *diskFlip) params() []param {
	return []param{percent(&d.share, "a share of the reads such as 5%")}
}

func (d *diskFlip) parts() string {
	if d.share > 0 {
		return ":" + shareText(d.share)
	}
	return ""
}

func (d *diskFlip) explain() string {
	return "Flips one bit in a share of the reads of a node's data directory, as a bad cable or memory does; the disk keeps the right one. " +
		"The share is drawn from 1 to 50 % when none is asked for. The page cache is emptied before and after, so that it neither hides nor keeps a flip. " +
		"A node that writes back what it read makes the damage last, and does so by the page where it maps files into memory: that is for its checksums to prevent. " +
		"It bites when a block on the same disk is read and is not as it was written."
}

func (d *diskFlip) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	share := []float64{0.01, 0.1, 0.5}[rng.IntN(3)]
	if d.share > 0 {
		share = d.share
	}
	return disk.Fault{Flip: share}, []history.Value{history.Keyword("share"), history.FloatOf(share)}
}

func (*diskFlip) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, _ disk.Fault) ([]history.Value, error) {
	const enough = 20
	flipped, tried := int64(0), int64(0)
	for ; tried < enough || flipped == 0; tried++ {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("canary: %d reads and no bit was flipped: %w", tried, context.Cause(ctx))
		}
		_, bits, err := c.Read()
		if err != nil {
			return nil, fmt.Errorf("canary: %w", err)
		}
		if bits > 0 {
			flipped++
		}
	}
	return []history.Value{
		history.Keyword("canary-flipped"), history.Int(flipped),
		history.Keyword("canary-tried"), history.Int(tried),
	}, nil
}
