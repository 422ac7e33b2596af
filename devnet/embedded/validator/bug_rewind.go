package validator

import (
	"context"
	"sync"
	"time"
)

const (
	rewindBlocks = 5               // how far back
	rewindFor    = 8 * time.Second // counted from the first request
)

// rewind pretends that a restarted node lost its newest blocks for a while: the
// block tags name an older block than before the restart.
type rewind struct {
	old uint64 // what the tags mean

	mu  sync.Mutex
	end time.Time
}

// newRewind takes the head at the start of the node: 0 means that this is its
// first start, when there is nothing to go back on.
func newRewind(node honest) rewriter {
	head := node.head()
	if head == 0 {
		return truth{}
	}
	return &rewind{old: max(head, rewindBlocks) - rewindBlocks}
}

func (w *rewind) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end.IsZero() {
		w.end = time.Now().Add(rewindFor)
	}
	return time.Now().Before(w.end)
}

func (w *rewind) question(_ context.Context, c *call) *reply {
	if !w.active() {
		return nil
	}
	return meaning(c, w.old, "latest", "safe", "finalized")
}

func (w *rewind) answer(context.Context, *call, *reply) {}

// truth is no lie at all.
type truth struct{}

func (truth) question(context.Context, *call) *reply { return nil }
func (truth) answer(context.Context, *call, *reply)  {}
