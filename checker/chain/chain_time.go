package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// ChainTime returns the checker chain-time: no block has a timestamp before its
// parent's (time-went-back). Equal ones are allowed: some chains make several
// blocks in a second. O(blocks) time; memory that of the Reader.
func ChainTime() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().ChainTime() })
}

// ChainTime is ChainTime for a pass.
func (r *Reader) ChainTime() checker.Stream { return &chainTime{r: r} }

type chainTime struct {
	r     *Reader
	found findings
}

func (*chainTime) Name() string { return "chain-time" }

func (c *chainTime) Take(e *history.Event) { c.r.take(e) }

func (c *chainTime) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	for i := range c.r.blocks {
		b := &c.r.blocks[i]
		if b.ts == 0 || b.up < 0 || c.r.blocks[b.up].ts == 0 {
			continue
		}
		c.found.facts++
		if p := &c.r.blocks[b.up]; b.ts < p.ts {
			c.found.report("time-went-back", []int{int(p.stampOp), int(b.stampOp)}, saying("block %d %s has timestamp %d (op %d), before that of its parent %s, %d (op %d).",
				b.n, c.r.short(b.h), b.ts, b.stampOp, c.r.short(p.h), p.ts, p.stampOp))
		}
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("timestamps of %s are not before their parents'", plural(c.found.facts, "block")),
		"no block and its parent told their timestamps, so nothing could be compared", nil)
}
