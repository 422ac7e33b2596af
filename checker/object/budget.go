package object

import (
	"context"
	"fmt"
)

// budget counts what a search has used of its limits, in steps and bytes.
type budget struct {
	ctx    context.Context
	work   int64 // steps left
	steps  int64 // steps made
	memory int64
	most   int64 // of steps and bytes, for messages
	bytes  int64
	why    string // the limit that was met, "" while none is
}

func newBudget(ctx context.Context, o Options) *budget {
	return &budget{ctx: ctx, work: o.Work, most: o.Work, memory: o.Memory / searchers, bytes: o.Memory}
}

// lookEvery is how many steps go by between looks at context and memory.
const lookEvery = 1 << 12

// spend counts n steps; false is the end.
func (b *budget) spend(n int64, bytes func() int64) bool {
	if b.why != "" {
		return false
	}
	before := b.steps / lookEvery
	b.work -= n
	b.steps += n
	if b.work < 0 {
		b.why = fmt.Sprintf("limit of %d steps reached", b.most)
		return false
	}
	if b.steps/lookEvery == before {
		return true
	}
	if b.ctx.Err() != nil {
		b.why = fmt.Sprintf("check ended early: %v", context.Cause(b.ctx))
		return false
	}
	if used := bytes(); used > b.memory {
		b.why = fmt.Sprintf("memory limit of %d MiB reached: this search may have %d of it", b.bytes>>20, b.memory>>20)
		return false
	}
	return true
}
