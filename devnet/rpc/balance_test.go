package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/jepgo/jepgo/devnet/rpc"
)

// balanced starts three nodes at heights 1, 2 and 3.
func balanced(t *testing.T) (urls []string, kills []func()) {
	t.Helper()
	for i := range 3 {
		addr, kill := startNode(t)
		mine(t, "http://"+addr, i+1)
		urls, kills = append(urls, "http://"+addr), append(kills, kill)
	}
	return urls, kills
}

// whom asks which node answers.
func whom(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(req(1, "eth_blockNumber")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(b), `{"jsonrpc":"2.0","id":1,"result":"0x%x"}`, &n); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return n
}

func TestBalancer(t *testing.T) {
	urls, kills := balanced(t)
	was := runtime.NumGoroutine()
	open := func(p rpc.Policy, seed uint64) (*rpc.Balancer, string) {
		t.Helper()
		b, err := rpc.NewBalancer("", urls, p, seed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b, "http://" + b.Addr()
	}
	sticky, url := open(rpc.Sticky, 0)
	for want := 1; want <= 3; want++ {
		client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		for range 4 {
			if got := whom(t, client, url); got != want {
				t.Errorf("sticky: node %d, expected %d", got, want)
			}
		}
		client.CloseIdleConnections()
	}
	for _, c := range sticky.Counters() {
		if c.Sent != 4 || c.Refused != 0 {
			t.Errorf("sticky: %+v", c)
		}
	}
	robin, url := open(rpc.RoundRobin, 0)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for i := range 7 {
		if got := whom(t, client, url); got != i%3+1 {
			t.Errorf("round-robin: request %d to node %d", i, got)
		}
	}
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+robin.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ws := wsClient{conn}
	for range 3 {
		if got := ws.ask(t, req(1, "eth_blockNumber")); got != result(1, `"0x2"`) {
			t.Errorf("a WebSocket: %s", got)
		}
	}
	var drawn [3]string
	for i, seed := range []uint64{5, 5, 6} {
		b, url := open(rpc.Random, seed)
		for range 30 {
			drawn[i] += fmt.Sprint(whom(t, client, url))
		}
		b.Close()
	}
	if drawn[0] != drawn[1] || drawn[0] == drawn[2] || strings.Count(drawn[0], "1") == 0 || strings.Count(drawn[0], "3") == 0 {
		t.Errorf("random: %v", drawn)
	}
	// A node that is gone is passed over.
	kills[0]()
	until(t, "the node to be passed over", func() bool {
		resp, err := client.Post(url, "application/json", strings.NewReader(req(1, "eth_blockNumber")))
		if err == nil {
			resp.Body.Close()
		}
		return robin.Counters()[0].Refused > 0
	})
	for range 6 {
		if got := whom(t, client, url); got == 1 {
			t.Error("the dead node has answered")
		}
	}
	kills[1]()
	kills[2]()
	until(t, "status 502", func() bool { status, _, _ := send(url, req(1, "eth_chainId")); return status == 502 })
	if err := robin.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := conn.ReadMessage(); err == nil {
		t.Error("the WebSocket outlives its balancer")
	}
	conn.Close()
	client.CloseIdleConnections()
	sticky.Close()
	still(t, was)
	for _, bad := range []func() (*rpc.Balancer, error){
		func() (*rpc.Balancer, error) { return rpc.NewBalancer("", nil, rpc.Sticky, 0) },
		func() (*rpc.Balancer, error) { return rpc.NewBalancer("", urls, "best", 0) },
		func() (*rpc.Balancer, error) { return rpc.NewBalancer("", []string{"x"}, rpc.Sticky, 0) },
	} {
		if b, err := bad(); err == nil {
			b.Close()
			t.Error("no error")
		}
	}
}
