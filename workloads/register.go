package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// register is the workload of that name.
func register() Workload {
	return Workload{
		Name: "register",
		Doc: "Clients read, write and compare-and-set keys of a contract. All three are transactions, so that the chain orders " +
			"them (strong); more often a client asks its node for a key at a block tag (a local read, :peek), which that node " +
			"answers from its own state. Keys live for 40 transactions each, values of a key are unique. At the end the newest " +
			"keys are read through every node, and the register transactions of every block are decoded.",
		New: newRegister,
	}
}

// registers is the workload at work.
type registers struct {
	env      Env
	fees     client.Fees
	contract *contract
	keys     *keys
}

func newRegister(ctx context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("register workload has no nodes, want at least one")
	}
	if left := env.Accounts.Left(); left < env.Concurrency+1 {
		return nil, fmt.Errorf("register workload has %d funded accounts, want one for each of %d clients and one for the contract, and more for clients that crash", left, env.Concurrency)
	}
	c, err := loadContract()
	if err != nil {
		return nil, err
	}
	fees, err := env.Nodes[0].Fees(ctx)
	if err != nil {
		return nil, fmt.Errorf("register workload: %w", err)
	}
	from, err := env.Accounts.Next()
	if err != nil {
		return nil, fmt.Errorf("register workload: %w", err)
	}
	if err := c.deploy(ctx, env.Nodes, from, fees); err != nil {
		return nil, err
	}
	return &registers{env: env, fees: fees, contract: c, keys: newKeys(env.Concurrency)}, nil
}

// readerInterval is the pace of the clients that only read locally.
const readerInterval = 100 * time.Millisecond

// Threads returns Concurrency clients, spread over the nodes, and for each node
// one that only reads locally, ten times a second: the others read right after
// a block, when their transaction is done, and hardly while a fault keeps them
// waiting.
func (r *registers) Threads() []Thread {
	var out []Thread
	for i := range r.env.Concurrency {
		rng := r.split()
		out = append(out, &registerThread{registers: r, node: r.env.Nodes[i%len(r.env.Nodes)], draw: func() (history.Op, bool) { return r.draw(rng), true }})
	}
	for _, n := range r.env.Nodes {
		rng := r.split()
		out = append(out, &registerThread{registers: r, node: n, interval: readerInterval, draw: func() (history.Op, bool) { return r.drawLocal(rng), true }})
	}
	return out
}

func (r *registers) split() *rand.Rand {
	return rand.New(rand.NewPCG(r.env.Rand.Uint64(), r.env.Rand.Uint64()))
}

// draw chooses the next operation of a client of the main phase. Local reads are
// the more frequent ones: a transaction takes a block's time, they take none.
func (r *registers) draw(rng *rand.Rand) history.Op {
	if rng.IntN(5) < 2 {
		return r.keys.strong(rng)
	}
	return r.drawLocal(rng)
}

func (r *registers) drawLocal(rng *rand.Rand) history.Op {
	return r.peek(r.keys.local(rng), r.tag(rng))
}

// tag draws the tag of a local read: latest, or one that the profile serves.
func (r *registers) tag(rng *rand.Rand) string {
	if r.env.Profile.FinalTag == "" {
		return client.Latest
	}
	switch rng.IntN(5) {
	case 0:
		return client.Safe
	case 1:
		return client.Finalized
	}
	return client.Latest
}

func (r *registers) peek(key int64, tag string) history.Op {
	o := op("peek", key, history.Value{})
	o.Tag = tag
	return o
}

// finalClients is how many clients of each node share the final reads, so that
// they take a few blocks' time and not one for each key.
const finalClients = 5

// Final reads the newest keys through every node, by transaction and locally,
// and walks the blocks since the deployment on every node, up to those that the
// final reads went into.
func (r *registers) Final() []Thread {
	newest := r.keys.last()
	readers := newReaders(len(r.env.Nodes) * min(finalClients, len(newest)))
	served := newServed()
	var out []Thread
	for _, n := range r.env.Nodes {
		for c := range min(finalClients, len(newest)) {
			var queue []history.Op
			for i := c; i < len(newest); i += finalClients {
				queue = append(queue, op("read", newest[i], history.Value{}), r.peek(newest[i], client.Latest))
				if tag := r.env.Profile.FinalTag; tag != "" && tag != client.Latest {
					queue = append(queue, r.peek(newest[i], tag))
				}
			}
			out = append(out, &registerThread{registers: r, node: n, draw: pop(queue), ended: readers.end})
		}
		out = append(out, &blockWalk{registers: r, node: n, served: served, readers: readers})
	}
	return out
}

