package workloads

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// callAt is the workload call-at.
func callAt() Workload {
	return Workload{
		Name: "call-at",
		Ops:  []string{"put", "call-at"}, Submits: true,
		Doc: "Transactions put unique values into a few hot keys of a contract, and any node is asked, now and again later, what a key " +
			"held after the block with a certain hash (eth_call, EIP-1898). The answer is the same for ever, on every node. At the " +
			"end every node is asked about the newest blocks.",
		New: newCallAt,
	}
}

// hotKeys is how many keys there are.
const hotKeys = 4

// pastCalls is the workload at work.
type pastCalls struct {
	shareOnly
	env      Env
	contract *contract
	given    atomic.Int64 // values handed out: 1 to given
	places   *places
}

func newCallAt(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "CallAt")
	if err != nil {
		return nil, err
	}
	w := &pastCalls{env: env, contract: c, places: newPlaces(c)}
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// Strong draws a :put.
func (w *pastCalls) Strong(rng *rand.Rand) history.Op {
	return op("put", rng.Int64N(hotKeys), history.Int(w.given.Add(1)))
}

// Local draws a :call-at.
func (w *pastCalls) Local(rng *rand.Rand) (history.Op, bool) {
	return callAtOp(w.places.draw(rng).hash, rng.Int64N(hotKeys)), true
}

func callAtOp(hash common.Hash, key int64) history.Op {
	return history.Op{F: "call-at", Value: history.Vec(history.Text(hash.Hex()), history.Int(key))}
}

// Final asks every node for every key at the newest blocks.
func (w *pastCalls) Final() []Thread {
	var ops [][]history.Op
	for _, at := range w.places.last(finalBlocks) {
		var queue []history.Op
		for key := range int64(hotKeys) {
			queue = append(queue, callAtOp(at.hash, key))
		}
		ops = append(ops, queue)
	}
	return finalReads(w.env, w, ops)
}

// Invoke performs a :put or :call-at.
func (w *pastCalls) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	if o.F == "call-at" {
		return w.ask(ctx, s.node, o)
	}
	key, ok := keyOf(o.Value)
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [key value]", o.Value))
	}
	v, ok := o.Value.Elems()[1].Int()
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [key value]", o.Value))
	}
	do, err := w.contract.call(callGas, "put", unsigned(key), unsigned(v))
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, receipt := s.Execute(ctx, o, do)
	if o.Type == history.OK {
		w.places.add(receipt.Number, receipt.BlockHash)
	}
	return o
}

// ask performs a :call-at.
func (w *pastCalls) ask(ctx context.Context, n *client.Client, o history.Op) history.Op {
	parts := o.Value.Elems()
	if len(parts) != 2 {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [hash key]", o.Value))
	}
	key, ok := parts[1].Int()
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [hash key]", o.Value))
	}
	hash := common.HexToHash(parts[0].Text())
	values, err := w.contract.viewAt(ctx, n, hash, "at", unsigned(key))
	if err != nil {
		return unread(o, err)
	}
	value, _ := values[0].(*big.Int) // as its ABI says
	o.Type, o.Value = history.OK, history.Vec(parts[0], parts[1], registerValue(value))
	w.places.put(&o, hash)
	return o
}

// decode reads a transaction to the contract.
func (w *pastCalls) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "put" {
		return nil, false
	}
	key, isKey := args[0].(*big.Int)
	value, isValue := args[1].(*big.Int)
	if !isKey || !isValue {
		return nil, false
	}
	return does("put", history.Vec(history.BigOf(key), history.BigOf(value))), true
}
