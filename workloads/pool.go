package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	slotAttempts = 4      // transactions of one slot, at most
	firstFee     = 100    // percent of what a transaction usually pays
	poolGas      = 21_000 // a native transfer
	// leastTip is enough for a percent of it to be a number.
	leastTip     = 1000 // wei a unit of gas
	poolInterval = time.Second
)

// pool is the workload of that name.
func pool() Workload {
	return Workload{
		Name: "pool",
		Ops:  []string{"submit", "replace", "cancel", "pool"}, Submits: true,
		Doc: "Transactions compete for slots, a sender's nonce each: one client submits, others replace its transaction by one " +
			"that pays more, or cancel it by a payment to itself, each through its own node. A block has one of a slot's " +
			"transactions at the most. Now and then a replacement pays too little more. Every second each pool is asked what it holds, as a sample.",
		New: newPool,
	}
}

// contests is the workload at work.
type contests struct {
	env   Env
	fees  client.Fees
	sink  common.Address // where submitted payments go
	reads bool           // the nodes tell what is in their pools

	mu    sync.Mutex
	next  int64
	turns int        // replacements drawn
	open  []*contest // oldest first
}

// contest is a slot that is open for replacements.
type contest struct {
	id       int64
	slot     *client.Slot
	fee      int64 // of the newest attempt, in percent
	attempts int
}

func newPool(ctx context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("pool workload has no nodes, want at least one")
	}
	w := newContests(env)
	for _, n := range env.Nodes {
		if _, err := n.Pool(ctx, nil); err != nil {
			w.reads = false
		}
	}
	return w, nil
}

func newContests(env Env) *contests {
	return &contests{env: env, fees: env.Fees.AtLeast(leastTip), reads: true, sink: common.BytesToAddress(crypto.Keccak256([]byte("pool"), env.Deployer.Address.Bytes()))}
}

// Strong draws a :submit, or a :replace or :cancel of a slot that is open.
func (w *contests) Strong(rng *rand.Rand) history.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) > 0 && rng.IntN(3) > 0 {
		if c := w.open[rng.IntN(len(w.open))]; c.attempts < slotAttempts {
			c.attempts++
			// They take turns, so that a short run has enough of both to see each win.
			f := "replace"
			if w.turns++; w.turns%2 == 0 {
				f = "cancel"
			}
			fee := c.fee + c.fee/4
			if f == "replace" && rng.IntN(5) == 0 {
				fee = c.fee + c.fee/20 // less than nodes want for a replacement
			} else {
				c.fee = fee
			}
			return history.Op{F: f, Value: slotValue(c.id, fee)}
		}
	}
	w.next++
	return history.Op{F: "submit", Value: slotValue(w.next-1, firstFee)}
}

func slotValue(slot, fee int64) history.Value {
	return history.MapOf(history.Keyword("slot"), history.Int(slot), history.Keyword("fee"), history.Int(fee))
}

// Kinds: a cancel that nobody draws in a short run would leave it without a verdict.
func (w *contests) Kinds() int { return 3 }

// Local is false: samples of pools have a pace of their own.
func (w *contests) Local(*rand.Rand) (history.Op, bool) { return history.Op{}, false }

// Threads returns one client for each node that samples its pool.
func (w *contests) Threads() []Thread { return w.readers(-1) }

// Final asks every node once more what its pool holds.
func (w *contests) Final() []Thread { return w.readers(1) }

// Closing returns nothing.
func (w *contests) Closing() []Thread { return nil }

func (w *contests) readers(times int) []Thread {
	if !w.reads {
		return nil
	}
	var out []Thread
	for _, n := range w.env.Nodes {
		out = append(out, &poolReader{of: w, node: n, left: times})
	}
	return out
}

// poolReader samples the pool of one node.
type poolReader struct {
	of   *contests
	node *client.Client
	left int // ops to do, -1 for no end
}

// Interval is a second.
func (r *poolReader) Interval() time.Duration { return poolInterval }

// Next returns a :pool op.
func (r *poolReader) Next() (history.Op, bool) {
	if r.left == 0 {
		return history.Op{}, false
	}
	if r.left > 0 {
		r.left--
	}
	return history.Op{F: "pool", Node: r.node.Name()}, true
}

