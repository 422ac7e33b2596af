package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/devnet/rpc/rpctest"
	"github.com/jepgo/jepgo/history"
)

// chainMain is a node with a JSON-RPC server and an invented chain. It ends when
// the test does.
func chainMain() {
	l, err := net.FileListener(os.NewFile(3, "rpc"))
	if err != nil {
		panic(err)
	}
	go (&rpctest.Node{}).Serve(l)
	io.Copy(io.Discard, os.Stdin)
}

// proxies is the RPC of the test networks.
type proxies map[string]*rpc.Proxy

func (p proxies) Proxy(node string) *rpc.Proxy { return p[node] }

// those are processes that can be looked at and not started.
type those map[string]devnet.Identity

func (p those) Identity(node string) (devnet.Identity, bool) {
	return p[node], devnet.Alive(p[node])
}

func (those) Start(context.Context, string) (devnet.Identity, error) {
	return devnet.Identity{}, errors.New("not ours")
}

func (those) Ready(ctx context.Context, _ string) error { return ctx.Err() }

// rpcNet starts n chain nodes, each with its proxy.
func rpcNet(t *testing.T, n int) (net_ Net, direct map[string]string) {
	t.Helper()
	ps, ids := proxies{}, those{}
	direct = map[string]string{}
	for _, node := range nodeNames(n) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		defer file.Close()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=chain")
		cmd.ExtraFiles = []*os.File{file}
		cmd.Stderr = os.Stderr
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		if ids[node], err = devnet.Lookup(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		direct[node] = "http://" + l.Addr().String()
		p, err := rpc.New(rpc.Options{Target: direct[node], Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		ps[node] = p
	}
	return Net{Nodes: nodeNames(n), Processes: ids, RPC: ps}, direct
}

// said is what a client saw of one request.
type said struct {
	status int
	body   string
	took   time.Duration
	err    error
}

func askRPC(ctx context.Context, url, body string) said {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return said{err: err}
	}
	resp, err := client.Do(req)
	if err != nil {
		return said{err: err, took: time.Since(start)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return said{resp.StatusCode, string(b), time.Since(start), err}
}

const (
	askBlock = `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}`
	mineTen  = `{"jsonrpc":"2.0","id":1,"method":"test_mine","params":["10"]}`
)

func proxyURL(n Net, node string) string { return "http://" + n.RPC.Proxy(node).Addr() }

// clientsOf let a client ask each node's proxy for its head until the test ends.
func clientsOf(t *testing.T, n Net) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, len(n.Nodes))
	for _, node := range n.Nodes {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				try, cancel := context.WithTimeout(ctx, time.Second)
				askRPC(try, proxyURL(n, node), askBlock)
				cancel()
			}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range n.Nodes {
			<-done
		}
	})
}

