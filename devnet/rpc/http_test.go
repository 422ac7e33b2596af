package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/devnet/rpc/rpctest"
)

func TestPassesUntouched(t *testing.T) {
	p, direct, _ := start(t)
	url := "http://" + p.Addr()
	bodies := []string{
		req(1, "eth_blockNumber"),
		"\n [ " + req(1, "eth_getBlockByNumber", "latest", false) + " ,\t" + req(2, "nothing") + "]\n",
		"{", "", "null", "[]", `"text"`, "[1,2]", `{"id":{"a":1},"method":7}`, "\xff\xfe",
	}
	for _, rules := range [][]rpc.Rule{
		nil,
		{{Methods: "eth_none", Do: rpc.Action{Kind: rpc.Drop}}, {Name: "rare", Methods: "/^eth_/", Share: 1e-300, Do: rpc.Action{Kind: rpc.Drop}}},
	} {
		set(t, p, rules...)
		for _, body := range bodies {
			s1, a1, err1 := send(direct, body)
			s2, a2, err2 := send(url, body)
			if s1 != s2 || a1 != a2 || err1 != nil || err2 != nil {
				t.Errorf("%q: %d %q %v through the proxy, %d %q %v directly", body, s2, a2, err2, s1, a1, err1)
			}
		}
	}
	c, err := p.Compare(t.Context())
	if err != nil || c.Bytes == 0 || c.Direct == 0 || c.Through == 0 {
		t.Errorf("compare: %+v, %v", c, err)
	}
}

