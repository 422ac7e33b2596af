package nemesis

import (
	"context"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskTorn lets the end of writes get lost, silently.
type diskTorn struct{ diskShare }

func diskTornEntry() Entry {
	e := diskEntry("disk-torn", "silently lose the end of writes of nodes", "#AF601A", func() diskKind { return new(diskTorn) })
	e.Irreversible = true
	made := e.New
	e.New = func(spec string) (Fault, error) {
		f, err := made(spec)
		if err != nil {
			return nil, err
		}
		return destructive{f.(*diskFault)}, nil
	}
	return e
}

// destructive is a fault of a disk whose damage lasts.
type destructive struct{ *diskFault }

func (d destructive) Possible(r Reach) error {
	if err := d.diskFault.Possible(r); err != nil {
		return err
	}
	return allowed(d.Name(), r)
}

func (d *diskTorn) params() []param { return d.of("writes") }

func (d *diskTorn) explain() string {
	return "Loses the end of a share of the writes of a node's data directory: only the first sectors of 512 bytes arrive, and all is reported written, as by a disk that lies. " +
		"Writes within one sector are whole, as on a real disk. The share is drawn from 1 to 50 % when none is asked for. " +
		"The damage lasts: the disk works again afterwards, the bytes are gone, and it is for the node's checksums to notice. " +
		"It bites when a block that was written on the same disk is seen to have arrived in part."
}

func (d *diskTorn) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	share, about := d.drawn(rng)
	return disk.Fault{Torn: share}, about
}

func (*diskTorn) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, _ disk.Fault) ([]history.Value, error) {
	return untilSeen(ctx, "torn", func(int64) (bool, error) {
		whole, err := c.Rewrite()
		return !whole, err
	})
}
