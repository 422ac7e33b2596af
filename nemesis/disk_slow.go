package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// diskSlow delays reads, writes and fsyncs.
type diskSlow struct {
	latency time.Duration
	share   float64
}

func diskSlowEntry() Entry {
	return diskEntry("disk-slow", "delay reads, writes and fsyncs of nodes", "#7FB3D5", func() diskKind { return new(diskSlow) })
}

func (s *diskSlow) params() []param {
	return []param{
		duration(&s.latency, "a latency such as 50ms", time.Millisecond, 5*time.Second),
		percent(&s.share, "a share of the operations such as 20%"),
	}
}

func (s *diskSlow) parts() string {
	parts := ""
	if s.latency > 0 {
		parts += ":" + s.latency.String()
	}
	if s.share > 0 {
		parts += ":" + shareText(s.share)
	}
	return parts
}

func (s *diskSlow) explain() string {
	return "Delays a share of the reads, writes and fsyncs of a node's data directory, all of them when no share is asked for; the latency is drawn from 10 to 200 ms. " +
		"What the page cache answers is not late, and one after the other adds up: a commit of three writes and an fsync takes four times as long. " +
		"It bites when operations on the same disk are measured to take at least that long; the mean of those that were late is told."
}

func (s *diskSlow) draw(rng *rand.Rand) (disk.Fault, []history.Value) {
	f := disk.Fault{Latency: []time.Duration{10, 50, 100, 200}[rng.IntN(4)] * time.Millisecond, Share: 1}
	if s.latency > 0 {
		f.Latency = s.latency
	}
	if s.share > 0 {
		f.Share = s.share
	}
	return f, []history.Value{history.Keyword("latency-ms"), history.FloatOf(millis(f.Latency)), history.Keyword("share"), history.FloatOf(f.Share)}
}

func (*diskSlow) bites(ctx context.Context, _ *disk.Disk, c *disk.Canary, f disk.Fault) ([]history.Value, error) {
	const enough = 5
	var late []time.Duration
	tried := int64(0)
	for ; len(late) < enough; tried++ {
		// A loaded machine must not run out of its time to see one slow write.
		if ctx.Err() != nil && len(late) == 0 {
			return nil, fmt.Errorf("canary: %d operations and none took %v: %w", tried, f.Latency, context.Cause(ctx))
		}
		if ctx.Err() != nil {
			break
		}
		var took time.Duration
		var err error
		switch tried % 3 {
		case 0:
			took, err = c.Write(tried % 16)
		case 1:
			took, err = c.Sync()
		default:
			took, _, err = c.Read()
		}
		if err != nil {
			return nil, fmt.Errorf("canary: %w", err)
		}
		if took >= f.Latency {
			late = append(late, took)
		} else if f.Share >= 1 {
			return nil, fmt.Errorf("canary: an operation took %v, expected at least %v", took, f.Latency)
		}
	}
	sum := time.Duration(0)
	for _, d := range late {
		sum += d
	}
	return []history.Value{
		history.Keyword("canary-mean-ms"), history.FloatOf(millis(sum / time.Duration(len(late)))),
		history.Keyword("canary-least-ms"), history.FloatOf(millis(slices.Min(late))),
		history.Keyword("canary-late"), history.Int(int64(len(late))),
		history.Keyword("canary-tried"), history.Int(tried),
	}, nil
}
