package workloads

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const receiptBatch = 50 // receipts in one request

// span is the heights that a final thread asks for: from a height to the node's
// head, as it is when the thread begins. Each is asked for when its operation is
// invoked, never before.
type span struct {
	node     *client.Client
	patience time.Duration
	next     uint64
	last     uint64
	begun    bool
	failures int // in a row
}

// enoughFailures ends a span: a node that hangs would else take the operation
// timeout for each of its heights, and one that lies about its head for ever.
const enoughFailures = 5

// step returns the next height; ok is false after the last, and after five
// failures in a row. The first step asks for the head, which only says where the
// span ends, again and again until patience ends; then the span is its first
// height, so that the history shows what the node answers.
func (s *span) step() (n uint64, ok bool) {
	if !s.begun {
		s.begun, s.last = true, max(s.next, s.head())
	}
	if s.next > s.last || s.failures >= enoughFailures {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// extend makes the span reach to the node's present head; false when it does
// already.
func (s *span) extend() bool {
	last := s.last
	s.last = max(last, s.head())
	return s.last > last
}

func (s *span) head() uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	for {
		h, err := s.node.HeaderAt(ctx, client.Latest)
		if err == nil {
			return h.Number
		}
		select {
		case <-ctx.Done():
			return 0
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// header asks for the header at a height.
func (s *span) header(ctx context.Context, n uint64) (client.Header, error) {
	answer := s.node.Headers(ctx, []uint64{n})[0]
	if s.failures++; answer.Err == nil {
		s.failures = 0
	}
	return answer.Value, answer.Err
}

// served is the blocks whose transactions some node has told, so that each is
// read once. It is safe for concurrent use.
type served struct {
	mu    sync.Mutex
	taken map[common.Hash]bool
	again []uint64 // heights of blocks that a node took and could not tell
}

func newServed() *served { return &served{taken: make(map[common.Hash]bool)} }

// take reserves a block; false means that somebody has it.
func (s *served) take(h common.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[h] {
		return false
	}
	s.taken[h] = true
	return true
}

// release gives a block back that could not be told.
func (s *served) release(h client.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, h.Hash)
	s.again = append(s.again, h.Number)
}

// left returns a height to ask for once more that is not in tried, and takes it
// from the list.
func (s *served) left(tried map[uint64]bool) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.again {
		if !tried[n] {
			s.again = append(s.again[:i], s.again[i+1:]...)
			return n, true
		}
	}
	return 0, false
}

// readers are the clients of the final reads, whose transactions go into blocks
// that the walks should still see.
type readers struct {
	left atomic.Int64
	done chan struct{}
}

func newReaders(n int) *readers {
	r := &readers{done: make(chan struct{})}
	if r.left.Store(int64(n)); n == 0 {
		close(r.done)
	}
	return r
}

// end says that one of them has ended.
func (r *readers) end() {
	if r.left.Add(-1) == 0 {
		close(r.done)
	}
}

// blockWalk is the final thread of a node that reads the register transactions
// of every block since the deployment.
type blockWalk struct {
	*registers
	node    *client.Client
	served  *served
	readers *readers
	span    *span
	whole   bool            // the span reaches to where the final reads are
	tried   map[uint64]bool // heights that were asked for once more
}

// Interval is as quick as the node.
func (w *blockWalk) Interval() time.Duration { return time.Nanosecond }

// Crash is never called: reads are not in doubt.
func (w *blockWalk) Crash() error { return nil }

// Next returns the :txs op of the next height, and after the last one those
// that a node took and failed to tell.
func (w *blockWalk) Next() (history.Op, bool) {
	if w.span == nil {
		w.span = &span{node: w.node, patience: w.env.OpTimeout, next: w.contract.height}
		w.tried = make(map[uint64]bool)
	}
	n, ok := w.span.step()
	if !ok {
		if n, ok = w.served.left(w.tried); !ok {
			return history.Op{}, false
		}
		w.tried[n] = true
	}
	return history.Op{F: "txs", Value: history.Int(int64(n)), Node: w.node.Name()}, true
}

// follow makes the walk go on while final reads are under way: at its last
// height it waits for them, an operation timeout at the most, and reaches for
// the blocks that came meanwhile. When none came it gives the reads up.
func (w *blockWalk) follow(ctx context.Context) {
	if w.whole || w.span.next <= w.span.last {
		return
	}
	limit := time.NewTimer(w.env.OpTimeout)
	defer limit.Stop()
	select {
	case <-w.readers.done:
		w.whole = true
	case <-ctx.Done():
		w.whole = true
		return
	case <-limit.C:
	}
	if !w.span.extend() {
		w.whole = true
	}
}

// Invoke performs a :txs op.
func (w *blockWalk) Invoke(ctx context.Context, o history.Op) history.Op {
	defer w.follow(ctx)
	ctx, cancel := context.WithTimeout(ctx, w.env.OpTimeout)
	defer cancel()
	n, _ := o.Value.Int()
	h, err := w.span.header(ctx, uint64(n))
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	fields := []history.Value{
		history.Keyword("n"), history.Int(int64(h.Number)),
		history.Keyword("h"), history.Text(h.Hash.Hex()),
		history.Keyword("parent"), history.Text(h.Parent.Hex()),
	}
	if w.served.take(h.Hash) {
		ops, err := w.transactions(ctx, h)
		if err != nil {
			w.served.release(h)
			return conclude(o, client.ReadOutcome(err))
		}
		fields = append(fields, history.Keyword("ops"), history.Vec(ops...))
	}
	o.Type, o.Value = history.OK, history.MapOf(fields...)
	place(&o, h.Number, h.Hash)
	return o
}

// transactions decodes the register transactions of a block.
func (w *blockWalk) transactions(ctx context.Context, h client.Header) ([]history.Value, error) {
	block, err := w.node.BlockByHash(ctx, h.Hash)
	if err != nil {
		return nil, err
	}
	var hashes []common.Hash
	var changes []change
	for _, tx := range block.Txs {
		if c, ok := w.contract.decode(tx); ok {
			hashes, changes = append(hashes, tx.Hash), append(changes, c)
		}
	}
	ops := make([]history.Value, 0, len(changes))
	for len(hashes) > 0 {
		n := min(receiptBatch, len(hashes))
		for i, a := range w.node.Receipts(ctx, hashes[:n]) {
			if a.Err != nil {
				return nil, a.Err
			}
			entry, err := w.entry(h, changes[i], hashes[i], a.Value)
			if err != nil {
				return nil, err
			}
			ops = append(ops, entry)
		}
		hashes, changes = hashes[n:], changes[n:]
	}
	return ops, nil
}

// entry renders one transaction with what its receipt says.
func (w *blockWalk) entry(h client.Header, c change, tx common.Hash, r *client.Receipt) (history.Value, error) {
	if r == nil || r.BlockHash != h.Hash {
		return history.Value{}, fmt.Errorf("transaction %s is in block %d %s, and its receipt is not", tx, h.Number, h.Hash)
	}
	status := "reverted"
	if r.OK {
		status = "ok"
	}
	if r.OK && c.f == "read" {
		v, ok := w.contract.readEvent(r, c.key)
		if !ok {
			return history.Value{}, fmt.Errorf("receipt of read %s has no Read event", tx)
		}
		c.value = registerValue(v)
	}
	return history.Vec(history.Text(tx.Hex()), history.Keyword(c.f), history.BigOf(c.key), c.value, history.Keyword(status)), nil
}