// Crash is never called: reads are not in doubt.
func (r *poolReader) Crash() error { return nil }

// Invoke performs a :pool op.
func (r *poolReader) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.of.env.OpTimeout)
	defer cancel()
	return r.of.read(ctx, r.node, o)
}

// Invoke performs a :submit, :replace or :cancel.
func (w *contests) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	id, okSlot := fieldOf(o.Value, "slot")
	fee, okFee := fieldOf(o.Value, "fee")
	if !okSlot || !okFee || fee < 1 {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not {:slot number :fee percent}", o.Value))
	}
	if o.F == "submit" {
		return w.submit(ctx, s, o, id, fee)
	}
	c := w.find(id)
	if c == nil {
		return failed(o, client.Refused, fmt.Sprintf("not sent: slot %d is settled", id))
	}
	do := w.payment(fee)
	if o.F == "cancel" {
		own := c.slot.Sender()
		do = client.Action{To: &own, Gas: poolGas}
	}
	return w.compete(ctx, s, o, c.slot, fee, do)
}

func fieldOf(v history.Value, name string) (int64, bool) {
	field, _ := v.Field(name)
	return field.Int()
}

// payment is what is submitted, and what replaces it: of another amount, so that
// no two of a slot are the same transaction.
func (w *contests) payment(fee int64) client.Action {
	return client.Action{To: &w.sink, Value: big.NewInt(fee), Gas: poolGas}
}

// submit opens a slot of the client's own account and waits until it is settled.
func (w *contests) submit(ctx context.Context, s *Sender, o history.Op, id, fee int64) history.Op {
	if err := s.openAccount(); err != nil {
		return failed(o, client.Refused, err.Error())
	}
	c := &contest{id: id, slot: s.account.NextSlot(), fee: fee, attempts: 1}
	w.mu.Lock()
	w.open = append(w.open, c)
	w.mu.Unlock()
	done := w.compete(ctx, s, o, c.slot, fee, w.payment(fee))
	competitors := w.close(c)
	_, included := done.Lookup(history.HeightKey)
	switch class := done.Error.Elems(); {
	case included, len(class) > 0 && class[0].Text() == client.Replaced:
		c.slot.Use()
	case done.Type == history.Fail && competitors > 1:
		// This one was never sent, and the others may be included yet.
		s.account = nil
	}
	return done
}

// compete performs a transaction of a slot.
func (w *contests) compete(ctx context.Context, s *Sender, o history.Op, slot *client.Slot, fee int64, do client.Action) history.Op {
	r := s.node.Compete(ctx, slot, w.fees, fee, do)
	if r.Class == client.Replaced && w.env.Profile.FinalTag == client.Latest {
		// Nobody takes back the block that the other one is in.
		r.Type = history.Fail
	}
	o = s.settled(o, r)
	if o.Type == history.OK {
		kvs := append([]history.Value(nil), o.Value.Elems()...)
		o.Value = history.MapOf(append(kvs, history.Keyword("won"), history.Text(r.Tx.Hex()))...)
	}
	return o
}

func (w *contests) find(id int64) *contest {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		if c.id == id {
			return c
		}
	}
	return nil
}

// close ends a contest and returns how many transactions there are for its slot.
func (w *contests) close(c *contest) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.open {
		if other == c {
			w.open = append(w.open[:i:i], w.open[i+1:]...)
			break
		}
	}
	return c.slot.Close()
}

// read performs a :pool.
func (w *contests) read(ctx context.Context, n *client.Client, o history.Op) history.Op {
	w.mu.Lock()
	var senders []common.Address
	for _, c := range w.open {
		senders = append(senders, c.slot.Sender())
	}
	w.mu.Unlock()
	p, err := n.Pool(ctx, senders)
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	mine := make([]history.Value, len(p.Of))
	for i, tx := range p.Of {
		mine[i] = history.Text(tx.Hex())
	}
	o.Type = history.OK
	o.Value = history.MapOf(
		history.Keyword("pending"), history.Int(p.Pending), history.Keyword("queued"), history.Int(p.Queued),
		history.Keyword("mine"), history.Vec(mine...))
	return o
}
