package rpc_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/devnet/rpc/rpctest"
)

type wsClient struct{ conn *websocket.Conn }

func dial(t testing.TB, p *rpc.Proxy) wsClient {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+p.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return wsClient{conn}
}

func (c wsClient) write(t testing.TB, body string) {
	t.Helper()
	if err := c.conn.WriteMessage(websocket.TextMessage, []byte(body)); err != nil {
		t.Error(err)
	}
}

func (c wsClient) read(t testing.TB) string {
	t.Helper()
	_, b, err := c.conn.ReadMessage()
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func (c wsClient) ask(t testing.TB, body string) string {
	t.Helper()
	c.write(t, body)
	return c.read(t)
}

func result(id int, s string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, s)
}

// news is the notification of a head.
func news(n uint64) string {
	return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xcafe","result":` + rpctest.Block(n) + `}}`
}

func TestWebSocketPasses(t *testing.T) {
	p, direct, _ := start(t)
	ws := dial(t, p)
	for _, body := range []string{
		req(1, "eth_chainId"), "\n[" + req(1, "eth_chainId") + " ]", "{", "7",
		req(1, "eth_sendRawTransaction", strings.Repeat("z", 11<<20)),
	} {
		if body == "{" || body == "7" {
			if got := ws.ask(t, body); !strings.Contains(got, "error") {
				t.Errorf("%s: %s", body, got)
			}
			continue
		}
		if got, want := ws.ask(t, body), must(t, direct, body); got != want {
			t.Errorf("%.60s: answer of %d bytes, expected %d", body, len(got), len(want))
		}
	}
	if got := ws.ask(t, req(1, "test_big", fmt.Sprint(11<<20))); got != result(1, `"`+strings.Repeat("x", 11<<20)+`"`) {
		t.Errorf("answer of %d bytes", len(got))
	}
	if c := p.Counters(); c.Opaque != 1 || c.Messages != 6 {
		t.Errorf("counters %+v", c)
	}
	// The node's decision whom to let in is handed on.
	_, resp, err := websocket.DefaultDialer.Dial("ws://"+p.Addr(), http.Header{"Origin": {"http://evil.example"}})
	if err == nil || resp == nil || resp.StatusCode != 403 {
		t.Errorf("refused origin: %v, %v", resp, err)
	}
	// Pings go through to the node.
	pong := make(chan string, 1)
	ws.conn.SetPongHandler(func(data string) error { pong <- data; return nil })
	if err := ws.conn.WriteControl(websocket.PingMessage, []byte("there?"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ws.ask(t, req(1, "eth_chainId"))
	ws.ask(t, req(1, "eth_chainId"))
	if got := <-pong; got != "there?" {
		t.Errorf("pong %q", got)
	}
}

func TestWebSocketActions(t *testing.T) {
	p, direct, _ := start(t)
	ws := dial(t, p)
	chain := result(2, `"0x539"`)
	hit := req(1, "eth_blockNumber")
	marker := req(2, "eth_chainId")
	for _, c := range []struct {
		name string
		do   rpc.Action
		want string // "" for nothing
	}{
		{"drop", rpc.Action{Kind: rpc.Drop}, ""},
		{"drop after", rpc.Action{Kind: rpc.Drop, After: true}, ""},
		{"error", rpc.Action{Kind: rpc.Fail, Code: -5, Message: "no"}, `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}`},
		{"error after", rpc.Action{Kind: rpc.Fail, Code: -5, Message: "no", After: true}, `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}`},
		{"edit", rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Do: rpc.SetField, Value: "[]"}}}, result(1, "[]")},
		{"wrong id", rpc.Action{Kind: rpc.WrongID}, result(1000004, `"0x0"`)},
		{"cut", rpc.Action{Kind: rpc.Cut, Keep: 0.1}, result(1, `"0x0"`)[:3]},
		{"duplicate", rpc.Action{Kind: rpc.Duplicate}, result(1, `"0x0"`)},
		{"delay", rpc.Action{Kind: rpc.Delay, Delay: time.Millisecond}, result(1, `"0x0"`)},
		{"delay after", rpc.Action{Kind: rpc.Delay, Delay: time.Millisecond, After: true}, result(1, `"0x0"`)},
	} {
		set(t, p, rpc.Rule{Methods: "eth_blockNumber", Do: c.do})
		ws.write(t, hit)
		if c.want != "" {
			if got := ws.read(t); got != c.want {
				t.Errorf("%s: %s, expected %s", c.name, got, c.want)
			}
		}
		if got := ws.ask(t, marker); got != chain { // also after what was lost
			t.Errorf("%s: the next: %s", c.name, got)
		}
		if c.do.Kind == rpc.Duplicate {
			until(t, "the second answer", func() bool { return rule(t, p, 0).Duplicated == 1 })
		}
		if r := rule(t, p, 0); r.Acted() != 1 {
			t.Errorf("%s: counters %+v", c.name, r)
		}
		if c.do.Kind != rpc.Drop && c.do.Kind != rpc.Fail {
			if got, want := ws.ask(t, batch(hit, marker)), batch(c.want, chain); got != want && c.do.Kind != rpc.Cut {
				t.Errorf("%s in a batch: %s", c.name, got)
			}
		}
	}
	mine(t, direct, 9)
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 4}})
	if got := ws.ask(t, hit); got != result(1, `"0x5"`) {
		t.Errorf("stale: %s", got)
	}
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Page}})
	if got := ws.ask(t, hit); !strings.HasPrefix(got, "<!DOCTYPE html>") {
		t.Errorf("page: %s", got)
	}
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Status, Status: 503}})
	ws.write(t, hit)
	var closed *websocket.CloseError
	if _, _, err := ws.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != websocket.CloseTryAgainLater || closed.Text != "Service Unavailable" {
		t.Errorf("status: %v", err)
	}
}