// pop returns the ops of the queue one by one.
func pop(queue []history.Op) func() (history.Op, bool) {
	return func() (history.Op, bool) {
		if len(queue) == 0 {
			return history.Op{}, false
		}
		next := queue[0]
		queue = queue[1:]
		return next, true
	}
}

// registerThread is one client of the contract.
type registerThread struct {
	*registers
	node    *client.Client
	account *client.Account // nil before the first transaction
	draw    func() (history.Op, bool)
	ended   func() // nil, or what to tell when there is no next operation

	interval time.Duration
}

// Interval leaves the pace to the run's --rate, but for clients that only read
// locally.
func (t *registerThread) Interval() time.Duration { return t.interval }

// Next returns the client's next operation.
func (t *registerThread) Next() (history.Op, bool) {
	o, ok := t.draw()
	if !ok {
		t.end()
	}
	o.Node = t.node.Name()
	return o, ok
}

// Crash takes a new account.
func (t *registerThread) Crash() error {
	next, err := t.env.Accounts.Next()
	if err != nil {
		t.end()
	}
	t.account = next
	return err
}

func (t *registerThread) end() {
	if t.ended != nil {
		t.ended()
		t.ended = nil
	}
}

// Invoke performs a :write, :cas, :read or :peek.
func (t *registerThread) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, t.env.OpTimeout)
	defer cancel()
	var done history.Op
	if o.F == "peek" {
		done = t.invokePeek(ctx, o)
	} else {
		done = t.invokeStrong(ctx, o)
	}
	if class := done.Error.Elems(); len(class) > 0 && class[0].Text() == client.Refused {
		// Nobody listens there: asking again at once would only fill the history.
		rest(ctx, refusedRest)
		if key, ok := keyOf(o.Value); ok && o.F != "peek" {
			t.keys.refund(key)
		}
	}
	return done
}

// refusedRest is how long a client leaves a node alone that refused it.
const refusedRest = 200 * time.Millisecond

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (t *registerThread) invokePeek(ctx context.Context, o history.Op) history.Op {
	key, ok := keyOf(o.Value)
	if !ok {
		return failed(o, client.Refused, "value is not [key value]")
	}
	p, err := t.contract.peek(ctx, t.node, key, o.Tag)
	var early noContract
	if errors.As(err, &early) {
		return failed(o, client.Absent, err.Error())
	}
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	o.Type, o.Value = history.OK, history.Vec(history.Int(key), p.value)
	t.keys.observe(key, p.value, after(p.number))
	place(&o, p.number, p.hash)
	return o
}

func (t *registerThread) invokeStrong(ctx context.Context, o history.Op) history.Op {
	key, do, err := t.action(o)
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	if t.account == nil {
		if t.account, err = t.env.Accounts.Next(); err != nil {
			return failed(o, client.Refused, err.Error())
		}
	}
	r := t.node.Execute(ctx, t.account, t.fees, do)
	o = conclude(o, r.Outcome)
	if r.Tx != (common.Hash{}) {
		o.Set(history.TxKey, history.Text(r.Tx.Hex()))
	}
	if r.Receipt == nil {
		return o
	}
	place(&o, r.Receipt.Number, r.Receipt.BlockHash)
	if o.Type != history.OK {
		return o
	}
	at := within(r.Receipt.Number)
	switch o.F {
	case "read":
		v, ok := t.contract.readEvent(r.Receipt, big.NewInt(key))
		if !ok {
			// The read took place and changed nothing; what it read is not known.
			return failed(o, client.Malformed, "receipt of a read has no Read event")
		}
		value := registerValue(v)
		o.Value = history.Vec(history.Int(key), value)
		t.keys.observe(key, value, at)
	case "write":
		t.keys.observe(key, o.Value.Elems()[1], at)
	case "cas":
		t.keys.observe(key, o.Value.Elems()[1].Elems()[1], at)
	}
	return o
}

// action encodes a :write, :cas or :read.
func (t *registerThread) action(o history.Op) (key int64, do client.Action, err error) {
	key, ok := keyOf(o.Value)
	if !ok {
		return 0, do, fmt.Errorf("value %s is not [key value]", o.Value)
	}
	args := []int64{key}
	switch v := o.Value.Elems()[1]; o.F {
	case "write":
		n, ok := v.Int()
		if !ok {
			return 0, do, fmt.Errorf("value %s of a write is no number", v)
		}
		args = append(args, n)
	case "cas":
		for _, e := range v.Elems() {
			n, _ := e.Int()
			args = append(args, n)
		}
		if len(args) != 3 {
			return 0, do, fmt.Errorf("value %s of a cas is not [old new]", v)
		}
	}
	do, err = t.contract.call(o.F, args...)
	return key, do, err
}
