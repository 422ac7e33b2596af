package workloads

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// counter is the workload of that name.
func counter() Workload {
	return Workload{
		Name: "counter",
		Ops:  []string{"inc", "count"}, Submits: true,
		Doc: "Clients add 1 to 5 to the one counter of a contract, by transaction, and read it locally at a block tag. A call that " +
			"takes effect twice, or not at all, shows in the sum. At the end every node is asked for it.",
		New: newCounter,
	}
}

// counting is the workload at work.
type counting struct {
	shareOnly
	env      Env
	contract *contract
}

func newCounter(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Counter")
	if err != nil {
		return nil, err
	}
	w := &counting{env: env, contract: c}
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// mostAdded is the most that one :inc adds.
const mostAdded = 5

// Strong draws an :inc.
func (w *counting) Strong(rng *rand.Rand) history.Op {
	return history.Op{F: "inc", Value: history.Int(1 + rng.Int64N(mostAdded))}
}

// Local draws a :count.
func (w *counting) Local(rng *rand.Rand) (history.Op, bool) {
	return history.Op{F: "count", Tag: w.env.tag(rng)}, true
}

// Final asks every node for the sum, twice at each tag that is claimed.
func (w *counting) Final() []Thread {
	var ops []history.Op
	for range 2 {
		for _, tag := range w.env.finalTags() {
			ops = append(ops, history.Op{F: "count", Tag: tag})
		}
	}
	return finalReads(w.env, w, [][]history.Op{ops})
}

// Invoke performs an :inc or :count.
func (w *counting) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	if o.F == "count" {
		o, seen, ok := look(ctx, s.node, w.contract, o, "count")
		if ok {
			total, _ := seen.values[0].(*big.Int) // as its ABI says
			o.Value = history.BigOf(total)
		}
		return o
	}
	n, ok := o.Value.Int()
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s of an inc is no number", o.Value))
	}
	do, err := w.contract.call(callGas, "inc", unsigned(n))
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, _ = s.Execute(ctx, o, do)
	return o
}

// decode reads a transaction to the contract.
func (w *counting) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "inc" {
		return nil, false
	}
	n, ok := args[0].(*big.Int)
	if !ok {
		return nil, false
	}
	return does("inc", history.BigOf(n)), true
}
