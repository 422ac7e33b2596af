package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskFull leaves a disk a quota to grow, and then ENOSPC.
type diskFull struct {
	quota int64
	asked bool
}

func diskFullEntry() Entry {
	return diskEntry("disk-full", "let the disks of nodes run full", "#B7950B", func() diskKind { return new(diskFull) })
}

func (d *diskFull) params() []param {
	p := size(&d.quota, "a size that is left, such as 1MiB", 0)
	take := p.take
	p.take = func(part string) (bool, error) {
		mine, err := take(part)
		d.asked = d.asked || mine
		return mine, err
	}
	return []param{p}
}

func (d *diskFull) parts() string {
	if d.asked {
		return fmt.Sprintf(":%dB", d.quota)
	}
	return ""
}

func (d *diskFull) explain() string {
	return "Makes the disk of a node's data directory full: once its files have grown by the size that is left, they grow no more (ENOSPC), " +
		"while writing in place goes on. No byte of the machine's own disk is taken. Without a size one is drawn, from nothing to 1 MiB. " +
		"It bites when a file on the same disk is refused to grow by more than is left."
}

func (d *diskFull) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	quota := []int64{0, 64 << 10, 1 << 20}[rng.IntN(3)]
	if d.asked {
		quota = d.quota
	}
	return disk.Fault{Full: true, Quota: quota}, []history.Value{history.Keyword("left-bytes"), history.Int(quota)}
}

func (*diskFull) bites(ctx context.Context, d *disk.Disk, c *disk.Canary, f disk.Fault) ([]history.Value, error) {
	free, err := d.Free()
	if err != nil {
		return nil, err
	}
	// A block that far behind asks for more than is left, whatever the node took.
	seen, err := untilFails(ctx, syscall.ENOSPC, func(int64) error {
		_, err := c.Write(f.Quota/4096 + 2)
		return err
	})
	return append(seen, history.Keyword("free-bytes"), history.Int(free)), err
}
