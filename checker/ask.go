package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// asker is a Stream that cannot judge by events alone. Independent asks the
// source once for what all of its askers need.
type asker interface {
	// asks returns the positions whose ops Finish will ask for, in order.
	asks() []int
}

// askedAtOnce is how many ops are held in memory at a time.
const askedAtOnce = 1 << 16

// eachOp calls f with the ops at those positions, which are in order.
func eachOp(ctx context.Context, src history.Source, positions []int, f func(*history.Op)) error {
	for len(positions) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(len(positions), askedAtOnce)
		ops, err := src.Ops(positions[:n])
		if err != nil {
			return err
		}
		if len(ops) != n {
			return fmt.Errorf("source gave %d ops for %d positions", len(ops), n)
		}
		for i := range ops {
			f(&ops[i])
		}
		positions = positions[n:]
	}
	return nil
}
