package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/jepgo/jepgo/history"
)

const (
	sendPatience = 3 * time.Second // for one attempt to be answered
	resendAfter  = 2 * time.Second // pools are volatile and gossip can be cut
)

// SendRaw hands signed bytes to the node. SubmitOutcome says what an error means.
func (c *Client) SendRaw(ctx context.Context, tx Tx) error {
	const method = "eth_sendRawTransaction"
	got, err := ask[common.Hash](ctx, c, method, hexutil.Bytes(tx.Raw))
	if err == nil && got != tx.Hash {
		err = c.fault(method, malformed("transaction %s was sent, %s acknowledged", tx.Hash, got))
	}
	return err
}

// Result is what became of one transaction.
type Result struct {
	Outcome
	Tx      common.Hash // zero when nothing was signed
	From    common.Address
	Nonce   uint64
	Receipt *Receipt // nil unless it was seen in a block
}

// Execute signs one transaction, sends it and waits until this node shows its
// receipt or ctx ends, which should have a deadline. The same bytes are sent
// again every two seconds meanwhile; never another transaction.
//
// The outcome is history.OK with a receipt of status 1; history.Fail with class
// Reverted and the receipt, or with Refused or Rejected when the first attempt
// certainly had no effect, in which case the nonce is used again; history.Info
// for everything else. After history.Info the account must not be used again.
func (c *Client) Execute(ctx context.Context, from *Account, fees Fees, do Action) Result {
	tx, err := from.sign(fees, do)
	if err != nil {
		return Result{Outcome: Outcome{history.Fail, Refused, oneLine(err.Error())}}
	}
	r := c.settle(ctx, tx, nil)
	if r.Type != history.Fail || r.Receipt != nil {
		from.nonce++
	}
	return r
}

// settle sends a transaction until it is known what became of it. rival, unless
// nil, asks for a receipt of another one with the same nonce.
func (c *Client) settle(ctx context.Context, tx Tx, rival func() *Receipt) Result {
	arrives, stop := c.receipts.await(tx.Hash)
	defer stop()

	r := Result{Tx: tx.Hash, From: tx.From, Nonce: tx.Nonce}
	var doubt Outcome // the last attempt, unless the node took one
	accepted := false
	send := time.NewTimer(0)
	defer send.Stop()
	var look <-chan time.Time
	if rival != nil {
		tick := time.NewTicker(slotPoll)
		defer tick.Stop()
		look = tick.C
	}
	for attempt := 1; ; {
		select {
		case r.Receipt = <-arrives:
			r.Outcome = Outcome{Type: history.OK}
			if !r.Receipt.OK {
				r.Outcome = Outcome{history.Fail, Reverted, fmt.Sprintf("reverted in block %d", r.Receipt.Number)}
			}
			return r
		case <-look:
			if other := rival(); other != nil {
				r.Outcome = Outcome{history.Info, Replaced, fmt.Sprintf("%s is in block %d", other.Tx, other.Number)}
				return r
			}
		case <-ctx.Done():
			r.Outcome = c.inDoubt(ctx, accepted, doubt)
			if attempt == 1 { // the deadline had passed before anything was sent
				r.Outcome = Outcome{history.Fail, Refused, "not sent: " + ctx.Err().Error()}
			}
			return r
		case <-send.C:
			try, cancel := context.WithTimeout(ctx, sendPatience)
			o := SubmitOutcome(c.SendRaw(try, tx))
			cancel()
			if o.Type == history.Fail && attempt == 1 {
				r.Outcome = o
				return r
			}
			if o.Type == history.OK {
				accepted = true
			} else {
				doubt = o
			}
			attempt++
			send.Reset(resendAfter)
		}
	}
}

// inDoubt says why a transaction has no receipt.
func (c *Client) inDoubt(ctx context.Context, accepted bool, doubt Outcome) Outcome {
	if errors.Is(ctx.Err(), context.Canceled) {
		return Outcome{history.Info, Cancelled, "interrupted before there was a receipt"}
	}
	if !accepted {
		return Outcome{history.Info, doubt.Class, doubt.Text}
	}
	text := "no receipt in time"
	if err := c.receipts.lastError(); err != nil {
		text += "; last poll: " + err.Error()
	}
	return Outcome{history.Info, Timeout, oneLine(text)}
}
