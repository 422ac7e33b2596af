package workloads

import (
	"context"
	"sync"
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
	asked    int // by sparse
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
	s.count(answer.Err)
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

// blockWalk is the last thread of a node: it reads the transactions of every
// block that the book knows how to read.
type blockWalk struct {
	span
	book   *Book
	served *served
	tried  map[uint64]bool // heights that were asked for once more
}

// Interval is as quick as the node.
func (w *blockWalk) Interval() time.Duration { return time.Nanosecond }

// Crash is never called: reads are not in doubt.
func (w *blockWalk) Crash() error { return nil }

// Next returns the :txs op of the next height, and after the last one those
// that a node took and failed to tell.
func (w *blockWalk) Next() (history.Op, bool) {
	n, ok := w.step()
	if !ok {
		if n, ok = w.served.left(w.tried); !ok {
			return history.Op{}, false
		}
		w.tried[n] = true
	}
	return history.Op{F: "txs", Value: history.Int(int64(n)), Node: w.node.Name()}, true
}

// Invoke performs a :txs op.
func (w *blockWalk) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	n, _ := o.Value.Int()
	h, err := w.header(ctx, uint64(n))
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

// transactions decodes those transactions of a block that are in the book.
func (w *blockWalk) transactions(ctx context.Context, h client.Header) ([]history.Value, error) {
	block, err := w.node.BlockByHash(ctx, h.Hash)
	if err != nil {
		return nil, err
	}
	var hashes []common.Hash
	var meanings []Meaning
	for _, tx := range block.Txs {
		if m, ok := w.book.decode(tx); ok {
			hashes, meanings = append(hashes, tx.Hash), append(meanings, m)
		}
	}
	ops := make([]history.Value, 0, len(hashes))
	for len(hashes) > 0 {
		n := min(receiptBatch, len(hashes))
		for i, a := range w.node.Receipts(ctx, hashes[:n]) {
			if a.Err != nil {
				return nil, a.Err
			}
			e, err := entry(h, hashes[i], meanings[i], a.Value)
			if err != nil {
				return nil, err
			}
			ops = append(ops, e)
		}
		hashes, meanings = hashes[n:], meanings[n:]
	}
	return ops, nil
}
