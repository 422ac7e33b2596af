package workloads

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// set is the workload of that name.
func set() Workload {
	return Workload{
		Name: "set",
		Ops:  []string{"add", "elements"}, Submits: true,
		Doc: "Clients add unique elements to sets of a contract, one by transaction, and read whole sets locally at a block tag. " +
			"Sets get a hundred elements each. At the end every set is read from every node: an element that was added is in it, once.",
		New: newSet,
	}
}

// elementsPerSet bounds what a read has to answer.
const elementsPerSet = 100

// sets is the workload at work.
type sets struct {
	shareOnly
	env      Env
	contract *contract

	mu    sync.Mutex
	key   int64 // of the set that grows
	given int64 // elements of it that were handed out: 1 to given
}

func newSet(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Set")
	if err != nil {
		return nil, err
	}
	w := &sets{env: env, contract: c}
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// Strong draws an :add.
func (w *sets) Strong(*rand.Rand) history.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.given == elementsPerSet {
		w.key, w.given = w.key+1, 0
	}
	w.given++
	return op("add", w.key, history.Int(w.given))
}

// newest is the key of the set that grows.
func (w *sets) newest() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key
}

// Local draws an :elements: mostly of the set that grows.
func (w *sets) Local(rng *rand.Rand) (history.Op, bool) {
	key := w.newest()
	if rng.IntN(4) == 0 {
		key = rng.Int64N(key + 1)
	}
	o := op("elements", key, history.Value{})
	o.Tag = w.env.tag(rng)
	return o, true
}

// Final reads every set from every node.
func (w *sets) Final() []Thread {
	var ops [][]history.Op
	for key := range w.newest() + 1 {
		var queue []history.Op
		for _, tag := range w.env.finalTags() {
			o := op("elements", key, history.Value{})
			o.Tag = tag
			queue = append(queue, o)
		}
		ops = append(ops, queue)
	}
	return finalReads(w.env, w, ops)
}

// Invoke performs an :add or :elements.
func (w *sets) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	key, ok := keyOf(o.Value)
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [key element]", o.Value))
	}
	if o.F == "elements" {
		o, seen, ok := look(ctx, s.node, w.contract, o, "elements", unsigned(key))
		if ok {
			o.Value = history.Vec(history.Int(key), small(seen.values[0]))
		}
		return o
	}
	element, ok := o.Value.Elems()[1].Int()
	if !ok || element < 0 || element > math.MaxUint32 {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not [key element]", o.Value))
	}
	do, err := w.contract.call(callGas, "add", unsigned(key), uint32(element))
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, _ = s.Execute(ctx, o, do)
	return o
}

// decode reads a transaction to the contract.
func (w *sets) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "add" {
		return nil, false
	}
	key, isKey := args[0].(*big.Int)
	element, isElement := args[1].(uint32)
	if !isKey || !isElement {
		return nil, false
	}
	return does("add", history.Vec(history.BigOf(key), history.Int(int64(element)))), true
}
