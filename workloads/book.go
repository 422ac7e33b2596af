package workloads

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Book is what the workloads of one run tell each other: what the transactions
// to their addresses mean, whose accounts they sign with, and which transactions
// there have been. It is safe for concurrent use.
type Book struct {
	mu       sync.Mutex
	decoders map[common.Address]Decoder
	start    uint64 // the lowest height of them
	senders  []common.Address

	recent recent
}

// NewBook returns an empty book.
func NewBook() *Book { return &Book{decoders: make(map[common.Address]Decoder)} }

// Decoder reads a transaction to an address of a workload. It is false for what
// is none of the workload's operations. The meaning is asked for once the
// transaction's receipt is known.
type Decoder func(tx client.BlockTx) (Meaning, bool)

// Meaning gives what stands between the hash and the status of a transaction in
// a :txs op: the operation, and the parts that its value has there.
type Meaning func(r *client.Receipt) ([]history.Value, error)

// does is the meaning of a transaction that its receipt adds nothing to.
func does(f string, value ...history.Value) Meaning {
	parts := append([]history.Value{history.Keyword(f)}, value...)
	return func(*client.Receipt) ([]history.Value, error) { return parts, nil }
}

// Add says how to read the transactions to an address, from the block at a
// height on.
func (b *Book) Add(to common.Address, height uint64, d Decoder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.decoders) == 0 || height < b.start {
		b.start = height
	}
	b.decoders[to] = d
}

// decode reads a transaction; false when it is nobody's.
func (b *Book) decode(tx client.BlockTx) (Meaning, bool) {
	if tx.To == nil {
		return nil, false
	}
	b.mu.Lock()
	d := b.decoders[*tx.To]
	b.mu.Unlock()
	if d == nil {
		return nil, false
	}
	return d(tx)
}

// sender notes an account that transactions are signed with from now on.
func (b *Book) sender(who common.Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.senders = append(b.senders, who)
}

// Senders lists the accounts that have signed operations, in the order of their
// first.
func (b *Book) Senders() []common.Address {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]common.Address(nil), b.senders...)
}

// addresses lists those that the book knows how to read, sorted.
func (b *Book) addresses() []common.Address {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Keys(b.decoders), common.Address.Cmp)
}

// signed notes a transaction that was signed and is done with, whatever became of
// it, for others to ask about.
func (b *Book) signed(tx common.Hash) { b.recent.add(tx) }

// Walk returns one thread for each node that reads the transactions of every
// block from the first height of the book on, of whatever workload (:txs). They
// are to be started when no more transactions are made. There are none when the
// book is empty.
func (b *Book) Walk(nodes []*client.Client, patience time.Duration) []Thread {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.decoders) == 0 {
		return nil
	}
	var out []Thread
	told := newServed()
	for _, n := range nodes {
		out = append(out, &blockWalk{
			span: span{node: n, patience: patience, next: b.start}, book: b, served: told, tried: make(map[uint64]bool),
		})
	}
	return out
}

// entry renders a transaction of a block with what its receipt says.
func entry(h client.Header, tx common.Hash, m Meaning, r *client.Receipt) (history.Value, error) {
	if r == nil || r.BlockHash != h.Hash {
		return history.Value{}, fmt.Errorf("transaction %s is in block %d %s, and its receipt is not", tx, h.Number, h.Hash)
	}
	parts, err := m(r)
	if err != nil {
		return history.Value{}, err
	}
	status := "reverted"
	if r.OK {
		status = "ok"
	}
	elems := append([]history.Value{history.Text(tx.Hex())}, parts...)
	return history.Vec(append(elems, history.Keyword(status))...), nil
}
