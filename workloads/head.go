package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	headInterval = 250 * time.Millisecond
	// longestWalk bounds the blocks that one :head op fills in. Of a longer gap
	// only the newest are; the final phase asks for every height.
	longestWalk = 512
	headerBatch = 64 // headers in one request
)

// head is the workload of that name.
func head() Workload {
	return Workload{
		Name: "head",
		Ops:  []string{"head", "block"},
		Doc: "A watcher on every node asks four times a second for latest, safe and finalized in one batch, and fills the heights " +
			"that it missed by parent. At the end every height of the run is asked of every node.",
		New: newHead,
	}
}

// heads is the workload at work.
type heads struct {
	env   Env
	start uint64 // the lowest head of any node when the run began
}

func newHead(ctx context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("head workload has no nodes, want at least one")
	}
	h := &heads{env: env}
	for i, n := range env.Nodes {
		header, err := n.HeaderAt(ctx, client.Latest)
		if err != nil {
			return nil, fmt.Errorf("head workload: %w", err)
		}
		if i == 0 || header.Number < h.start {
			h.start = header.Number
		}
	}
	return h, nil
}

// Threads returns one watcher for each node.
func (h *heads) Threads() []Thread {
	var out []Thread
	for _, n := range h.env.Nodes {
		out = append(out, &watcher{node: n, patience: h.env.OpTimeout})
	}
	return out
}

// Final returns one thread for each node that asks for its tags a few times more:
// what came late in the run is final only now.
func (h *heads) Final() []Thread {
	var out []Thread
	for _, n := range h.env.Nodes {
		out = append(out, &lastHeads{watcher{node: n, patience: h.env.OpTimeout}, finalHeads})
	}
	return out
}

// finalHeads is how often a node is asked for its tags in the end.
const finalHeads = 4

// lastHeads is a watcher that ends.
type lastHeads struct {
	watcher
	left int
}

// Next returns a :head op, a few times.
func (l *lastHeads) Next() (history.Op, bool) {
	l.left--
	if l.left < 0 {
		return history.Op{}, false
	}
	return l.watcher.Next()
}

// Closing returns one thread for each node that reads every height of the run.
func (h *heads) Closing() []Thread {
	var out []Thread
	for _, n := range h.env.Nodes {
		out = append(out, &heightReader{span{node: n, patience: h.env.OpTimeout, next: h.start}})
	}
	return out
}

// watcher asks one node for its head.
type watcher struct {
	node     *client.Client
	patience time.Duration
	seen     bool
	last     uint64 // the head seen last
}

// Interval is 250 ms.
func (w *watcher) Interval() time.Duration { return headInterval }

// Next returns a :head op, without end.
func (w *watcher) Next() (history.Op, bool) {
	return history.Op{F: "head", Node: w.node.Name()}, true
}

// Crash is never called: reads are not in doubt.
func (w *watcher) Crash() error { return nil }

// Invoke performs a :head op.
func (w *watcher) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	h, err := w.node.Head(ctx)
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	fields := []history.Value{
		history.Keyword("latest"), blockValue(h.Latest),
		history.Keyword("safe"), tagValue(h.Safe),
		history.Keyword("finalized"), tagValue(h.Finalized),
	}
	filled := true
	if w.seen && h.Latest.Number > w.last+1 {
		var walk []history.Value
		if walk, filled = w.walk(ctx, h.Latest, w.last+1); len(walk) > 0 {
			fields = append(fields, history.Keyword("walk"), history.Vec(walk...))
		}
	}
	if filled { // else the next head tries again
		w.seen, w.last = true, h.Latest.Number
	}
	o.Type, o.Value = history.OK, history.MapOf(fields...)
	place(&o, h.Latest.Number, h.Latest.Hash)
	return o
}

func tagValue(h *client.Header) history.Value {
	if h == nil {
		return history.Value{}
	}
	return blockValue(*h)
}

// walk follows the parents of top down to the height from, and returns them
// oldest first. Headers come by number, many at a time; what does not link to
// the block above it, because the chain was reorganised meanwhile, is asked for
// by hash. filled is false when the node failed to answer all of it.
func (w *watcher) walk(ctx context.Context, top client.Header, from uint64) (blocks []history.Value, filled bool) {
	if top.Number-from > longestWalk {
		from = top.Number - longestWalk
	}
	want := top.Parent
	filled = true
	for n := top.Number; filled && n > from; {
		var heights []uint64
		for h := n - 1; len(heights) < headerBatch; h-- {
			heights = append(heights, h)
			if h == from {
				break
			}
		}
		for i, a := range w.node.Headers(ctx, heights) {
			h := a.Value
			if a.Err != nil || h.Hash != want {
				var err error
				if h, err = w.node.HeaderByHash(ctx, want); err != nil || h.Number != heights[i] {
					filled = false
					break
				}
			}
			blocks = append(blocks, blockValue(h))
			want, n = h.Parent, h.Number
		}
	}
	slices.Reverse(blocks)
	return blocks, filled
}

// heightReader reads every height of a node.
type heightReader struct{ span }

// Interval is as quick as the node.
func (r *heightReader) Interval() time.Duration { return time.Nanosecond }

// Next returns the :block op of the next height.
func (r *heightReader) Next() (history.Op, bool) {
	n, ok := r.step()
	if !ok {
		return history.Op{}, false
	}
	return history.Op{F: "block", Value: history.Int(int64(n)), Node: r.node.Name()}, true
}

// Crash is never called: reads are not in doubt.
func (r *heightReader) Crash() error { return nil }

// Invoke performs a :block op.
func (r *heightReader) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	n, _ := o.Value.Int()
	h, err := r.header(ctx, uint64(n))
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	o.Type, o.Value = history.OK, blockValue(h)
	place(&o, h.Number, h.Hash)
	return o
}
