package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/devnet/rpc/rpctest"
)

// The test binary is also the node, in a process of its own.
const roleEnv = "RPC_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	l, err := net.FileListener(os.NewFile(3, "rpc"))
	if err != nil {
		panic(err)
	}
	go (&rpctest.Node{}).Serve(l)
	io.Copy(io.Discard, os.Stdin) // until the test ends
}

// startNode starts a node and returns its host:port and what ends it.
func startNode(t testing.TB) (addr string, kill func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=node")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	return l.Addr().String(), kill
}

// start starts a node and a proxy before it.
func start(t testing.TB) (p *rpc.Proxy, direct string, kill func()) {
	t.Helper()
	addr, kill := startNode(t)
	p, err := rpc.New(rpc.Options{Target: "http://" + addr, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, "http://" + addr, kill
}

func set(t testing.TB, p *rpc.Proxy, rules ...rpc.Rule) {
	t.Helper()
	if err := p.Set(rules...); err != nil {
		t.Fatal(err)
	}
}

// http1 is a client without a pool: each request has its own connection.
func http1() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
}

// send posts a body and returns status and answer.
func send(url, body string) (int, string, error) {
	resp, err := http1().Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func must(t testing.TB, url, body string) string {
	t.Helper()
	status, answer, err := send(url, body)
	if err != nil || status != 200 {
		t.Fatalf("%s: status %d, %v: %s", body, status, err, answer)
	}
	return answer
}

// req is a JSON-RPC request.
func req(id int, method string, params ...any) string {
	if params == nil {
		params = []any{}
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func batch(reqs ...string) string { return "[" + strings.Join(reqs, ",") + "]" }

func seen(t testing.TB, url, method string) string {
	t.Helper()
	return must(t, url, req(1, "test_seen", method))
}

func mine(t testing.TB, url string, n int) {
	t.Helper()
	must(t, url, req(1, "test_mine", fmt.Sprint(n)))
}

// until waits for a condition; only the limit of the whole test ends it.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal(what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// still waits until there are no more goroutines than there were.
func still(t *testing.T, was int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for runtime.NumGoroutine() > was {
		if time.Now().After(deadline) {
			var b bytes.Buffer
			buf := make([]byte, 1<<20)
			b.Write(buf[:runtime.Stack(buf, true)])
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), was, b.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func rule(t *testing.T, p *rpc.Proxy, i int) rpc.RuleCounters {
	t.Helper()
	c := p.Counters()
	if i >= len(c.Rules) {
		t.Fatalf("counters of %d rules", len(c.Rules))
	}
	return c.Rules[i]
}
