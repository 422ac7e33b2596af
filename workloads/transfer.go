package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// transfer is the workload of that name.
func transfer() Workload {
	return Workload{
		Name: "transfer",
		Ops:  []string{"pay", "account"}, Submits: true,
		Doc: "Native transfers to eight accounts that nobody else pays and that pay nobody, and local reads of the nonce and balance of " +
			"these and of all senders, both at one block hash. At the end every node is asked for every one of them.",
		New: newTransfer,
	}
}

const (
	payees   = 8
	mostPaid = 1000 // wei
)

// payments is the workload at work.
type payments struct {
	shareOnly
	env    Env
	payees []common.Address
}

func newTransfer(ctx context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("transfer workload has no nodes, want at least one")
	}
	head, err := env.Nodes[0].HeaderAt(ctx, client.Latest)
	if err != nil {
		return nil, fmt.Errorf("transfer workload: %w", err)
	}
	w := newPayments(env)
	for _, to := range w.payees {
		env.Book.Add(to, head.Number, w.decode)
	}
	return w, nil
}

// newPayments derives the payees from the deployer, which is another one in each
// run on a network: they begin with nothing.
func newPayments(env Env) *payments {
	w := &payments{env: env, payees: make([]common.Address, payees)}
	for i := range w.payees {
		w.payees[i] = common.BytesToAddress(crypto.Keccak256(env.Deployer.Address.Bytes(), []byte{byte(i)}))
	}
	return w
}

// Strong draws a :pay.
func (w *payments) Strong(rng *rand.Rand) history.Op {
	to := w.payees[rng.IntN(len(w.payees))]
	return history.Op{F: "pay", Value: payValue(to, history.Int(1+rng.Int64N(mostPaid)))}
}

func payValue(to common.Address, amount history.Value) history.Value {
	return history.MapOf(history.Keyword("to"), history.Text(to.Hex()), history.Keyword("amount"), amount)
}

// who lists the accounts that are read.
func (w *payments) who() []common.Address { return append(w.env.Book.Senders(), w.payees...) }

// Local draws an :account.
func (w *payments) Local(rng *rand.Rand) (history.Op, bool) {
	all := w.who()
	return accountOp(all[rng.IntN(len(all))], w.env.tag(rng)), true
}

func accountOp(who common.Address, tag string) history.Op {
	return history.Op{F: "account", Value: history.Text(who.Hex()), Tag: tag}
}

// Closing asks every node for every account, when no transaction is made any more.
func (w *payments) Closing() []Thread {
	var ops [][]history.Op
	for _, who := range w.who() {
		var queue []history.Op
		for _, tag := range w.env.finalTags() {
			queue = append(queue, accountOp(who, tag))
		}
		ops = append(ops, queue)
	}
	return finalReads(w.env, w, ops)
}

// Invoke performs a :pay or :account.
func (w *payments) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	if o.F == "account" {
		return w.read(ctx, s.node, o)
	}
	to, _ := o.Value.Field("to")
	amount, _ := o.Value.Field("amount")
	n, ok := amount.Int()
	if !ok || !common.IsHexAddress(to.Text()) {
		return failed(o, client.Refused, fmt.Sprintf("value %s is not {:to address :amount wei}", o.Value))
	}
	payee := common.HexToAddress(to.Text())
	o, _ = s.Execute(ctx, o, client.Action{To: &payee, Value: big.NewInt(n), Gas: callGas})
	return o
}

// read performs an :account: it asks which block the tag means, and then for the
// account after that very block.
func (w *payments) read(ctx context.Context, n *client.Client, o history.Op) history.Op {
	if !common.IsHexAddress(o.Value.Text()) {
		return failed(o, client.Refused, fmt.Sprintf("value %s is no address", o.Value))
	}
	head, err := n.HeaderAt(ctx, o.Tag)
	if err != nil {
		return unread(o, err)
	}
	state, err := n.StateAt(ctx, common.HexToAddress(o.Value.Text()), head.Hash)
	if err != nil {
		return unread(o, err)
	}
	o.Type = history.OK
	o.Value = history.MapOf(history.Keyword("nonce"), history.Int(int64(state.Nonce)), history.Keyword("balance"), history.Text(state.Balance.String()))
	place(&o, head.Number, head.Hash)
	return o
}

// decode reads a transaction to a payee.
func (w *payments) decode(tx client.BlockTx) (Meaning, bool) {
	if len(tx.Input) > 0 {
		return nil, false
	}
	return func(r *client.Receipt) ([]history.Value, error) {
		if tx.Value == nil {
			return nil, fmt.Errorf("transaction %s has no value in its block", r.Tx)
		}
		return []history.Value{history.Keyword("pay"), payValue(*tx.To, history.BigOf(tx.Value))}, nil
	}, true
}
