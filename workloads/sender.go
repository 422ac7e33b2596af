package workloads

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Sender is one sequential client as the workloads see it: the node that it
// talks to, and the account that its transactions are of.
type Sender struct {
	env     Env
	node    *client.Client
	account *client.Account // nil before the first transaction
}

// Node is the client's node.
func (s *Sender) Node() *client.Client { return s.node }

// Execute makes one transaction for an op and completes the op by what became of
// it: its type and error, :tx, :from and :nonce once it was signed, and the block
// that it is in. The receipt is nil unless it was seen.
func (s *Sender) Execute(ctx context.Context, o history.Op, do client.Action) (history.Op, *client.Receipt) {
	if err := s.openAccount(); err != nil {
		return failed(o, client.Refused, err.Error()), nil
	}
	r := s.node.Execute(ctx, s.account, s.env.Fees, do)
	return s.settled(o, r), r.Receipt
}

// settled completes an op by what became of its transaction.
func (s *Sender) settled(o history.Op, r client.Result) history.Op {
	o = conclude(o, r.Outcome)
	if r.Tx != (common.Hash{}) {
		s.env.Book.signed(r.Tx)
		o.Set(history.TxKey, history.Text(r.Tx.Hex()))
		o.Set(fromKey, history.Text(r.From.Hex()))
		o.Set(nonceKey, history.Int(int64(r.Nonce)))
	}
	if r.Receipt != nil {
		place(&o, r.Receipt.Number, r.Receipt.BlockHash)
	}
	return o
}

// openAccount makes sure that the client has an account.
func (s *Sender) openAccount() error {
	if s.account != nil {
		return nil
	}
	return s.crash()
}

// Keys of the extras of a signed transaction.
const (
	fromKey  = "from"
	nonceKey = "nonce"
)

// crash leaves the account, whose last transaction is in doubt, for the next.
func (s *Sender) crash() error {
	next, err := s.env.Accounts.Next()
	if s.account = next; err == nil {
		s.env.Book.sender(next.Address)
	}
	return err
}

// look performs a local read of a contract at the op's tag and completes the op
// but for its value.
func look(ctx context.Context, n *client.Client, c *contract, o history.Op, method string, args ...any) (history.Op, viewed, bool) {
	v, err := c.view(ctx, n, o.Tag, method, args...)
	if err != nil {
		return unread(o, err), viewed{}, false
	}
	o.Type = history.OK
	place(&o, v.number, v.hash)
	return o, v, true
}

// unread completes a read that gave nothing.
func unread(o history.Op, err error) history.Op {
	var early noContract
	if errors.As(err, &early) {
		return failed(o, client.Absent, err.Error())
	}
	return conclude(o, client.ReadOutcome(err))
}
