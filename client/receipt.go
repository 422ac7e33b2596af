package client

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Log is one event that a contract reported.
type Log struct {
	Address common.Address
	Topics  []common.Hash
	Data    []byte
	Index   int64 // in its block, over all transactions; -1 when the node does not say
}

// Receipt says which block a transaction is in and what it did.
type Receipt struct {
	Tx        common.Hash
	BlockHash common.Hash
	Number    uint64
	Index     int64           // in its block; -1 when the node does not say
	OK        bool            // status 1; else the transaction was reverted
	From      common.Address  // zero when the node does not say
	Gas       int64           // units that it used; -1 when the node does not say
	Contract  *common.Address // what it created, if anything
	Logs      []Log
}

// Receipts asks for receipts in one batch. A transaction that is in no block
// (yet) has a nil receipt and no error.
func (c *Client) Receipts(ctx context.Context, txs []common.Hash) []Answer[*Receipt] {
	reqs := make([]request, len(txs))
	for i, tx := range txs {
		reqs[i] = request{method: "eth_getTransactionReceipt", args: []any{tx}}
	}
	c.batch(ctx, reqs)
	answers := make([]Answer[*Receipt], len(txs))
	for i := range reqs {
		r, err := c.receipt(&reqs[i], txs[i])
		answers[i] = Answer[*Receipt]{r, err}
	}
	return answers
}

func (c *Client) receipt(r *request, tx common.Hash) (*Receipt, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.absent() {
		return nil, nil
	}
	var wire struct {
		Tx        *common.Hash    `json:"transactionHash"`
		BlockHash *common.Hash    `json:"blockHash"`
		Number    *hexutil.Uint64 `json:"blockNumber"`
		Index     *hexutil.Uint64 `json:"transactionIndex"`
		Status    *hexutil.Uint64 `json:"status"`
		From      *common.Address `json:"from"`
		Gas       *hexutil.Uint64 `json:"gasUsed"`
		Contract  *common.Address `json:"contractAddress"`
		Logs      []struct {
			Address common.Address  `json:"address"`
			Topics  []common.Hash   `json:"topics"`
			Data    hexutil.Bytes   `json:"data"`
			Index   *hexutil.Uint64 `json:"logIndex"`
		} `json:"logs"`
	}
	if err := json.Unmarshal(r.raw, &wire); err != nil {
		return nil, c.fault(r.method, malformed("receipt of %s: %v", tx, err))
	}
	if wire.Tx == nil || *wire.Tx != tx {
		return nil, c.fault(r.method, malformed("receipt of %s was asked for, another answered", tx))
	}
	if wire.BlockHash == nil && wire.Number == nil {
		return nil, nil // some nodes give a receipt to what is still in the pool
	}
	if wire.BlockHash == nil || wire.Number == nil || wire.Status == nil || uint64(*wire.Number) > math.MaxInt64 || *wire.Status > 1 {
		return nil, c.fault(r.method, malformed("receipt of %s lacks a proper blockHash, blockNumber or status", tx))
	}
	out := &Receipt{
		Tx: tx, BlockHash: *wire.BlockHash, Number: uint64(*wire.Number), Index: count(wire.Index), OK: *wire.Status == 1,
		Gas: count(wire.Gas), Contract: wire.Contract,
	}
	if wire.From != nil {
		out.From = *wire.From
	}
	for _, l := range wire.Logs {
		out.Logs = append(out.Logs, Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Index: count(l.Index)})
	}
	return out, nil
}

// count reads a number that may be missing, or absurd: -1 then.
func count(i *hexutil.Uint64) int64 {
	if i == nil || uint64(*i) > math.MaxInt64 {
		return -1
	}
	return int64(*i)
}

const (
	pollHead     = 50 * time.Millisecond  // between looks at the head, and from a new head's asking to its repeat
	pollSlow     = 500 * time.Millisecond // between askings while the head stands still, and looks that fail
	pollPatience = 2 * time.Second        // for one request to be answered
	pollBatch    = 50                     // receipts in one batch
)

// receiptPoll asks for all awaited receipts of one node together. A receipt
// comes with a block, so it looks at the head's number often, which costs the
// same for any number of clients, and asks for receipts when that has changed.
// It asks again shortly after, as nodes can know a block before its receipts,
// then ever more slowly, and twice a second in any case, so that nothing depends
// on what the node calls its head. Its goroutine lives as long as somebody waits.
type receiptPoll struct {
	head func(context.Context) (uint64, error)
	ask  func(context.Context, []common.Hash) []Answer[*Receipt]

	mu      sync.Mutex
	waiting map[common.Hash]chan<- *Receipt
	running bool
	last    error // why the last poll told nothing
}

// await returns where the receipt of tx will arrive; stop ends the waiting and
// must be called. A transaction has at most one waiter.
func (p *receiptPoll) await(tx common.Hash) (arrives <-chan *Receipt, stop func()) {
	ch := make(chan *Receipt, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[common.Hash]chan<- *Receipt)
	}
	p.waiting[tx] = ch
	if !p.running {
		p.running = true
		go p.run()
	}
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, tx)
	}
}

// lastError returns what went wrong in the last poll, if anything.
func (p *receiptPoll) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *receiptPoll) run() {
	var (
		seen  uint64     // the head at the last asking
		pause = pollHead // from an asking to the next, while the head stands still
		due   time.Time  // when that is
		delay = pollHead
	)
	for p.wanted() {
		time.Sleep(delay)
		head, ok := p.look()
		if delay = min(delay*5/4, pollSlow); ok {
			delay = pollHead
		}
		switch {
		case ok && head != seen:
			seen, pause = head, pollHead
		case time.Now().Before(due):
			continue
		default:
			pause = min(pause*3, pollSlow)
		}
		p.askAll()
		due = time.Now().Add(pause)
	}
}

// wanted is false when nobody waits; then the goroutine has to end.
func (p *receiptPoll) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = len(p.waiting) > 0
	return p.running
}

// look asks for the head's number.
func (p *receiptPoll) look() (head uint64, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), pollPatience)
	defer cancel()
	head, err := p.head(ctx)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = err
	}
	return head, err == nil
}

// askAll asks for every awaited receipt.
func (p *receiptPoll) askAll() {
	for _, txs := range p.chunks() {
		ctx, cancel := context.WithTimeout(context.Background(), pollPatience)
		answers := p.ask(ctx, txs)
		cancel()
		p.deliver(txs, answers)
	}
}

func (p *receiptPoll) chunks() [][]common.Hash {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out [][]common.Hash
	for tx := range p.waiting {
		if n := len(out); n == 0 || len(out[n-1]) == pollBatch {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], tx)
	}
	return out
}

// deliver hands the receipts out.
func (p *receiptPoll) deliver(txs []common.Hash, answers []Answer[*Receipt]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = nil
	for i, a := range answers {
		if a.Err != nil {
			p.last = a.Err
			continue
		}
		ch, ok := p.waiting[txs[i]]
		if a.Value == nil || !ok {
			continue
		}
		ch <- a.Value // has room: each waiter gets one receipt
		delete(p.waiting, txs[i])
	}
}
