package nemesis

import (
	"context"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskFlip flips bits of what is read.
type diskFlip struct{ diskShare }

func diskFlipEntry() Entry {
	return diskEntry("disk-flip", "flip bits of what nodes read", "#C39BD3", func() diskKind { return new(diskFlip) })
}

func (d *diskFlip) params() []param { return d.of("reads") }

func (d *diskFlip) explain() string {
	return "Flips one bit in a share of the reads of a node's data directory, as a bad cable or memory does; the disk keeps the right one. " +
		"The share is drawn from 1 to 50 % when none is asked for. The page cache is emptied before and after, so that it neither hides nor keeps a flip. " +
		"A node that writes back what it read makes the damage last, and does so by the page where it maps files into memory: that is for its checksums to prevent. " +
		"It bites when a block on the same disk is read and is not as it was written."
}

func (d *diskFlip) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	share, about := d.drawn(rng)
	return disk.Fault{Flip: share}, about
}

func (*diskFlip) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, _ disk.Fault) ([]history.Value, error) {
	return untilSeen(ctx, "flipped", func(int64) (bool, error) {
		_, bits, err := c.Read()
		return bits > 0, err
	})
}
