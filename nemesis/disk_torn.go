package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskTorn lets the end of writes get lost, silently.
type diskTorn struct{ share float64 }

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

func (d *diskTorn) params() []param {
	return []param{percent(&d.share, "a share of the writes such as 5%")}
}

func (d *diskTorn) parts() string {
	if d.share > 0 {
		return ":" + shareText(d.share)
	}
	return ""
}

func (d *diskTorn) explain() string {
	return "Loses the end of a share of the writes of a node's data directory: only the first sectors of 512 bytes arrive, and all is reported written, as by a disk that lies. " +
		"Writes within one sector are whole, as on a real disk. The share is drawn from 1 to 50 % when none is asked for. " +
		"The damage lasts: the disk works again afterwards, the bytes are gone, and it is for the node's checksums to notice. " +
		"It bites when a block that was written on the same disk is seen to have arrived in part."
}

func (d *diskTorn) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	share := []float64{0.01, 0.1, 0.5}[rng.IntN(3)]
	if d.share > 0 {
		share = d.share
	}
	return disk.Fault{Torn: share}, []history.Value{history.Keyword("share"), history.FloatOf(share)}
}

func (*diskTorn) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, _ disk.Fault) ([]history.Value, error) {
	const enough = 20
	torn, tried := int64(0), int64(0)
	for ; tried < enough || torn == 0; tried++ {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("canary: %d writes and none was torn: %w", tried, context.Cause(ctx))
		}
		whole, err := c.Rewrite()
		if err != nil {
			return nil, fmt.Errorf("canary: %w", err)
		}
		if !whole {
			torn++
		}
	}
	return []history.Value{
		history.Keyword("canary-torn"), history.Int(torn),
		history.Keyword("canary-tried"), history.Int(tried),
	}, nil
}
