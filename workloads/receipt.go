package workloads

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	receiptInterval = 200 * time.Millisecond // between questions to one node
	fewReceipts     = 40                     // the newest transactions, which most questions are about
	finalReceipts   = 300                    // transactions that every node is asked for in the end
)

// receipt is the workload of that name.
func receipt() Workload {
	return Workload{
		Name: "receipt",
		Ops:  []string{"receipt"},
		Doc: "Every node is asked, five times a second, for the receipt of a transaction that some workload of the run made " +
			"through any node, mostly one of the newest. At the end each node is asked for the same 300 of them, a third the " +
			"newest. It makes no transactions of its own: run it beside workloads that do.",
		New: func(_ context.Context, env Env) (Instance, error) { return &receipts{env: env}, nil },
	}
}

// receipts is the workload at work.
type receipts struct{ env Env }

// Threads returns one reader for each node.
func (w *receipts) Threads() []Thread {
	var out []Thread
	for _, n := range w.env.Nodes {
		rng := w.env.split()
		out = append(out, &receiptReader{
			node: n, patience: w.env.OpTimeout, interval: receiptInterval,
			draw: func() (common.Hash, bool) { return w.env.Book.recent.draw(rng, fewReceipts) },
		})
	}
	return out
}

// Final returns nothing: what is read in the end is the chain as it then stands.
func (w *receipts) Final() []Thread { return nil }

// Closing returns one reader for each node, all of the same transactions.
func (w *receipts) Closing() []Thread {
	sample := w.env.Book.recent.sample(w.env.split(), finalReceipts)
	var out []Thread
	for _, n := range w.env.Nodes {
		r := &receiptReader{node: n, patience: w.env.OpTimeout, interval: time.Nanosecond}
		next := 0
		r.draw = func() (common.Hash, bool) {
			// A node that hangs would else take the operation timeout for each.
			if next == len(sample) || r.failures >= enoughFailures {
				return common.Hash{}, false
			}
			next++
			return sample[next-1], true
		}
		out = append(out, r)
	}
	return out
}

// receiptReader asks one node for receipts.
type receiptReader struct {
	node     *client.Client
	patience time.Duration
	interval time.Duration
	draw     func() (common.Hash, bool)
	failures int // in a row
}

// Interval is 200 ms, and in the end as quick as the node.
func (r *receiptReader) Interval() time.Duration { return r.interval }

// Next returns a :receipt op. Before the first transaction of the run there is
// none to ask for: then it is one that nobody has made.
func (r *receiptReader) Next() (history.Op, bool) {
	tx, ok := r.draw()
	if !ok && r.interval != receiptInterval {
		return history.Op{}, false
	}
	return history.Op{F: "receipt", Value: history.Text(tx.Hex()), Node: r.node.Name()}, true
}

// Crash is never called: reads are not in doubt.
func (r *receiptReader) Crash() error { return nil }

// Invoke performs a :receipt op.
func (r *receiptReader) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	answer := r.node.Receipts(ctx, []common.Hash{common.HexToHash(o.Value.Text())})[0]
	if r.failures++; answer.Err != nil {
		return conclude(o, client.ReadOutcome(answer.Err))
	}
	r.failures = 0
	o.Type, o.Value = history.OK, history.Value{}
	if got := answer.Value; got != nil {
		o.Value = receiptValue(got)
		place(&o, got.Number, got.BlockHash)
	}
	return o
}

// receiptValue renders a receipt as R of the history. What the node did not say
// is left out.
func receiptValue(r *client.Receipt) history.Value {
	fields := []history.Value{
		history.Keyword("n"), history.Int(int64(r.Number)),
		history.Keyword("h"), history.Text(r.BlockHash.Hex()),
	}
	if r.Index >= 0 {
		fields = append(fields, history.Keyword("i"), history.Int(r.Index))
	}
	status := int64(0)
	if r.OK {
		status = 1
	}
	fields = append(fields, history.Keyword("status"), history.Int(status))
	if r.From != (common.Address{}) {
		fields = append(fields, history.Keyword("from"), history.Text(r.From.Hex()))
	}
	if r.Gas >= 0 {
		fields = append(fields, history.Keyword("gas"), history.Int(r.Gas))
	}
	logs := make([]history.Value, len(r.Logs))
	for i, l := range r.Logs {
		logs[i] = logValue(l)
	}
	return history.MapOf(append(fields, history.Keyword("logs"), history.Vec(logs...))...)
}

// logValue renders a log: its index in the block, its contract, its first topic,
// and a hash of everything else that it says.
func logValue(l client.Log) history.Value {
	var first history.Value
	var rest []byte
	for i, topic := range l.Topics {
		if i == 0 {
			first = history.Text(topic.Hex())
		} else {
			rest = append(rest, topic[:]...)
		}
	}
	rest = append(rest, l.Data...)
	return history.Vec(history.Int(l.Index), history.Text(l.Address.Hex()), first, history.Text(crypto.Keccak256Hash(rest).Hex()))
}

// pick returns one of the numbers from 0 to n-1, mostly a small one.
func pick(rng *rand.Rand, n int) int { return min(rng.IntN(n), rng.IntN(n)) }