// TestSlowRequestsDoNotHoldUpOthers on one WebSocket.
func TestSlowRequestsDoNotHoldUpOthers(t *testing.T) {
	p, _, _ := start(t)
	ws := dial(t, p)
	set(t, p, rpc.Rule{Methods: "eth_blockNumber", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour}},
		rpc.Rule{Name: "late", Methods: "eth_getBalance", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour, After: true}})
	ws.write(t, req(1, "eth_blockNumber"))
	ws.write(t, req(2, "eth_getBalance", "0x1"))
	if got := ws.ask(t, req(3, "eth_chainId")); got != result(3, `"0x539"`) {
		t.Errorf("the fast one: %s", got)
	}
	set(t, p)
	got := map[string]bool{ws.read(t): true, ws.read(t): true}
	if !got[result(1, `"0x0"`)] || !got[result(2, `"0x0"`)] {
		t.Errorf("let go: %v", got)
	}
}

func TestSubscriptions(t *testing.T) {
	p, direct, _ := start(t)
	ws := dial(t, p)
	subscribe := func() {
		t.Helper()
		if got := ws.ask(t, req(1, "eth_subscribe", "newHeads")); got != result(1, `"0xcafe"`) {
			t.Fatal(got)
		}
	}
	subscribe()
	mine(t, direct, 1)
	if got := ws.read(t); got != news(1) {
		t.Errorf("without rules: %s", got)
	}
	// Stuck: requests are answered, heads do not come.
	set(t, p, rpc.Rule{Name: "stuck", Methods: "eth_subscription", Do: rpc.Action{Kind: rpc.Drop}})
	mine(t, direct, 3)
	until(t, "three heads dropped", func() bool { return rule(t, p, 0).Dropped == 3 })
	if got := ws.ask(t, req(2, "eth_chainId")); got != result(2, `"0x539"`) {
		t.Errorf("while stuck: %s", got)
	}
	// Stale: three heads behind.
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 3}})
	mine(t, direct, 5)
	for _, n := range []uint64{5, 6} {
		if got := ws.read(t); got != news(n) {
			t.Errorf("stale: %s", got)
		}
	}
	// Delayed ones keep their order, though the later is drawn to wait less.
	const d = 60 * time.Millisecond
	set(t, p, rpc.Rule{Methods: "eth_subscription", Gate: rpc.Gate{Max: 1}, Do: rpc.Action{Kind: rpc.Delay, Delay: d}})
	began := time.Now()
	mine(t, direct, 2)
	for _, n := range []uint64{10, 11} {
		if got := ws.read(t); got != news(n) {
			t.Errorf("delayed: %s", got)
		}
	}
	if took := time.Since(began); took < d {
		t.Errorf("delayed by only %v", took)
	}
	until(t, "the delay to be counted", func() bool { return rule(t, p, 0).Delayed == 1 })
	// Corrupted within the result.
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "number", Do: rpc.DeleteField}}}})
	mine(t, direct, 1)
	if got := ws.read(t); got != strings.Replace(news(12), `"number":"0xc", `, "", 1) {
		t.Errorf("edited: %s", got)
	}
	set(t, p)
	mine(t, direct, 1)
	if got := ws.read(t); got != news(13) {
		t.Errorf("afterwards: %s", got)
	}
}

func TestEndsAreHandedOn(t *testing.T) {
	p, _, kill := start(t)
	was := runtime.NumGoroutine()
	ws := dial(t, p)
	if err := ws.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4321, "bye"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var closed *websocket.CloseError
	if _, _, err := ws.conn.ReadMessage(); err == nil {
		t.Error("no end after a close")
	}
	ws.conn.Close()
	// A client that just vanishes, half a frame sent.
	ws = dial(t, p)
	ws.conn.NetConn().Write([]byte{0x81, 0xfe, 0x10})
	ws.conn.NetConn().Close()
	still(t, was)
	// A node that is killed.
	ws = dial(t, p)
	ws.ask(t, req(1, "eth_chainId"))
	kill()
	if _, _, err := ws.conn.ReadMessage(); err == nil || errors.As(err, &closed) && closed.Code == websocket.CloseNormalClosure {
		t.Errorf("the node was killed: %v", err)
	}
	if _, resp, err := websocket.DefaultDialer.Dial("ws://"+p.Addr(), nil); err == nil || resp == nil || resp.StatusCode != 502 {
		t.Errorf("dial of a dead node: %v, %v", resp, err)
	}
}
