package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskError makes reads, writes or fsyncs fail with EIO.
type diskError struct {
	what  string  // "": drawn
	share float64 // 0: drawn
}

func diskErrorEntry() Entry {
	return diskEntry("disk-error", "fail reads, writes or fsyncs of nodes with EIO", "#D98880", func() diskKind { return new(diskError) })
}

func (e *diskError) params() []param {
	return []param{oneOf(&e.what, "read", "write", "fsync"), percent(&e.share, "a share of the operations such as 20%")}
}

func (e *diskError) parts() string {
	parts := ""
	if e.what != "" {
		parts += ":" + e.what
	}
	if e.share > 0 {
		parts += ":" + shareText(e.share)
	}
	return parts
}

func (e *diskError) explain() string {
	return "Fails a share of the reads, the writes or the fsyncs of a node's data directory with an I/O error (EIO), as a dying disk does. " +
		"A failed write changes nothing; a failed fsync makes nothing durable, and what was written stays to be written by the next. " +
		"Which of them, and the share, are drawn when not asked for. Reads that the page cache answers do not fail. " +
		"It bites when an operation of that kind is seen to fail on the same disk."
}

func (e *diskError) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	what := []string{"read", "write", "fsync"}[rng.IntN(3)]
	share := []float64{0.1, 0.5, 1}[rng.IntN(3)]
	if e.what != "" {
		what = e.what
	}
	if e.share > 0 {
		share = e.share
	}
	var f disk.Fault
	switch what {
	case "read":
		f.Read = share
	case "write":
		f.Write = share
	default:
		f.Fsync = share
	}
	return f, []history.Value{history.Keyword("fails"), history.Keyword(what), history.Keyword("share"), history.FloatOf(share)}
}

func (*diskError) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, f disk.Fault) ([]history.Value, error) {
	return untilFails(ctx, syscall.EIO, func(n int64) error {
		var err error
		switch {
		case f.Read > 0:
			_, _, err = c.Read()
		case f.Write > 0:
			_, err = c.Write(n % 16)
		default:
			_, err = c.Sync()
		}
		return err
	})
}

// untilFails tries until it fails as it should.
func untilFails(ctx context.Context, want error, try func(n int64) error) ([]history.Value, error) {
	seen, err := untilSeen(ctx, "failed", func(n int64) (bool, error) {
		err := try(n)
		if errors.Is(err, want) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return nil, err
	}
	return append([]history.Value{history.Keyword("error"), history.Text(want.Error())}, seen...), nil
}
