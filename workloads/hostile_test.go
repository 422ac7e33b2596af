package workloads

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

// No answer makes a workload panic, hang, run for ever, or take for done what it
// cannot know.
func TestWorkloadsOfALyingNode(t *testing.T) {
	t.Parallel()
	hash := `"0x` + strings.Repeat("ab", 32) + `"`
	farAway := `{"number":"0x3fffffffffffffff","hash":` + hash + `,"parentHash":` + hash + `,"stateRoot":` + hash + `,"timestamp":"0x1","transactions":[{"hash":` + hash + `,"input":"0x12"}]}`
	for _, lie := range []struct {
		name    string
		handler http.HandlerFunc
		heads   bool // its answers can be read as heads
	}{
		{"html", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html></html>") }, false},
		{"truncated", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[{"jsonrpc":"2.0","id":1,"res`) }, false},
		{"unavailable", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, false},
		{"slow down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, false},
		{"null", chaintest.Answer("null"), false},
		{"list of nulls", chaintest.Answer("[null,null,null]"), false},
		{"empty list", chaintest.Answer("[]"), false}, // these are the logs of a block, for all we know
		{"log without its place", chaintest.Answer(`[{"address":"0x0200000000000000000000000000000000000000","topics":[],"data":"0x"}]`), false},
		{"wrong types", chaintest.Answer(`{"number":12,"hash":true,"parentHash":[],"transactions":"0x","status":[],"logs":7}`), false},
		{"empty object", chaintest.Answer("{}"), false},
		{"empty bytes", chaintest.Answer(`"0x"`), false},
		{"long bytes", chaintest.Answer(`"0x` + strings.Repeat("ff", 96) + `"`), false},
		{"a head without end", chaintest.Answer(farAway), true},
	} {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel() // it mostly waits for what does not come
			server := httptest.NewServer(lie.handler)
			defer server.Close()
			c, err := client.Dial(t.Context(), "n1", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			accounts := client.NewAccounts(lie.name)
			accounts.Addresses(400)
			comet, err := client.DialComet("n1", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer comet.Close()
			env := Env{
				Nodes: []*client.Client{c}, WS: []string{"ws" + strings.TrimPrefix(server.URL, "http")}, Comet: []*client.Comet{comet}, Accounts: accounts, Rand: rand.New(rand.NewPCG(1, 1)), Book: NewBook(), Concurrency: 1, OpTimeout: 100 * time.Millisecond,
				Fees: client.Fees{ChainID: common.Big1, Tip: common.Big1, Cap: common.Big2},
			}
			instances := lied(t, env)
			threads := threadsOf(t, env, instances...)
			mains := len(threads)
			for _, i := range instances {
				threads = append(threads, i.Final()...)
			}
			for _, i := range instances {
				threads = append(threads, i.Closing()...)
			}
			threads = append(threads, env.Book.Walk(env.Nodes, env.OpTimeout)...)
			for _, thread := range threads {
				for range 60 {
					o, ok := thread.Next()
					if !ok {
						break
					}
					done := thread.Invoke(t.Context(), o)
					want := history.Fail
					switch o.F {
					case "receipt":
						if lie.name == "null" {
							want = history.OK // no receipt
						}
					case "write", "cas", "read", "inc", "add", "move", "txn", "emit", "put", "pay", "submit", "precompile":
						want = history.Info
						if isRefused(done) && strings.Contains(done.Error.String(), "deadline exceeded") {
							want = history.Fail // this machine was too busy to connect in time
						}
						if nonce, ok := done.Lookup(nonceKey); !ok || nonce.IsNil() {
							t.Errorf("%s in doubt has no :nonce", o.F)
						}
					case "logs":
						if _, byHash := o.Value.Field("at"); byHash && lie.name == "empty list" {
							want = history.OK
						}
					case "head":
						if lie.heads {
							want = history.OK
						}
					}
					for want == history.OK && strings.Contains(done.Error.String(), "deadline exceeded") && t.Context().Err() == nil {
						done = thread.Invoke(t.Context(), o) // this machine was too busy to hear the lie
					}
					if done.Type != want {
						t.Errorf("%s: %v %v, want %v", o.F, done.Type, done.Error, want)
					}
					if done.Type == history.Info && thread.Crash() != nil {
						break
					}
				}
			}
			for i, w := range instances {
				if s, ok := w.(Shared); ok != All()[i].Submits {
					t.Errorf("%s submits: %v, and is shared: %v", All()[i].Name, All()[i].Submits, ok)
				} else if ok {
					invokeOdd(t, s, &Sender{env: env, node: c})
				}
			}
			for _, thread := range threads[mains:] {
				if o, ok := thread.Next(); ok {
					t.Errorf("a final thread goes on with %s %s", o.F, o.Value)
				}
			}
		})
	}
}

// lied makes every workload as it is once prepared, with something to read in
// the end.
func lied(t *testing.T, env Env) []Instance {
	t.Helper()
	at := func(name string, address byte) *contract {
		c, err := loadContract(name)
		if err != nil {
			t.Fatal(err)
		}
		c.address = common.Address{address}
		return c
	}
	deployer, err := env.Accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	env.Deployer = deployer
	r := &registers{env: env, contract: at("Register", 1), keys: newKeys(1)}
	r.keys.strong(env.Rand)
	logs, past := at("Log", 2), at("CallAt", 3)
	pay := newPayments(env)
	out := []Instance{
		&heads{env: env}, r,
		&counting{env: env, contract: at("Counter", 4)}, &sets{env: env, contract: at("Set", 5)}, &banking{env: env, contract: at("Bank", 6)},
		newLists(env, at("Append", 7)), &logging{env: env, contract: logs, places: newPlaces(logs)}, pay,
		&pastCalls{env: env, contract: past, places: newPlaces(past)},
		&precompiles{env: env}, &receipts{env: env}, &bodies{env: env, stride: stride{most: 4}}, &councils{env: env, start: 1, stride: stride{most: 4}},
		&subs{env: env}, newContests(env),
	}
	if len(out) != len(All()) {
		t.Errorf("%d workloads are lied to, there are %d", len(out), len(All()))
	}
	env.Book.signed(common.Hash{1})
	env.Book.Add(r.contract.address, 0, r.decode)
	for _, to := range pay.payees {
		env.Book.Add(to, 0, pay.decode)
	}
	return out
}

// invokeOdd performs operations whose values are none of the workload's.
func invokeOdd(t *testing.T, w Shared, s *Sender) {
	t.Helper()
	for _, wl := range All() {
		for _, f := range wl.Ops {
			for _, v := range []history.Value{{}, history.Int(-1), history.Text("x"), history.Vec(), history.Vec(history.Int(1)), history.MapOf(), history.Vec(history.Text("x"), history.Text("y"))} {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				done := w.Invoke(ctx, s, history.Op{F: f, Value: v})
				cancel()
				if done.Type == history.OK {
					t.Errorf("%s of %s is ok", f, v)
				}
				if done.Type == history.Info && s.crash() != nil {
					t.Fatal("accounts are used up")
				}
			}
		}
	}
}
