package devnet

import (
	"context"
	"fmt"
	"time"
)

// AwaitGone waits until this very incarnation of a process runs no more. It need
// be no child of this one.
func AwaitGone(ctx context.Context, id Identity) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for Alive(id) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %s has not ended: %w", id, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}
