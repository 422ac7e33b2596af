package rpc_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/rpc"
)

func TestDeadNode(t *testing.T) {
	p, _, kill := start(t)
	url := "http://" + p.Addr()
	must(t, url, req(1, "eth_chainId"))
	kill()
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 1}})
	until(t, "the node to be gone", func() bool { status, _, _ := send(url, req(1, "eth_chainId")); return status == 502 })
	if _, err := p.Compare(t.Context()); err == nil || !strings.Contains(err.Error(), rpc.ErrSilent.Error()) {
		t.Errorf("compare: %v", err)
	}
	if c := rule(t, p, 0); c.Acted() != 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestNodeDiesUnderAnAnswer: the client must see a broken connection, as it would
// have without the proxy.
func TestNodeDiesUnderAnAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1024))
			conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half"))
			conn.Close()
		}
	}()
	p, err := rpc.New(rpc.Options{Target: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, rules := range [][]rpc.Rule{nil, {{Do: rpc.Action{Kind: rpc.WrongID}}}} {
		set(t, p, rules...)
		if status, answer, err := send("http://"+p.Addr(), req(1, "eth_chainId")); err == nil {
			t.Errorf("answer %d %q", status, answer)
		}
	}
}

func TestHostileClients(t *testing.T) {
	p, _, _ := start(t)
	must(t, "http://"+p.Addr(), req(1, "eth_chainId"))
	set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: 2}}, rpc.Rule{Do: rpc.Action{Kind: rpc.WrongID}},
		rpc.Rule{Do: rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "*.*", Do: rpc.DeleteField}, {Path: "*", Do: rpc.FlipHex}}}})
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, body := range []string{
		`{"method":"eth_blockNumber"`, `[{"method":"eth_blockNumber","id":1},]`, `{"method":"eth_call","params":{"a":[]},"id":[1]}`,
		`{"method":"eth_getLogs","params":["latest"],"id":1}`, `{"method":"eth_getLogs","params":[{}],"id":"\u0000\ud800"}`,
		`{"method":"eth_getBalance","params":[],"id":1}`, `{"method":"eth_getBalance","params":[1,{"blockNumber":"latest"}],"id":1}`,
		`{"method":"eth_blockNumber","id":1e999}`, `[[[[]]]]`, `[{},{},{}]`, `{"\u006dethod":"eth_chainId","id":1}`, deep,
		`{"method":"` + strings.Repeat("a", 1<<20) + `","id":1}`, `{"id":1,"id":2,"method":"eth_chainId","method":"eth_blockNumber"}`,
		"[" + req(1, "eth_chainId") + "," + req(1, "eth_chainId") + "," + req(1, "eth_chainId") + "]",
	} {
		if status, _, err := send("http://"+p.Addr(), body); status != 200 || err != nil {
			t.Errorf("%.60s: status %d, %v", body, status, err)
		}
	}
	for _, raw := range []string{
		"", "\x00\x01\x02", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n{",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(raw))
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn) // the proxy ends it
		conn.Close()
	}
	set(t, p)
	must(t, "http://"+p.Addr(), req(1, "eth_chainId"))
}

// TestCloseLeavesNothing with slow clients, held messages and open connections of
// every sort.
func TestCloseLeavesNothing(t *testing.T) {
	addr, _ := startNode(t)
	must(t, "http://"+addr, req(1, "eth_chainId"))
	was := runtime.NumGoroutine()
	p, err := rpc.New(rpc.Options{Target: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	set(t, p, rpc.Rule{Methods: "eth_chainId", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour}},
		rpc.Rule{Name: "late", Methods: "eth_blockNumber", Do: rpc.Action{Kind: rpc.Delay, Delay: time.Hour, After: true}},
		rpc.Rule{Methods: "eth_getBalance", Do: rpc.Action{Kind: rpc.Drop, Hang: true}})
	var conns []net.Conn
	for _, raw := range []string{
		"", "POST / HTTP/1.1\r\nHos", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"slow",
	} {
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(raw))
		conns = append(conns, conn)
	}
	var wg sync.WaitGroup
	for _, m := range []string{"eth_chainId", "eth_blockNumber", "eth_getBalance"} {
		wg.Go(func() { send("http://"+p.Addr(), req(1, m)) })
	}
	ws := dial(t, p)
	ws.write(t, req(1, "eth_chainId"))
	ws.write(t, req(2, "eth_blockNumber"))
	ws2 := dial(t, p)
	ws2.write(t, req(3, "eth_subscribe", "newHeads"))
	ws2.read(t)
	until(t, "five messages held back", func() bool {
		c := p.Counters()
		return c.Rules[0].Chosen+c.Rules[1].Chosen+c.Rules[2].Dropped == 5
	})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	for _, c := range conns {
		c.Close()
	}
	ws.conn.Close()
	ws2.conn.Close()
	still(t, was)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("still listens")
	}
}

// TestHotSwapUnderLoad: no request fails, and each sees one set of rules or
// another.
func TestHotSwapUnderLoad(t *testing.T) {
	p, _, _ := start(t)
	url := "http://" + p.Addr()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				resp, err := client.Post(url, "application/json", strings.NewReader(req(1, "eth_chainId")))
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Contains(b, []byte(`"0x539"`)) && !bytes.Contains(b, []byte(`"result":1}`)) {
					t.Errorf("%s, %v", b, err)
				}
			}
		})
	}
	ws := dial(t, p)
	wg.Go(func() {
		for id := 1; ; id++ {
			select {
			case <-stop:
				return
			default:
			}
			ws.write(t, req(id, "eth_chainId"))
			if b := ws.read(t); !strings.Contains(b, `"0x539"`) && !strings.Contains(b, `"result":1}`) {
				t.Error(b)
			}
		}
	})
	for i := range 300 {
		switch i % 3 {
		case 0:
			set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Do: rpc.SetField, Value: "1"}}}})
		case 1:
			set(t, p, rpc.Rule{Do: rpc.Action{Kind: rpc.Delay, Delay: time.Millisecond, After: i%2 == 0}})
		default:
			set(t, p)
		}
		p.Counters()
		p.Rules()
		time.Sleep(time.Millisecond)
	}
	close(stop)
	wg.Wait()
	set(t, p)
	if got := must(t, url, req(1, "eth_chainId")); !strings.Contains(got, `"0x539"`) {
		t.Errorf("after the last: %s", got)
	}
}
