package nemesis

import (
	"context"
	"math/rand/v2"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskReadonly refuses every change.
type diskReadonly struct{}

func diskReadonlyEntry() Entry {
	return diskEntry("disk-readonly", "make the disks of nodes read-only", "#A9A9C9", func() diskKind { return diskReadonly{} })
}

func (diskReadonly) params() []param { return nil }
func (diskReadonly) parts() string   { return "" }

func (diskReadonly) explain() string {
	return "Refuses every change of a node's data directory with EROFS, through open files too, as a file system does that found an error on its disk. " +
		"It bites when a write on the same disk is seen to be refused so."
}

func (diskReadonly) draw(*rand.Rand) (disk.Fault, []history.Value) {
	return disk.Fault{ReadOnly: true}, nil
}

func (diskReadonly) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, _ disk.Fault) ([]history.Value, error) {
	return untilFails(ctx, syscall.EROFS, func(n int64) error {
		_, err := c.Write(n % 16)
		return err
	})
}
