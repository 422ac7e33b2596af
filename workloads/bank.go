package workloads

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// bank is the workload of that name.
func bank() Workload {
	return Workload{
		Name: "bank",
		Ops:  []string{"move", "balances"}, Submits: true,
		Doc: fmt.Sprintf("Clients move money between the %d accounts of a contract, which begin with %d each, by transaction; one that the account "+
			"does not have is reverted. All balances are read locally by one call, so at one block: their total never changes, "+
			"at no tag and on no node.", claims.BankAccounts, claims.BankBalance),
		New: newBank,
	}
}

// banking is the workload at work.
type banking struct {
	shareOnly
	env      Env
	contract *contract
}

func newBank(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Bank", unsigned(claims.BankAccounts), unsigned(claims.BankBalance))
	if err != nil {
		return nil, err
	}
	w := &banking{env: env, contract: c}
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// mostMoved is the most that one :move takes, half of what an account begins with.
const mostMoved = claims.BankBalance / 2

// Strong draws a :move.
func (w *banking) Strong(rng *rand.Rand) history.Op {
	from := rng.Int64N(claims.BankAccounts)
	to := (from + 1 + rng.Int64N(claims.BankAccounts-1)) % claims.BankAccounts
	return history.Op{F: "move", Value: moveValue(history.Int(from), history.Int(to), history.Int(1+rng.Int64N(mostMoved)))}
}

func moveValue(from, to, amount history.Value) history.Value {
	return history.MapOf(history.Keyword("from"), from, history.Keyword("to"), to, history.Keyword("amount"), amount)
}

// Local draws a :balances.
func (w *banking) Local(rng *rand.Rand) (history.Op, bool) {
	return history.Op{F: "balances", Tag: w.env.tag(rng)}, true
}

// Final reads the balances from every node.
func (w *banking) Final() []Thread {
	var ops []history.Op
	for _, tag := range w.env.finalTags() {
		ops = append(ops, history.Op{F: "balances", Tag: tag})
	}
	return finalReads(w.env, w, [][]history.Op{ops})
}

// Invoke performs a :move or :balances.
func (w *banking) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	if o.F == "balances" {
		o, seen, ok := look(ctx, s.node, w.contract, o, "balances")
		if ok {
			all, _ := seen.values[0].([]*big.Int) // as its ABI says
			var kvs []history.Value
			for i, balance := range all {
				kvs = append(kvs, history.Int(int64(i)), history.BigOf(balance))
			}
			o.Value = history.MapOf(kvs...)
		}
		return o
	}
	var args []any
	for _, name := range []string{"from", "to", "amount"} {
		field, _ := o.Value.Field(name)
		n, ok := field.Int()
		if !ok {
			return failed(o, client.Refused, fmt.Sprintf("value %s of a move has no number as :%s", o.Value, name))
		}
		args = append(args, unsigned(n))
	}
	do, err := w.contract.call(callGas, "move", args...)
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, _ = s.Execute(ctx, o, do)
	return o
}

// decode reads a transaction to the contract.
func (w *banking) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "move" {
		return nil, false
	}
	var n [3]history.Value
	for i := range n {
		b, ok := args[i].(*big.Int)
		if !ok {
			return nil, false
		}
		n[i] = history.BigOf(b)
	}
	return does("move", moveValue(n[0], n[1], n[2])), true
}