// TestRPCFaults takes each through its life and looks from the client's side.
func TestRPCFaults(t *testing.T) {
	// Beside no other: it measures times.
	n, direct := rpcNet(t, 3)
	for _, url := range direct {
		if s := askRPC(t.Context(), url, mineTen); s.err != nil {
			t.Fatal(s.err)
		}
	}
	clientsOf(t, n)
	block := func(s said) bool { return s.status == 200 && strings.Contains(s.body, rpctest.Block(10)) }
	for _, c := range []struct {
		fault string
		value string // part of the op's value
		holds string // part of the evidence
		seen  func(said) bool
	}{
		{"rpc-delay:120ms:n2", `:delay-ms 120.0`, `:least-delay-ms`, func(s said) bool { return block(s) && s.took >= 120*time.Millisecond }},
		{"rpc-delay:n2:response:70ms:eth_get*", `:side :response`, `:least-delay-ms`, func(s said) bool { return block(s) && s.took >= 70*time.Millisecond }},
		{"rpc-drop:n2:request", `:share 0.3`, ":acted", func(s said) bool { return errors.Is(s.err, io.EOF) }},
		{"rpc-drop:n2:100%:response", `:share 1.0`, ":acted", func(s said) bool { return errors.Is(s.err, io.EOF) }},
		{"rpc-drop:n2:hang:50%", `:side :hang`, ":acted", func(s said) bool { return errors.Is(s.err, context.DeadlineExceeded) }},
		{"rpc-error:n2:429", `:with "429"`, ":acted", func(s said) bool { return s.status == 429 }},
		{"rpc-error:n2:503", `:with "503"`, ":acted", func(s said) bool { return s.status == 503 }},
		{"rpc-error:n2:html", `:with "html"`, ":acted", func(s said) bool { return s.status == 200 && strings.HasPrefix(s.body, "<!DOCTYPE html>") }},
		{"rpc-error:n2:truncated", `:with "truncated"`, ":acted", func(s said) bool {
			return s.status == 200 && strings.HasPrefix(rpctest.Block(10), strings.TrimPrefix(s.body, `{"jsonrpc":"2.0","id":1,"result":`))
		}},
		{"rpc-error:n2:jsonrpc", `:with "jsonrpc"`, ":acted", func(s said) bool { return strings.Contains(s.body, `"code":-32005`) }},
		{"rpc-stale:n2:4", `:blocks 4`, ":mean-behind-blocks 4.0", func(s said) bool { return strings.Contains(s.body, rpctest.Block(6)) }},
		{"rpc-corrupt:n2:wrong-hash", `:lie :wrong-hash`, ":acted", func(s said) bool {
			return s.status == 200 && !block(s) && strings.Contains(s.body, fmt.Sprintf(`"parentHash":"0x%064x"`, 10))
		}},
		{"rpc-corrupt:n2:null-block", ``, ":acted", func(s said) bool { return strings.Contains(s.body, `"result":null`) }},
		{"rpc-corrupt:n2:negative-hex", ``, ":acted", func(s said) bool { return strings.Contains(s.body, `"number":"-0x1"`) }},
		{"rpc-corrupt:n2:nested", ``, ":acted", func(s said) bool { return strings.Contains(s.body, `"hash":[[[[`) }},
		{"rpc-corrupt:n2:missing-field", ``, ":acted", func(s said) bool { return s.status == 200 && !strings.Contains(s.body, `"hash"`) }},
		{"rpc-corrupt:n2:wrong-id", `:methods "*"`, ":acted", func(s said) bool { return strings.Contains(s.body, `"id":1000004`) }},
	} {
		t.Run(c.fault, func(t *testing.T) {
			f := parsed(t, c.fault)[0]
			if got := parsed(t, f.Name())[0]; got != f {
				t.Errorf("%s is not what its name says: %s", c.fault, f.Name())
			}
			app, err := f.Plan(t.Context(), n, seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			if v := app.Value().String(); !strings.Contains(v, `:nodes ["n2"]`) || !strings.Contains(v, c.value) {
				t.Errorf("value %s", v)
			}
			if ss := app.UndoSteps(); len(ss) != 1 || ss[0].Node != "n2" || ss[0].Kind != stepRPC {
				t.Errorf("steps %v", ss)
			}
			if err := app.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			evidence, err := app.Probe(t.Context())
			if err != nil || !strings.Contains(evidence.String(), c.holds) {
				t.Errorf("evidence %s, %v", evidence, err)
			}
			if asked, delays := app.Value().Field("delay-ms"); delays {
				if least, _ := asked.Float(); number(t, evidence, "n2", "least-delay-ms") < least {
					t.Errorf("evidence %s of a delay of %v ms", evidence, least)
				}
			}
			wait(t, "a client to see it", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				return c.seen(askRPC(ctx, proxyURL(n, "n2"), askBlock))
			})
			if s := askRPC(t.Context(), proxyURL(n, "n1"), askBlock); !block(s) {
				t.Errorf("another node: %+v", s)
			}
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if v, err := app.VerifyUndone(short); err == nil {
				t.Errorf("undone before it was: %s", v)
			}
			cancel()
			for range 2 {
				if err := app.Undo(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if v, err := app.VerifyUndone(t.Context()); err != nil || !strings.Contains(v.String(), ":same-bytes") || !strings.Contains(v.String(), ":acted") {
				t.Errorf("undone: %s, %v", v, err)
			}
			for range 20 {
				if s := askRPC(t.Context(), proxyURL(n, "n2"), askBlock); !block(s) {
					t.Errorf("afterwards: %+v", s)
				}
			}
		})
	}
}

// TestRPCFaultsWithoutClients: what nobody asks for proves nothing.
func TestRPCFaultsWithoutClients(t *testing.T) {
	t.Parallel()
	n, _ := rpcNet(t, 1)
	app, err := parsed(t, "rpc-drop")[0].Plan(t.Context(), n, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if v, err := app.Probe(short()); err == nil {
		t.Errorf("not applied, but there is evidence: %s", v)
	}
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Probe(short()); err == nil || !strings.Contains(err.Error(), `node "n1": no request came that the fault is for, of 0`) {
		t.Errorf("nobody asked: %v", err)
	}
	// One that has rules already is left alone, also by the undo.
	second, err := parsed(t, "rpc-delay")[0].Plan(t.Context(), n, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "another fault has rules") {
		t.Errorf("second fault: %v", err)
	}
	if err := second.Undo(t.Context()); err != nil || len(n.RPC.Proxy("n1").Rules()) != 1 {
		t.Errorf("undo of the second: %v, rules %v", err, n.RPC.Proxy("n1").Rules())
	}
	if err := app.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := app.VerifyUndone(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRPCFaultOfOneThatDies: a node that does not run has nothing to compare, and
// one that is stopped neither; the rules are gone all the same.
func TestRPCFaultOfOneThatDies(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"dead": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			n, _ := rpcNet(t, 1)
			app, err := parsed(t, "rpc-error:503:100%")[0].Plan(t.Context(), n, seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			id, _ := n.Processes.Identity("n1")
			if err := devnet.Signal(id, sig); err != nil {
				t.Fatal(err)
			}
			wait(t, "n1 to be "+name, func() bool { return !n.runs("n1") })
			if s := askRPC(t.Context(), proxyURL(n, "n1"), askBlock); s.status != 503 {
				t.Errorf("%+v", s)
			}
			if _, err := app.Probe(t.Context()); err != nil {
				t.Error(err)
			}
			if err := app.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v, err := app.VerifyUndone(t.Context()); err != nil || !strings.Contains(v.String(), ":silent true") {
				t.Errorf("undone: %s, %v", v, err)
			}
			if len(n.RPC.Proxy("n1").Rules()) > 0 {
				t.Error("rules are left")
			}
			if _, err := parsed(t, "rpc-error")[0].Plan(t.Context(), n, seeded(1)); err == nil {
				t.Error("planned on a node that does not run")
			}
		})
	}
}

// TestRPCFaultsInARun by the real schedule, on a network whose processes are out
// of reach.
func TestRPCFaultsInARun(t *testing.T) {
	t.Parallel()
	n, direct := rpcNet(t, 2)
	for _, url := range direct {
		askRPC(t.Context(), url, mineTen)
	}
	n.Processes = nil
	clientsOf(t, n)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &rec{}
	o := options(t, n, "rpc-delay:100ms,rpc-drop:request,rpc-error,rpc-stale,rpc-corrupt:wrong-hash", 3, r)
	stops := 0
	o.Record = func(op history.Op) error {
		if err := r.record(op); err != nil {
			return err
		}
		if strings.HasPrefix(op.F, "stop-") && measured(op) {
			if stops++; stops == 5 {
				cancel()
			}
		}
		return nil
	}
	out, err := Run(ctx, o)
	if err != nil || out.Faults != 5 || len(out.Problems) > 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	for _, op := range r.ops {
		if !op.Error.IsNil() {
			t.Errorf("%s: %s", op.F, op.Error)
		}
	}
}

func TestRPCFaultsRefused(t *testing.T) {
	without := reach(4)
	without.RPC = false
	for _, name := range []string{"rpc-delay", "rpc-drop", "rpc-error", "rpc-stale", "rpc-corrupt"} {
		if _, err := Parse(name, without); !errors.Is(err, devnet.ErrNoControl) {
			t.Errorf("%s: %v", name, err)
		}
		f := parsed(t, name)[0]
		if needs := NeedsOf([]Fault{f}); needs != (Needs{RPC: true}) {
			t.Errorf("%s needs %+v", name, needs)
		}
	}
	safe := reach(4)
	safe.Quorum, safe.Processes = QuorumSafe, false
	if _, err := Parse("rpc-drop:all", safe); err != nil {
		t.Errorf("RPC takes nobody's vote: %v", err)
	}
	all, err := Parse("all", reach(4))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		if strings.HasPrefix(f.Name(), "rpc-") {
			got = append(got, f.Name())
		}
	}
	if strings.Join(got, " ") != "rpc-delay rpc-drop rpc-error" {
		t.Errorf("all has %v", got)
	}
	for text, want := range map[string]string{
		"rpc-delay:0s":       `"0s": expected a delay such as 500ms, from 1ms to 1m0s`,
		"rpc-stale:0":        `"0": expected a number of blocks from 1 to 10000`,
		"rpc-drop:eth_[":     `"eth_[": expected methods such as eth_call or eth_get*`,
		"rpc-error:500":      `"500": unknown`,
		"rpc-corrupt:thing":  `"thing": unknown`,
		"rpc-drop:n9":        `there are 4 nodes`,
		"rpc-drop:10%:20%":   `expected one`,
		"rpc-drop:eth_a:b_c": `expected one`,
	} {
		if _, err := Parse(text, reach(4)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLiesAreRules: every lie of the library makes a rule, and changes what it is
// for.
func TestLiesAreRules(t *testing.T) {
	for _, l := range lies() {
		if err := (rpc.Rule{Methods: l.methods, Do: l.do}).Check(); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	}
	for _, e := range rpcErrors() {
		if err := (rpc.Rule{Do: e.do}).Check(); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}

// ownedRPC is a node with its proxy and a client, all of this process.
func ownedRPC() Net {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go (&rpctest.Node{}).Serve(l)
	p, err := rpc.New(rpc.Options{Target: "http://" + l.Addr().String()})
	if err != nil {
		panic(err)
	}
	n := Net{Nodes: []string{"n1"}, RPC: proxies{"n1": p}}
	go func() {
		for {
			askRPC(context.Background(), proxyURL(n, "n1"), askBlock)
			time.Sleep(time.Millisecond)
		}
	}()
	return n
}
