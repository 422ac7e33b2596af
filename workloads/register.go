package workloads

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// register is the workload of that name.
func register() Workload {
	return Workload{
		Name: "register",
		Ops:  []string{"write", "cas", "read", "peek"}, Submits: true,
		Doc: "Clients read, write and compare-and-set keys of a contract. All three are transactions, so that the chain orders " +
			"them (strong); more often a client asks its node for a key at a block tag (a local read, :peek), which that node " +
			"answers from its own state. Keys live for 40 transactions each, values of a key are unique. At the end the newest " +
			"keys are read through every node.",
		New: newRegister,
	}
}

// registers is the workload at work.
type registers struct {
	shareOnly
	env      Env
	contract *contract
	keys     *keys
}

func newRegister(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Register")
	if err != nil {
		return nil, err
	}
	r := &registers{env: env, contract: c, keys: newKeys(env.Concurrency)}
	env.Book.Add(c.address, c.height, r.decode)
	return r, nil
}

// Strong draws a :read, :write or :cas.
func (r *registers) Strong(rng *rand.Rand) history.Op { return r.keys.strong(rng) }

// Kinds: a cas that nobody draws in a short run would leave it without a verdict.
func (r *registers) Kinds() int { return 3 }

// Local draws a :peek.
func (r *registers) Local(rng *rand.Rand) (history.Op, bool) {
	return r.peek(r.keys.local(rng), r.env.tag(rng)), true
}

func (r *registers) peek(key int64, tag string) history.Op {
	o := op("peek", key, history.Value{})
	o.Tag = tag
	return o
}

// Final reads the newest keys through every node, by transaction and locally.
func (r *registers) Final() []Thread {
	var ops [][]history.Op
	for _, key := range r.keys.last() {
		queue := []history.Op{op("read", key, history.Value{})}
		for _, tag := range r.env.finalTags() {
			queue = append(queue, r.peek(key, tag))
		}
		ops = append(ops, queue)
	}
	return finalReads(r.env, r, ops)
}

// Invoke performs a :write, :cas, :read or :peek.
func (r *registers) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	key, ok := keyOf(o.Value)
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [key value]", o.Value))
	}
	if o.F == "peek" {
		return r.invokePeek(ctx, s, key, o)
	}
	done := r.invokeStrong(ctx, s, key, o)
	if isRefused(done) {
		r.keys.refund(key)
	}
	return done
}

func (r *registers) invokePeek(ctx context.Context, s *Sender, key int64, o history.Op) history.Op {
	o, seen, ok := look(ctx, s.node, r.contract, o, "peek", unsigned(key))
	if !ok {
		return o
	}
	value, _ := seen.values[0].(*big.Int) // as its ABI says
	o.Value = history.Vec(history.Int(key), registerValue(value))
	r.keys.observe(key, registerValue(value), after(seen.number))
	return o
}

func (r *registers) invokeStrong(ctx context.Context, s *Sender, key int64, o history.Op) history.Op {
	do, err := r.action(key, o)
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, receipt := s.Execute(ctx, o, do)
	if o.Type != history.OK {
		return o
	}
	at := within(receipt.Number)
	switch o.F {
	case "read":
		v, ok := r.readEvent(receipt, unsigned(key))
		if !ok {
			// The read took place and changed nothing; what it read is not known.
			return failed(o, client.Malformed, "receipt of a read has no Read event")
		}
		value := registerValue(v)
		o.Value = history.Vec(history.Int(key), value)
		r.keys.observe(key, value, at)
	case "write":
		r.keys.observe(key, o.Value.Elems()[1], at)
	case "cas":
		r.keys.observe(key, o.Value.Elems()[1].Elems()[1], at)
	}
	return o
}

// action encodes a :write, :cas or :read.
func (r *registers) action(key int64, o history.Op) (do client.Action, err error) {
	args := []any{unsigned(key)}
	switch v := o.Value.Elems()[1]; o.F {
	case "write":
		n, ok := v.Int()
		if !ok {
			return do, fmt.Errorf("value %s of a write is no number", v)
		}
		args = append(args, unsigned(n))
	case "cas":
		for _, e := range v.Elems() {
			n, _ := e.Int()
			args = append(args, unsigned(n))
		}
		if len(args) != 3 {
			return do, fmt.Errorf("value %s of a cas is not [old new]", v)
		}
	}
	return r.contract.call(callGas, o.F, args...)
}

// readEvent finds what a strong read of the key returned.
func (r *registers) readEvent(receipt *client.Receipt, key *big.Int) (*big.Int, bool) {
	for _, l := range r.contract.events(receipt, "Read") {
		if len(l.Topics) == 2 && l.Topics[1].Big().Cmp(key) == 0 && len(l.Data) == 32 {
			return new(big.Int).SetBytes(l.Data), true
		}
	}
	return nil, false
}

// decode reads a transaction to the contract.
func (r *registers) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := r.contract.decode(tx)
	if !ok {
		return nil, false
	}
	var n []*big.Int
	for _, a := range args {
		b, ok := a.(*big.Int)
		if !ok {
			return nil, false
		}
		n = append(n, b)
	}
	switch method {
	case "write":
		return does("write", history.BigOf(n[0]), history.BigOf(n[1])), true
	case "cas":
		return does("cas", history.BigOf(n[0]), history.Vec(history.BigOf(n[1]), history.BigOf(n[2]))), true
	case "read":
		return func(receipt *client.Receipt) ([]history.Value, error) {
			parts := []history.Value{history.Keyword("read"), history.BigOf(n[0]), {}}
			if !receipt.OK {
				return parts, nil
			}
			v, ok := r.readEvent(receipt, n[0])
			if !ok {
				return nil, fmt.Errorf("receipt of read %s has no Read event", receipt.Tx)
			}
			parts[2] = registerValue(v)
			return parts, nil
		}, true
	}
	return nil, false
}

// registerValue is what a register holds; zero is never written.
func registerValue(v *big.Int) history.Value {
	if v.Sign() == 0 {
		return history.Value{}
	}
	return history.BigOf(v)
}
