package client_test

import (
	"context"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

// patience only bounds how long a broken test can hang.
const patience = 2 * time.Minute

func dial(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), "n1", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestReadsOfARealNode(t *testing.T) {
	t.Parallel()
	chain := chaintest.Start(t, chaintest.Options{Final: true})
	c, ctx := dial(t, chain.URL), deadline(t)
	for range 3 {
		chain.Commit()
	}
	id, err := c.ChainID(ctx)
	if err != nil || id.Int64() != 1337 {
		t.Fatalf("chain id %v, %v", id, err)
	}
	head, err := c.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if head.Latest.Number != 3 || head.Safe == nil || head.Finalized == nil {
		t.Fatalf("head is %+v", head)
	}
	if head.Finalized.Hash != head.Latest.Hash || head.Safe.Hash != head.Latest.Hash {
		t.Errorf("tags differ on a chain where every block is final: %+v", head)
	}
	answers := c.Headers(ctx, []uint64{1, 2, 3, 9})
	for i, a := range answers[:3] {
		if a.Err != nil || a.Value.Number != uint64(i+1) {
			t.Fatalf("header %d is %+v, %v", i+1, a.Value, a.Err)
		}
		if i > 0 && a.Value.Parent != answers[i-1].Value.Hash {
			t.Errorf("header %d does not follow the one before", i+1)
		}
	}
	if o := client.ReadOutcome(answers[3].Err); o.Type != history.Fail || o.Class != client.Absent {
		t.Errorf("a block that is not there yet gives %+v", o)
	}
	byHash, err := c.HeaderByHash(ctx, head.Latest.Hash)
	if err != nil || byHash.Number != 3 {
		t.Errorf("by hash: %+v, %v", byHash, err)
	}
	block, err := c.BlockByNumber(ctx, 2)
	if err != nil || block.Hash != answers[1].Value.Hash || len(block.Txs) != 0 {
		t.Errorf("block 2: %+v, %v", block, err)
	}
}

func TestTagsThatAreNotServedYet(t *testing.T) {
	t.Parallel()
	chain := chaintest.Start(t, chaintest.Options{})
	head, err := dial(t, chain.URL).Head(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	// A node that has seen no finalized block says so with an error or gives
	// genesis; neither may fail the read of latest.
	if head.Latest.Number != 0 {
		t.Errorf("latest is %d, want 0", head.Latest.Number)
	}
}

func TestExecuteTransfers(t *testing.T) {
	t.Parallel()
	accounts := client.NewAccounts("execute")
	chain := chaintest.Start(t, chaintest.Options{Funded: accounts.Addresses(1)})
	chain.Mine(t.Context(), t, 20*time.Millisecond)
	c, ctx := dial(t, chain.URL), deadline(t)
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	to := common.HexToAddress("0x00000000000000000000000000000000000000aa")
	for i := 1; i <= 3; i++ {
		r := c.Execute(ctx, from, fees, client.Action{To: &to, Value: big.NewInt(7), Gas: 21000})
		if r.Type != history.OK || r.Receipt == nil || r.Receipt.Tx != r.Tx || r.Receipt.Number == 0 {
			t.Fatalf("transfer %d: %+v", i, r)
		}
		b, err := c.BlockByHash(ctx, r.Receipt.BlockHash)
		if err != nil || len(b.Txs) != 1 || b.Txs[0].Hash != r.Tx || *b.Txs[0].To != to {
			t.Fatalf("block of transfer %d: %+v, %v", i, b, err)
		}
	}
	if got, err := c.Balance(ctx, to); err != nil || got.Int64() != 21 {
		t.Errorf("balance is %v, %v; three transfers of 7 were made", got, err)
	}
	if got, err := c.Nonce(ctx, from.Address, client.Latest); err != nil || got != 3 {
		t.Errorf("nonce is %v, %v, want 3", got, err)
	}
	if _, err := accounts.Next(); err == nil {
		t.Error("a second account was handed out, one has funds")
	}
}

// A rejected transaction uses no nonce: the next one of the account goes in.
func TestExecuteRejectedKeepsTheNonce(t *testing.T) {
	t.Parallel()
	accounts := client.NewAccounts("rejected")
	chain := chaintest.Start(t, chaintest.Options{Funded: accounts.Addresses(1)})
	chain.Mine(t.Context(), t, 20*time.Millisecond)
	c, ctx := dial(t, chain.URL), deadline(t)
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	to := common.HexToAddress("0xaa")
	tooMuch := new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)
	for name, do := range map[string]client.Action{
		"intrinsic gas":      {To: &to, Gas: 20_000},
		"insufficient funds": {To: &to, Gas: 21_000, Value: tooMuch},
		"block gas limit":    {To: &to, Gas: 40_000_000},
	} {
		r := c.Execute(ctx, from, fees, do)
		if r.Type != history.Fail || r.Class != client.Rejected {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := c.Execute(ctx, from, fees, client.Action{To: &to, Gas: 21000}); r.Type != history.OK {
		t.Errorf("after rejections: %+v", r)
	}
}

func TestExecuteReverted(t *testing.T) {
	t.Parallel()
	accounts := client.NewAccounts("reverted")
	chain := chaintest.Start(t, chaintest.Options{Funded: accounts.Addresses(1)})
	chain.Mine(t.Context(), t, 20*time.Millisecond)
	c, ctx := dial(t, chain.URL), deadline(t)
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	// PUSH1 0 PUSH1 0 REVERT as the creation code.
	r := c.Execute(ctx, from, fees, client.Action{Data: common.FromHex("0x60006000fd"), Gas: 200_000})
	if r.Type != history.Fail || r.Class != client.Reverted || r.Receipt == nil || r.Tx == (common.Hash{}) {
		t.Errorf("a revert gives %+v", r)
	}
}

// Without blocks there is no receipt: in doubt, and the hash is kept. Sent
// again, the same bytes are included once blocks come.
func TestExecuteInDoubt(t *testing.T) {
	accounts := client.NewAccounts("doubt")
	chain := chaintest.Start(t, chaintest.Options{Funded: accounts.Addresses(2)})
	c, ctx := dial(t, chain.URL), deadline(t)
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	to := common.HexToAddress("0xaa")
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	r := c.Execute(short, from, fees, client.Action{To: &to, Gas: 21000})
	if r.Type != history.Info || r.Class != client.Timeout || r.Tx == (common.Hash{}) {
		t.Fatalf("without blocks: %+v", r)
	}
	chain.Commit()
	txs := []common.Hash{r.Tx, crypto.Keccak256Hash([]byte("no such transaction"))}
	answers := c.Receipts(ctx, txs)
	// A fresh geth says "transaction indexing is in progress" of what it does not know.
	for answers[1].Err != nil && ctx.Err() == nil {
		answers = c.Receipts(ctx, txs)
	}
	if answers[0].Err != nil || answers[0].Value == nil || !answers[0].Value.OK {
		t.Errorf("the transaction in doubt: %+v", answers[0])
	}
	if answers[1].Err != nil || answers[1].Value != nil {
		t.Errorf("a transaction that never was: %+v", answers[1])
	}
	gone, stop := context.WithCancel(ctx)
	stop()
	second, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Execute(gone, second, fees, client.Action{To: &to, Gas: 21000}); r.Type != history.Fail || r.Class != client.Refused {
		t.Errorf("a context that ended before: %+v", r)
	}
}

func TestSameBytesTwiceAreAccepted(t *testing.T) {
	t.Parallel()
	key, _ := crypto.GenerateKey()
	who := crypto.PubkeyToAddress(key.PublicKey)
	accounts := client.NewAccounts("twice")
	addresses := accounts.Addresses(1)
	chain := chaintest.Start(t, chaintest.Options{Funded: append(addresses, who.Hex())})
	c, ctx := dial(t, chain.URL), deadline(t)
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	tx, err := client.Sign(from, fees, client.Action{To: &who, Gas: 21000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if o := client.SubmitOutcome(c.SendRaw(ctx, tx)); o.Type != history.OK {
			t.Fatalf("attempt %d: %+v", i+1, o)
		}
	}
	chain.Commit()
	// The pool learns of the block a little later; until then it knows the bytes.
	o := client.SubmitOutcome(c.SendRaw(ctx, tx))
	for o.Type == history.OK && ctx.Err() == nil {
		o = client.SubmitOutcome(c.SendRaw(ctx, tx))
	}
	if o.Type != history.Info || o.Class != client.NonceTooLow {
		t.Errorf("after it was included: %+v, want in doubt", o)
	}
}

func TestFund(t *testing.T) {
	t.Parallel()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	who := crypto.PubkeyToAddress(key.PublicKey)
	hex := "0x" + common.Bytes2Hex(crypto.FromECDSA(key))
	chain := chaintest.Start(t, chaintest.Options{Funded: []string{who.Hex()}})
	chain.Mine(t.Context(), t, 20*time.Millisecond)
	c, ctx := dial(t, chain.URL), deadline(t)

	accounts := client.NewAccounts("fund")
	if err := accounts.Fund(ctx, c, hex, 40); err != nil {
		t.Fatal(err)
	}
	fees, err := c.Fees(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 40 {
		a, err := accounts.Next()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if r := c.Execute(ctx, a, fees, client.Action{To: &who, Gas: 1_000_000}); r.Type != history.OK {
				t.Errorf("funded account %s: %+v", a.Address, r)
			}
		})
	}
	wg.Wait()
	// A second run with the same seed pays nothing and goes on with the nonces.
	before, err := c.Nonce(ctx, who, client.Latest)
	if err != nil {
		t.Fatal(err)
	}
	again := client.NewAccounts("fund")
	if err := again.Fund(ctx, c, hex, 2); err != nil {
		t.Fatal(err)
	}
	if after, err := c.Nonce(ctx, who, client.Latest); err != nil || after != before {
		t.Errorf("faucet's nonce went from %d to %d, %v: accounts with funds were paid again", before, after, err)
	}
	a, err := again.Next()
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Execute(ctx, a, fees, client.Action{To: &who, Gas: 21000}); r.Type != history.OK {
		t.Errorf("account used before: %+v", r)
	}
}

func TestFundWithoutFunds(t *testing.T) {
	t.Parallel()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	secret := common.Bytes2Hex(crypto.FromECDSA(key))
	chain := chaintest.Start(t, chaintest.Options{})
	c, ctx := dial(t, chain.URL), deadline(t)
	for _, test := range []struct{ key, want string }{
		{secret, crypto.PubkeyToAddress(key.PublicKey).Hex()},
		{secret, "--key"},
		{"", "--key"},
		{secret[1:], "63 characters"},
		{strings.Repeat("0", 64), "--key"},
	} {
		err := client.NewAccounts("poor").Fund(ctx, c, test.key, 3)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("key of %d characters: error %v does not say %q", len(test.key), err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), secret[1:]) {
			t.Errorf("error %v tells the key", err)
		}
	}
}

func TestAccountsFollowFromTheSeed(t *testing.T) {
	a, b, other := client.NewAccounts("x").Addresses(3), client.NewAccounts("x").Addresses(3), client.NewAccounts("y").Addresses(3)
	for i := range a {
		if a[i] != b[i] || a[i] == other[i] {
			t.Errorf("account %d: %s and %s of one seed, %s of another", i, a[i], b[i], other[i])
		}
	}
}
