package workloads

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

// A thread whose transaction is in doubt goes on with another account.
func TestCrashTakesANewAccount(t *testing.T) {
	env, chain := testbed(t, "bft", chaintest.Options{Final: true}, 4)
	stop, cancel := context.WithCancel(t.Context())
	chain.Mine(stop, t, 20*time.Millisecond)
	env.Concurrency = 1
	r := prepared(t.Context(), t, env, register()).(*registers)
	cancel() // from here on no blocks
	env.OpTimeout = 300 * time.Millisecond
	thread := threadsOf(t, env, r)[0].(*shareThread)
	thread.of = r
	write := func(v int64) history.Op {
		o := op("write", 0, history.Int(v))
		o.Type = history.Invoke
		return thread.Invoke(t.Context(), o)
	}
	// The miner may be in its last block.
	first := write(1)
	for v := int64(2); first.Type == history.OK; v++ {
		first = write(v)
	}
	if first.Type != history.Info {
		t.Fatalf("without blocks: %v %v", first.Type, first.Error)
	}
	if _, ok := first.Lookup(history.TxKey); !ok {
		t.Error("the transaction in doubt has no :tx")
	}
	if from, _ := first.Lookup(fromKey); from.Text() != thread.account.Address.Hex() {
		t.Errorf("the transaction in doubt is :from %s", from)
	}
	if nonce, ok := first.Lookup(nonceKey); !ok {
		t.Error("the transaction in doubt has no :nonce")
	} else if n, _ := nonce.Int(); n < 0 {
		t.Errorf("nonce %s", nonce)
	}
	before := thread.account.Address
	if err := thread.Crash(); err != nil {
		t.Fatal(err)
	}
	if thread.account.Address == before {
		t.Error("the account is the old one")
	}
	var err error
	for range 2 {
		if err = thread.Crash(); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("five accounts came out of four")
	}
}

// A dead node costs neither keys nor a history full of refusals.
func TestDeadNodeUsesUpNoKeys(t *testing.T) {
	t.Parallel()
	c, err := client.Dial(t.Context(), "n1", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	contract, err := loadContract("Register")
	if err != nil {
		t.Fatal(err)
	}
	accounts := client.NewAccounts("dead")
	accounts.Addresses(1)
	env := Env{
		Nodes: []*client.Client{c}, Accounts: accounts, Rand: rand.New(rand.NewPCG(3, 3)), Book: NewBook(), Concurrency: 1, OpTimeout: 20 * time.Millisecond,
		Fees: client.Fees{ChainID: common.Big1, Tip: common.Big1, Cap: common.Big2},
	}
	r := &registers{env: env, contract: contract, keys: newKeys(1)}
	thread := threadsOf(t, env, r)[0]
	for range 300 {
		o, _ := thread.Next()
		if done := thread.Invoke(t.Context(), o); done.Type != history.Fail {
			t.Fatalf("%s of a dead node: %v %v", o.F, done.Type, done.Error)
		}
	}
	if r.keys.next != int64(len(r.keys.active)) {
		t.Errorf("%d keys were used up", r.keys.next-int64(len(r.keys.active)))
	}
	if accounts.Left() != 0 {
		t.Error("no account was taken")
	}
}

func TestClientsWantAccounts(t *testing.T) {
	env, _ := testbed(t, "bft", chaintest.Options{}, 3)
	if _, err := Clients(env, []Instance{&registers{env: env, keys: newKeys(1)}}); err == nil {
		t.Error("eight clients were started with three accounts")
	}
}
