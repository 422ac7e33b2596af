package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	bodyInterval = 500 * time.Millisecond // between questions to one node
	bodyDepth    = 6                      // heights at and below the head that are asked for
	finalBodies  = 400                    // heights of each node in the end
)

// block is the workload of that name.
func block() Workload {
	return Workload{
		Name: "block",
		Ops:  []string{"body"},
		Doc: "Every node is asked, twice a second, for a whole block at its head or a few heights below: parent, state root, root " +
			"of the receipts, and the list of transactions. At the end every height of the run is asked of every node, of runs " +
			"with more than 400 heights the same 400 of each, evenly spread.",
		New: newBlock,
	}
}

// bodies is the workload at work.
type bodies struct {
	env    Env
	start  uint64 // the lowest head of any node when the run began
	stride stride
}

func newBlock(ctx context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("block workload has no nodes, want at least one")
	}
	w := &bodies{env: env, stride: stride{most: finalBodies}}
	for i, n := range env.Nodes {
		header, err := n.HeaderAt(ctx, client.Latest)
		if err != nil {
			return nil, fmt.Errorf("block workload: %w", err)
		}
		if i == 0 || header.Number < w.start {
			w.start = header.Number
		}
	}
	return w, nil
}

// Threads returns one reader for each node.
func (w *bodies) Threads() []Thread {
	var out []Thread
	for _, n := range w.env.Nodes {
		out = append(out, &bodyReader{node: n, patience: w.env.OpTimeout, rng: w.env.split(), head: w.start})
	}
	return out
}

// Final returns nothing: what is read in the end is the chain as it then stands.
func (w *bodies) Final() []Thread { return nil }

// Closing returns one thread for each node that reads the heights of the run.
func (w *bodies) Closing() []Thread {
	var out []Thread
	for _, n := range w.env.Nodes {
		out = append(out, &bodySpan{
			span: span{node: n, patience: w.env.OpTimeout, next: w.start}, stride: &w.stride,
		})
	}
	return out
}

// bodyReader reads blocks near the head of one node.
type bodyReader struct {
	node     *client.Client
	patience time.Duration
	rng      *rand.Rand
	head     uint64 // as the node told it last
}

// Interval is 500 ms.
func (r *bodyReader) Interval() time.Duration { return bodyInterval }

// Next returns a :body op of the head, of a height below, or of the one that may
// have come since.
func (r *bodyReader) Next() (history.Op, bool) {
	n := r.head + 1
	if r.rng.IntN(4) > 0 {
		n = r.head - min(r.head, uint64(pick(r.rng, bodyDepth)))
	}
	return bodyOp(r.node, n), true
}

// Crash is never called: reads are not in doubt.
func (r *bodyReader) Crash() error { return nil }

// Invoke performs a :body op.
func (r *bodyReader) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	done, head, _ := readBody(ctx, r.node, o)
	if head > 0 {
		r.head = head
	}
	return done
}

func bodyOp(n *client.Client, height uint64) history.Op {
	return history.Op{F: "body", Value: history.Int(int64(height)), Node: n.Name()}
}

// readBody performs a :body op. head is what the node said of its own, 0 for
// nothing.
func readBody(ctx context.Context, n *client.Client, o history.Op) (done history.Op, head uint64, err error) {
	height, _ := o.Value.Int()
	b, err := n.BodyAt(ctx, uint64(height))
	if err != nil {
		return conclude(o, client.ReadOutcome(err)), b.Head, err
	}
	txs := make([]history.Value, len(b.Txs))
	for i, tx := range b.Txs {
		txs[i] = history.Text(tx.Hex())
	}
	fields := append([]history.Value(nil), blockValue(b.Header).Elems()...)
	if b.Receipts != (common.Hash{}) {
		fields = append(fields, history.Keyword("receipts"), history.Text(b.Receipts.Hex()))
	}
	if b.Miner != (common.Address{}) {
		fields = append(fields, history.Keyword("miner"), history.Text(b.Miner.Hex()))
	}
	o.Type, o.Value = history.OK, history.MapOf(append(fields, history.Keyword("txs"), history.Vec(txs...))...)
	place(&o, b.Number, b.Hash)
	return o, b.Head, nil
}

// bodySpan reads the heights of the run from one node.
type bodySpan struct {
	span
	stride *stride
}

// Interval is as quick as the node.
func (r *bodySpan) Interval() time.Duration { return time.Nanosecond }

// Next returns the :body op of the next height.
func (r *bodySpan) Next() (history.Op, bool) {
	n, ok := r.sparse(r.stride)
	if !ok {
		return history.Op{}, false
	}
	return bodyOp(r.node, n), true
}

// Crash is never called: reads are not in doubt.
func (r *bodySpan) Crash() error { return nil }

// Invoke performs a :body op.
func (r *bodySpan) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	done, _, err := readBody(ctx, r.node, o)
	r.count(err)
	return done
}

// stride keeps the number of heights that each node is asked for in the end
// within bounds, the same heights for all of them. It is safe for concurrent use.
type stride struct {
	most int

	mu   sync.Mutex
	step uint64 // 0 until the first node's head is known
}

// over returns the step from one height to the next, for a span of that many.
// The first span decides for all.
func (s *stride) over(heights uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.step == 0 {
		s.step = max(1, (heights+uint64(s.most)-1)/uint64(s.most))
	}
	return s.step
}

// sparse returns the next height of a span by the stride; ok is false after the
// last. A node that claims to be far higher than the first one was is asked for
// no more than twice as many heights.
func (s *span) sparse(by *stride) (n uint64, ok bool) {
	if n, ok = s.step(); !ok {
		return 0, false
	}
	step := by.over(s.last - n + 1)
	s.next = n + step
	if s.asked++; s.asked > 2*by.most {
		return 0, false
	}
	return n, true
}

// count notes whether the node answered.
func (s *span) count(err error) {
	if s.failures++; err == nil {
		s.failures = 0
	}
}