// TestEveryAction does each to a single request and to one of a batch.
func TestEveryAction(t *testing.T) {
	p, direct, _ := start(t)
	url := "http://" + p.Addr()
	mine(t, direct, 10)
	block := `{"jsonrpc":"2.0","id":1,"result":` + rpctest.Block(10) + `}`
	other := `{"jsonrpc":"2.0","id":2,"result":"0x539"}`
	gone := "EOF"
	for _, c := range []struct {
		name   string
		do     rpc.Action
		status int
		single string // answer, or part of an error
		batch  string
		asked  bool // the node was
		count  func(rpc.RuleCounters) int64
	}{
		{"drop", rpc.Action{Kind: rpc.Drop}, 200, gone, batch(other), false, func(c rpc.RuleCounters) int64 { return c.Dropped }},
		{"drop after", rpc.Action{Kind: rpc.Drop, After: true}, 200, gone, batch(other), true, func(c rpc.RuleCounters) int64 { return c.Dropped }},
		{"status", rpc.Action{Kind: rpc.Status, Status: 429}, 429, "Too Many Requests\n", "Too Many Requests\n", false, func(c rpc.RuleCounters) int64 { return c.Errored }},
		{"status after", rpc.Action{Kind: rpc.Status, Status: 503, After: true}, 503, "Service Unavailable\n", "Service Unavailable\n", true, func(c rpc.RuleCounters) int64 { return c.Errored }},
		{"error", rpc.Action{Kind: rpc.Fail, Code: -32005, Message: "too \"many\""}, 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too \"many\""}}`,
			batch(other, `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too \"many\""}}`), false,
			func(c rpc.RuleCounters) int64 { return c.Errored }},
		{"error after", rpc.Action{Kind: rpc.Fail, Code: -1, Message: "x", After: true}, 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`,
			batch(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`, other), true,
			func(c rpc.RuleCounters) int64 { return c.Errored }},
		{"cut", rpc.Action{Kind: rpc.Cut}, 200, block[:len(block)/2], batch(block, other)[:len(batch(block, other))/2], true, func(c rpc.RuleCounters) int64 { return c.Corrupted }},
		{"wrong id", rpc.Action{Kind: rpc.WrongID}, 200, strings.Replace(block, `"id":1,`, `"id":1000004,`, 1),
			batch(strings.Replace(block, `"id":1,`, `"id":1000004,`, 1), other), true, func(c rpc.RuleCounters) int64 { return c.Corrupted }},
		{"edit", rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "hash", Do: rpc.SetField, Value: "null"}}}, 200,
			strings.Replace(block, fmt.Sprintf(`"hash":"0x%064x"`, 11), `"hash":null`, 1),
			batch(strings.Replace(block, fmt.Sprintf(`"hash":"0x%064x"`, 11), `"hash":null`, 1), other), true,
			func(c rpc.RuleCounters) int64 { return c.Corrupted }},
		{"duplicate", rpc.Action{Kind: rpc.Duplicate}, 200, block, batch(block, other), true, func(c rpc.RuleCounters) int64 { return c.Duplicated }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, single := range []bool{true, false} {
				set(t, p, rpc.Rule{Methods: "eth_getBlock*", Do: c.do})
				body, want := req(1, "eth_getBlockByNumber", "0xa", false), c.single
				if !single {
					body, want = batch(body, req(2, "eth_chainId")), c.batch
				}
				was := seen(t, direct, "eth_getBlockByNumber")
				status, answer, err := send(url, body)
				if want == gone {
					if err == nil || !strings.Contains(err.Error(), gone) {
						t.Errorf("answer %d %s, %v: expected none", status, answer, err)
					}
				} else if err != nil || status != c.status || answer != want {
					t.Errorf("answer %d, %v\n%s\nexpected\n%s", status, err, answer, want)
				}
				if asked := was != seen(t, direct, "eth_getBlockByNumber"); asked != c.asked {
					t.Errorf("the node was asked: %v", asked)
				}
				if r := rule(t, p, 0); c.count(r) != 1 || r.Acted() != 1 || r.Matched != 1 || r.Chosen != 1 {
					t.Errorf("counters %+v", r)
				}
			}
		})
	}
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Page, Status: 502}})
	if status, answer, err := send(url, req(1, "eth_chainId")); status != 502 || !strings.HasPrefix(answer, "<!DOCTYPE html>") || err != nil {
		t.Errorf("page: %d %s %v", status, answer, err)
	}
	set(t, p)
	if _, err := p.Compare(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDuplicateReachesTheNodeTwice(t *testing.T) {
	p, direct, _ := start(t)
	set(t, p, rpc.Rule{Methods: "eth_sendRawTransaction", Do: rpc.Action{Kind: rpc.Duplicate}})
	must(t, "http://"+p.Addr(), batch(req(1, "eth_sendRawTransaction", "0x1"), req(2, "eth_chainId")))
	if tx, id := seen(t, direct, "eth_sendRawTransaction"), seen(t, direct, "eth_chainId"); !strings.Contains(tx, `"result":2}`) || !strings.Contains(id, `"result":1}`) {
		t.Errorf("seen %s, and the other of the batch %s", tx, id)
	}
}

func TestDelays(t *testing.T) {
	p, _, _ := start(t)
	url := "http://" + p.Addr()
	const d = 60 * time.Millisecond
	for _, after := range []bool{false, true} {
		set(t, p, rpc.Rule{Methods: "eth_chainId", Do: rpc.Action{Kind: rpc.Delay, Delay: d, After: after}})
		for range 5 {
			start := time.Now()
			must(t, url, req(1, "eth_chainId"))
			if took := time.Since(start); took < d {
				t.Errorf("took %v", took)
			}
		}
		if c := rule(t, p, 0); c.Delayed != 5 || c.MinDelay < d || c.DelayTime < 5*d {
			t.Errorf("counters %+v", c)
		}
	}
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Delay, Delay: d, Jitter: d / 2}})
	for range 8 {
		must(t, url, req(1, "eth_chainId"))
	}
	if c := rule(t, p, 0); c.Delayed != 8 || c.MinDelay < d/2 {
		t.Errorf("counters %+v", c)
	}
}

// TestSetLetsGo: what the old rules hold back leaves when they are replaced.
func TestSetLetsGo(t *testing.T) {
	p, _, _ := start(t)
	url := "http://" + p.Addr()
	set(t, p,
		rpc.Rule{Name: "before", Methods: "eth_chainId", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour}},
		rpc.Rule{Name: "after", Methods: "eth_blockNumber", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour, After: true}},
		rpc.Rule{Name: "hang", Methods: "eth_getBalance", Do: rpc.Action{Kind: rpc.Drop, Hang: true}})
	var wg sync.WaitGroup
	for _, c := range []struct {
		method string
		lost   bool
	}{{"eth_chainId", false}, {"eth_blockNumber", false}, {"eth_getBalance", true}} {
		wg.Go(func() {
			_, answer, err := send(url, req(1, c.method))
			if c.lost != (err != nil) {
				t.Errorf("%s: %s, %v", c.method, answer, err)
			}
		})
	}
	until(t, "three messages held back", func() bool {
		c := p.Counters()
		return c.Rules[0].Chosen+c.Rules[1].Chosen+c.Rules[2].Dropped == 3
	})
	set(t, p)
	wg.Wait()
}

func TestGateAndShare(t *testing.T) {
	p, _, _ := start(t)
	url := "http://" + p.Addr()
	hits := func(method string, n int) []int {
		t.Helper()
		var hit []int
		for i := range n {
			if strings.Contains(must(t, url, req(1, method)), "error") {
				hit = append(hit, i)
			}
		}
		return hit
	}
	fail := rpc.Action{Kind: rpc.Fail, Message: "no"}
	set(t, p, rpc.Rule{Methods: "eth_chainId", Gate: rpc.Gate{SkipFirst: 2, EveryN: 3, Max: 3}, Do: fail})
	if got := hits("eth_chainId", 15); !reflect.DeepEqual(got, []int{2, 5, 8}) {
		t.Errorf("gate: %v", got)
	}
	var first []int
	for round := range 2 {
		// Another rule before it, and other messages between, shift nothing.
		set(t, p, rpc.Rule{Methods: "eth_chainId", Share: 0.3, Do: fail})
		var got []int
		for i := range 400 {
			if round == 1 && i%7 == 0 {
				must(t, url, req(1, "eth_blockNumber"))
			}
			if strings.Contains(must(t, url, req(1, "eth_chainId")), "error") {
				got = append(got, i)
			}
		}
		if n := len(got); n < 120-40 || n > 120+40 { // 4.3 standard deviations
			t.Errorf("share 0.3 of 400: %d", n)
		}
		if round == 0 {
			first = got
		} else if !reflect.DeepEqual(got, first) {
			t.Errorf("with the same seed:\n%v\n%v", first, got)
		}
	}
}

func TestStale(t *testing.T) {
	p, direct, _ := start(t)
	url := "http://" + p.Addr()
	mine(t, direct, 10)
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 3}})
	result := func(s string) string { return `{"jsonrpc":"2.0","id":1,"result":` + s + `}` }
	for body, want := range map[string]string{
		req(1, "eth_blockNumber"):                                               `"0x7"`,
		req(1, "eth_getBlockByNumber", "latest", false):                         rpctest.Block(7),
		req(1, "eth_getBlockByNumber", "safe", false):                           rpctest.Block(6),
		req(1, "eth_getBlockByNumber", "finalized", false):                      rpctest.Block(6),
		req(1, "eth_getBlockByNumber", "0x7", false):                            rpctest.Block(7),
		req(1, "eth_getBlockByNumber", "0x8", false):                            `null`,
		req(1, "eth_getBalance", "0x1", "latest"):                               `"0x7"`,
		req(1, "eth_getBalance", "0x1"):                                         `"0x7"`,
		req(1, "eth_getTransactionReceipt", "0x7"):                              `{"transactionHash":"0x7","blockNumber":"0x7","status":"0x1"}`,
		req(1, "eth_getTransactionReceipt", "0x9"):                              `null`,
		req(1, "eth_getLogs", map[string]any{}):                                 `{"fromBlock":"0x7","toBlock":"0x7"}`,
		req(1, "eth_getLogs", map[string]any{"a": 1, "fromBlock": "0x2"}):       `{"toBlock":"0x7","a":1,"fromBlock":"0x2"}`,
		req(1, "eth_getLogs", map[string]any{"blockHash": "0x2"}):               `{"blockHash":"0x2"}`,
		req(1, "eth_getLogs", map[string]any{"toBlock": "finalized", "b": "c"}): `{"fromBlock":"0x7","b":"c","toBlock":"0x6"}`,
		req(1, "eth_chainId"):                                                   `"0x539"`,
	} {
		if got := must(t, url, body); got != result(want) {
			t.Errorf("%s\n%s\nexpected\n%s", body, got, result(want))
		}
	}
	c := rule(t, p, 0)
	if c.Stale != 11 || c.Behind != 33 {
		t.Errorf("counters %+v", c)
	}
	// While blocks come, the answers of a batch agree and never go back.
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				mine(t, direct, 1)
			}
		}
	})
	last := uint64(0)
	for range 50 {
		answer := must(t, url, batch(req(1, "eth_blockNumber"), req(2, "eth_getBalance", "0x1", "latest"), req(3, "eth_getBalance", "0x1", "safe")))
		var n, latest, safe uint64
		if _, err := fmt.Sscanf(answer, `[{"jsonrpc":"2.0","id":1,"result":"0x%x"},{"jsonrpc":"2.0","id":2,"result":"0x%x"},{"jsonrpc":"2.0","id":3,"result":"0x%x"}]`, &n, &latest, &safe); err != nil {
			t.Fatal(err, answer)
		}
		if n != latest || n < last || safe > latest+10 {
			t.Errorf("after %d: number %d, latest %d, safe %d", last, n, latest, safe)
		}
		last = n
	}
	close(stop)
	wg.Wait()
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 5000}})
	if got := must(t, url, req(1, "eth_blockNumber")); got != result(`"0x0"`) {
		t.Errorf("before there were so many blocks: %s", got)
	}
}

// TestLargeBodies pass in both directions, rules or not, and are not held.
func TestLargeBodies(t *testing.T) {
	p, _, _ := start(t)
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Do: rpc.SetField, Value: "1"}}}})
	const size = 11 << 20
	body := req(1, "test_big", fmt.Sprint(size))
	if got := must(t, "http://"+p.Addr(), body); got != result(1, `"`+strings.Repeat("x", size)+`"`) {
		t.Errorf("answer of %d bytes", len(got))
	}
	body = req(1, "eth_sendRawTransaction", strings.Repeat("y", size))
	if got := must(t, "http://"+p.Addr(), body); got != result(1, `"`+strings.Repeat("y", 66)+`"`) {
		t.Errorf("request of %d bytes: answer of %d", len(body), len(got))
	}
	if c := p.Counters(); c.Opaque != 1 || c.Rules[0].Seen != 1 || c.Rules[0].Corrupted != 0 {
		t.Errorf("counters %+v", c)
	}
	body = batch(strings.Split(strings.Repeat(req(1, "eth_chainId")+"|", 10_001), "|")[:10_001]...)
	if got := must(t, "http://"+p.Addr(), body); strings.Contains(got, `"result":1}`) {
		t.Error("a batch of 10001 was edited")
	}
}

// BenchmarkLatency asks by turns directly and through the proxy, so that both
// meet the same machine, and reports the medians in microseconds.
func BenchmarkLatency(b *testing.B) {
	addr, _ := startNode(b)
	p, err := rpc.New(rpc.Options{Target: "http://" + addr})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	body := req(1, "eth_getBlockByNumber", "0x0", false)
	took := func(url string) float64 {
		start := time.Now()
		resp, err := client.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return float64(time.Since(start)) / 1000
	}
	for _, c := range []struct {
		name  string
		rules []rpc.Rule
	}{
		{"no-rules", nil},
		{"no-match", []rpc.Rule{{Methods: "eth_none", Do: rpc.Action{Kind: rpc.Drop}}}},
		{"edit", []rpc.Rule{{Do: rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "hash", Do: rpc.FlipHex}}}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			set(b, p, c.rules...)
			var direct, through []float64
			for b.Loop() {
				direct = append(direct, took("http://"+addr))
				through = append(through, took("http://"+p.Addr()))
			}
			slices.Sort(direct)
			slices.Sort(through)
			for name, at := range map[string]int{"median": len(direct) / 2, "tenth": len(direct) / 10} {
				b.ReportMetric(direct[at], name+"-direct-µs")
				b.ReportMetric(through[at], name+"-through-µs")
			}
		})
	}
}
