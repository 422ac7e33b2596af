package client_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

// Of three transactions for one slot the one that pays most is included, the
// others learn so, and after that nothing is signed for it.
func TestOneOfASlotIsIncluded(t *testing.T) {
	t.Parallel()
	accounts := client.NewAccounts(t.Name())
	chain := chaintest.Start(t, chaintest.Options{Final: true, Funded: accounts.Addresses(1)})
	c, ctx := dial(t, chain.URL), deadline(t)
	account, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fees = fees.AtLeast(1000)
	slot, to := account.NextSlot(), common.Address{7}
	compete := func(percent int64) client.Result {
		return c.Compete(ctx, slot, fees, percent, client.Action{To: &to, Gas: 21_000})
	}
	results := make([]client.Result, 3)
	var wg sync.WaitGroup
	for i, percent := range []int64{100, 125, 160} {
		wg.Go(func() { results[i] = compete(percent) })
		for { // until the node has taken it, in the place of the one before
			held, signed := pool(ctx, t, c, slot), slot.Txs()
			if len(signed) == i+1 && len(held) == 1 && held[0] == signed[i] {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("transaction %d is not in the pool", i)
			}
		}
	}
	chain.Commit()
	wg.Wait()
	if results[2].Type != history.OK || results[2].Receipt == nil {
		t.Errorf("the one that pays most: %+v", results[2])
	}
	for _, r := range results[:2] {
		if r.Type != history.Info || r.Class != client.Replaced || !strings.Contains(r.Text, results[2].Tx.Hex()) || r.Nonce != results[2].Nonce {
			t.Errorf("a loser: %+v", r)
		}
	}
	if r := compete(200); r.Type != history.Fail || r.Class != client.Refused || r.Tx != (common.Hash{}) {
		t.Errorf("after the slot was settled: %+v", r)
	}
	if n := slot.Close(); n != 3 {
		t.Errorf("%d transactions competed, want 3", n)
	}
	slot.Use()
	if next := account.NextSlot(); next.Sender() != account.Address {
		t.Errorf("the next slot is of %s", next.Sender())
	}
}

// pool lists what the node has of the slot's sender.
func pool(ctx context.Context, t *testing.T, c *client.Client, slot *client.Slot) []common.Hash {
	t.Helper()
	p, err := c.Pool(ctx, []common.Address{slot.Sender()})
	if err != nil {
		t.Fatal(err)
	}
	return p.Of
}

// A closed slot takes no more competitors.
func TestClosedSlot(t *testing.T) {
	accounts := client.NewAccounts(t.Name())
	accounts.Addresses(1)
	account, _ := accounts.Next()
	slot := account.NextSlot()
	if n := slot.Close(); n != 0 {
		t.Errorf("%d competitors", n)
	}
	c := dial(t, "http://127.0.0.1:1")
	r := c.Compete(deadline(t), slot, client.Fees{ChainID: common.Big1, Tip: common.Big1, Cap: common.Big2}, 100, client.Action{To: &common.Address{}, Gas: 21_000})
	if r.Type != history.Fail || r.Tx != (common.Hash{}) {
		t.Errorf("a competitor of a closed slot: %+v", r)
	}
}
