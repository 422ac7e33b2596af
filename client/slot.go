package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/history"
)

// Replaced is the class of a transaction whose nonce another one has used.
const Replaced = "replaced"

// slotPoll is how often a competitor asks which of the others was included.
const slotPoll = 400 * time.Millisecond

// Slot is one nonce of a sender, which several transactions compete for: a block
// has one of them at the most. It is safe for concurrent use.
type Slot struct {
	from  Account // never changes; its nonce is the slot's
	owner *Account

	mu     sync.Mutex
	txs    []Tx
	won    *Receipt // the first receipt that anybody has seen
	closed bool
}

// NextSlot returns the slot of the account's next transaction. Until that is
// settled the account must make no other.
func (a *Account) NextSlot() *Slot { return &Slot{from: *a, owner: a} }

// Sender is whose slot it is.
func (s *Slot) Sender() common.Address { return s.from.Address }

// Txs lists the transactions that compete, in the order of their signing.
func (s *Slot) Txs() []common.Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]common.Hash, len(s.txs))
	for i, tx := range s.txs {
		out[i] = tx.Hash
	}
	return out
}

// sign makes a transaction for the slot, unless that is closed or settled, or has
// this very transaction.
func (s *Slot) sign(fees Fees, do Action) (Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.won != nil {
		return Tx{}, errors.New("not sent: the slot is settled")
	}
	tx, err := s.from.sign(fees, do)
	if err != nil {
		return Tx{}, err
	}
	for _, other := range s.txs {
		if other.Hash == tx.Hash {
			return Tx{}, errors.New("not sent: the slot has this very transaction already")
		}
	}
	s.txs = append(s.txs, tx)
	return tx, nil
}

// Close ends the signing of competitors and returns how many there have been.
func (s *Slot) Close() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return len(s.txs)
}

// Use counts the nonce as used up. It is for the goroutine of the account.
func (s *Slot) Use() { s.owner.nonce = s.from.nonce + 1 }

// settle ends the signing when r, the receipt of one of the slot's transactions, is
// not nil.
func (s *Slot) settle(r *Receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.won == nil {
		s.won = r
	}
}

// Compete signs one transaction for a slot, with so many percent of the fees,
// sends it and waits until this node shows a receipt of it or of one of its
// competitors, or ctx ends. The same bytes are sent again every two seconds
// meanwhile.
//
// The outcome is that of Execute, and history.Info with class Replaced where a
// competitor was included: whether that can be taken back is for the caller to
// know. A transaction that was certainly never sent, or that the node rejects for
// good at the first attempt, is history.Fail.
func (c *Client) Compete(ctx context.Context, s *Slot, fees Fees, percent int64, do Action) Result {
	tx, err := s.sign(fees.times(percent), do)
	if err != nil {
		return Result{Outcome: Outcome{history.Fail, Refused, oneLine(err.Error())}}
	}
	r := c.settle(ctx, tx, func() *Receipt { return c.rival(ctx, s, tx.Hash) })
	s.settle(r.Receipt)
	return r
}

// rival asks whether another transaction of the slot was included, which settles
// the slot; nil for none.
func (c *Client) rival(ctx context.Context, s *Slot, own common.Hash) *Receipt {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	var others []common.Hash
	for _, tx := range s.Txs() {
		if tx != own {
			others = append(others, tx)
		}
	}
	for _, a := range c.Receipts(ctx, others) {
		if a.Err == nil && a.Value != nil {
			s.settle(a.Value)
			return a.Value
		}
	}
	return nil
}

// times is a share of the fees, in percent.
func (f Fees) times(percent int64) Fees {
	f.Cap = scale(f.Cap, percent)
	if f.Tip != nil {
		f.Tip = scale(f.Tip, percent)
	}
	return f
}
