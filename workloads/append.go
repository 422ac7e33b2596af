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

// appendWorkload is the workload append, whose name the language has taken.
func appendWorkload() Workload {
	return Workload{
		Name: "append",
		Ops:  []string{"txn"}, Submits: true,
		Doc: "Transactions of one to four steps on the lists of a contract, each of which appends a unique value to a list or reads one " +
			"(list-append, as Elle judges it). All steps of a transaction are one call; what it read is in its receipt.",
		New: newAppend,
	}
}

const (
	mostSteps      = 4
	appendsPerList = 24        // bounds what a read has to answer
	txnGas         = 1_500_000 // four appends to new lists store eight words that were nothing before
)

// lists is the workload at work.
type lists struct {
	shareOnly
	env      Env
	contract *contract

	mu     sync.Mutex
	next   int64
	active []list
}

// list is a list in use.
type list struct{ key, given int64 }

func newAppend(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Append")
	if err != nil {
		return nil, err
	}
	w := newLists(env, c)
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// newLists keeps about as many lists in use as clients, and at least three: a
// transaction should meet several others, on more than one list.
func newLists(env Env, c *contract) *lists {
	w := &lists{env: env, contract: c, active: make([]list, max(3, env.Concurrency))}
	for i := range w.active {
		w.active[i] = w.fresh()
	}
	return w
}

func (w *lists) fresh() list {
	w.next++
	return list{key: w.next - 1}
}

// Strong draws a :txn.
func (w *lists) Strong(rng *rand.Rand) history.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	var steps []history.Value
	for range 1 + rng.IntN(mostSteps) {
		it := &w.active[rng.IntN(len(w.active))]
		if rng.IntN(2) == 0 {
			steps = append(steps, step("r", history.Int(it.key), history.Value{}))
			continue
		}
		it.given++
		steps = append(steps, step("append", history.Int(it.key), history.Int(it.given)))
		if it.given == appendsPerList {
			*it = w.fresh()
		}
	}
	return history.Op{F: "txn", Value: history.Vec(steps...)}
}

func step(f string, key, value history.Value) history.Value {
	return history.Vec(history.Keyword(f), key, value)
}

// Local has nothing to draw: all reads are transactions.
func (w *lists) Local(*rand.Rand) (history.Op, bool) { return history.Op{}, false }

// Invoke performs a :txn.
func (w *lists) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	keys, elements, err := encodeSteps(o.Value)
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	do, err := w.contract.call(txnGas, "txn", keys, elements)
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, receipt := s.Execute(ctx, o, do)
	if o.Type != history.OK {
		return o
	}
	done, err := w.steps(keys, elements, receipt)
	if err == nil {
		o.Value = done
		return o
	}
	// It took place. What it read is not known, so it says nothing unless it
	// appended, and then it may be looked for.
	o.Type, o.Error = history.Fail, client.Outcome{Class: client.Malformed, Text: err.Error()}.Value()
	for _, e := range elements {
		if e != 0 {
			o.Type = history.Info
		}
	}
	return o
}

// encodeSteps makes the arguments of a call of [[:append k v] [:r k nil] …].
func encodeSteps(v history.Value) (keys []*big.Int, elements []uint32, err error) {
	for _, e := range v.Elems() {
		parts := e.Elems()
		if len(parts) != 3 {
			return nil, nil, fmt.Errorf("step %s is not [f key value]", e)
		}
		key, isKey := parts[1].Int()
		element, isElement := parts[2].Int()
		switch f := parts[0].Text(); {
		case !isKey, f != "r" && f != "append", f == "append" && (!isElement || element < 1 || element > math.MaxUint32):
			return nil, nil, fmt.Errorf("step %s is neither [:append key value] nor [:r key nil]", e)
		case f == "r":
			element = 0
		}
		keys, elements = append(keys, unsigned(key)), append(elements, uint32(element))
	}
	if len(keys) == 0 {
		return nil, nil, fmt.Errorf("value %s has no steps", v)
	}
	return keys, elements, nil
}

// steps renders a transaction's steps, with what its receipt says that it read;
// without a receipt reads are nil.
func (w *lists) steps(keys []*big.Int, elements []uint32, r *client.Receipt) (history.Value, error) {
	var reads []client.Log
	if r != nil {
		reads = w.contract.events(r, "Read")
	}
	var out []history.Value
	for i, key := range keys {
		switch {
		case elements[i] != 0:
			out = append(out, step("append", history.BigOf(key), history.Int(int64(elements[i]))))
			continue
		case r == nil:
			out = append(out, step("r", history.BigOf(key), history.Value{}))
			continue
		case len(reads) == 0:
			return history.Value{}, fmt.Errorf("receipt of %s has no Read event for step %d", r.Tx, i)
		}
		l := reads[0]
		reads = reads[1:]
		if len(l.Topics) != 3 || l.Topics[1].Big().Cmp(unsigned(int64(i))) != 0 || l.Topics[2].Big().Cmp(key) != 0 {
			return history.Value{}, fmt.Errorf("receipt of %s has another event in the place of the Read event of step %d", r.Tx, i)
		}
		saw, err := unpack(w.contract.abi.Events["Read"].Inputs.NonIndexed(), l.Data)
		if err != nil {
			return history.Value{}, fmt.Errorf("receipt of %s: Read event of step %d: %w", r.Tx, i, err)
		}
		out = append(out, step("r", history.BigOf(key), small(saw[0])))
	}
	if len(reads) > 0 {
		return history.Value{}, fmt.Errorf("receipt of %s has more Read events than it has reads", r.Tx)
	}
	return history.Vec(out...), nil
}

// decode reads a transaction to the contract.
func (w *lists) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "txn" {
		return nil, false
	}
	keys, isKeys := args[0].([]*big.Int)
	elements, isElements := args[1].([]uint32)
	if !isKeys || !isElements || len(keys) != len(elements) {
		return nil, false
	}
	return func(r *client.Receipt) ([]history.Value, error) {
		if !r.OK {
			r = nil
		}
		value, err := w.steps(keys, elements, r)
		return []history.Value{history.Keyword("txn"), value}, err
	}, true
}
