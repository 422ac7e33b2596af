package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); io.WriteString(w, body) }
}

func hijacked(do func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			do(conn)
			conn.Close()
		}
	}
}

var hostile = []struct {
	name string
	http.HandlerFunc
	class string // of a submit in doubt
}{
	{"html", text("<html><body>It works!</body></html>"), client.Malformed},
	{"empty", text(""), client.Malformed},
	{"truncated", text(`{"jsonrpc":"2.0","id":1,"resu`), client.Malformed},
	{"truncated batch", text(`[{"jsonrpc":"2.0","id":1,`), client.Malformed},
	{"null", text("null"), client.Malformed},
	{"number", text("17"), client.Malformed},
	{"empty list", text("[]"), client.Malformed},
	{"list of nulls", text("[null,null,null]"), client.Malformed},
	{"no result", text(`{"jsonrpc":"2.0","id":1}`), client.Malformed},
	{"error that is a string", text(`{"jsonrpc":"2.0","id":1,"error":"no"}`), client.RPC},
	{"deep nesting", text(strings.Repeat("[", 100_000)), client.Malformed},
	{"null result", chaintest.Answer("null"), client.Malformed},
	{"number as result", chaintest.Answer("7"), client.Malformed},
	{"string as result", chaintest.Answer(`"x"`), client.Malformed},
	{"list as result", chaintest.Answer("[1,2]"), client.Malformed},
	{"empty object", chaintest.Answer("{}"), client.Malformed},
	{"huge hex", chaintest.Answer(`"0x` + strings.Repeat("f", 1<<20) + `"`), client.Malformed},
	{"block with wrong types", chaintest.Answer(`{"number":12,"hash":true,"parentHash":[],"stateRoot":{},"timestamp":"x","transactions":3}`), client.Malformed},
	{"block with huge numbers", chaintest.Answer(`{"number":"0xffffffffffffffffffff","hash":"0x12"}`), client.Malformed},
	{"block beyond 63 bits", chaintest.Answer(`{"number":"0xffffffffffffffff","timestamp":"0x1","hash":"` + zeros + `","parentHash":"` + zeros + `","stateRoot":"` + zeros + `","transactions":[]}`), client.Malformed},
	{"receipt of another", chaintest.Answer(`{"transactionHash":"` + zeros + `","blockHash":"` + zeros + `","blockNumber":"0x1","status":"0x1"}`), client.Malformed},
	{"logs with missing fields", chaintest.Answer(`[{"address":"0x0000000000000000000000000000000000000000","topics":[],"data":"0x"}]`), client.Malformed},
	{"logs that are null", chaintest.Answer(`[null,null]`), client.Malformed},
	{"log of another contract and block", chaintest.Answer(`[{"address":"0x0100000000000000000000000000000000000000","topics":[],"data":"0x","blockNumber":"0x5","blockHash":"` + zeros + `","transactionHash":"` + zeros + `","logIndex":"0x0"}]`), client.Malformed},
	{"log of another block", chaintest.Answer(`[{"address":"0x0000000000000000000000000000000000000000","topics":[],"data":"0x","blockNumber":"0x5","blockHash":"` + zeros + `","transactionHash":"` + zeros + `","logIndex":"0x0"}]`), client.Malformed},
	{"status 429", status(429, "slow"), client.RateLimited},
	{"status 503", status(503, "<html>busy</html>"), client.HTTPStatus},
	{"status 500 with an endless line", status(500, strings.Repeat("x", 1<<20)), client.HTTPStatus},
	{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) }, client.HTTPStatus},
	{"closed", hijacked(func(net.Conn) {}), client.Reset},
	{"reset", hijacked(func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }), client.Reset},
	{"short body", hijacked(func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":")
	}), client.Malformed},
	{"no HTTP", hijacked(func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n") }), client.Reset},
	{"hang", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not see the client leave
		<-r.Context().Done()
	}, client.Timeout},
}

const zeros = "0x0000000000000000000000000000000000000000000000000000000000000000"

func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(h.HandlerFunc)
			defer server.Close()
			c := dial(t, server.URL)

			accounts := client.NewAccounts(h.name)
			accounts.Addresses(1)
			from, err := accounts.Next()
			if err != nil {
				t.Fatal(err)
			}
			fees := client.Fees{ChainID: common.Big1, Tip: common.Big1, Cap: common.Big2}
			var r client.Result
			inTime(t, h.class, func(ctx context.Context) client.Outcome {
				r = c.Execute(ctx, from, fees, client.Action{To: &common.Address{}, Gas: 21000})
				return r.Outcome
			})
			if r.Type != history.Info || r.Class != h.class || r.Tx == (common.Hash{}) {
				t.Errorf("submit gives %v %s %q with tx %v, want info %s with a tx", r.Type, r.Class, r.Text, r.Tx, h.class)
			}

			var reads sync.WaitGroup
			for name, read := range map[string]func(context.Context) error{
				"head":     func(ctx context.Context) error { _, err := c.Head(ctx); return err },
				"headers":  func(ctx context.Context) error { return c.Headers(ctx, []uint64{1, 2})[1].Err },
				"by hash":  func(ctx context.Context) error { _, err := c.HeaderByHash(ctx, common.Hash{1}); return err },
				"block":    func(ctx context.Context) error { _, err := c.BlockByNumber(ctx, 5); return err },
				"call":     func(ctx context.Context) error { _, err := c.CallAt(ctx, common.Address{}, nil, "latest"); return err },
				"receipts": func(ctx context.Context) error { return c.Receipts(ctx, []common.Hash{{1}})[0].Err },
				"fees":     func(ctx context.Context) error { _, err := c.Fees(ctx); return err },
				"balance":  func(ctx context.Context) error { _, err := c.Balance(ctx, common.Address{}); return err },
				"code":     func(ctx context.Context) error { _, err := c.Code(ctx, common.Address{}); return err },
				"call at": func(ctx context.Context) error {
					_, err := c.CallAtHash(ctx, common.Address{}, nil, common.Hash{1})
					return err
				},
				"state": func(ctx context.Context) error {
					_, err := c.StateAt(ctx, common.Address{}, common.Hash{1})
					return err
				},
				"logs of": func(ctx context.Context) error { _, err := c.LogsOf(ctx, common.Address{}, common.Hash{1}); return err },
				"body":    func(ctx context.Context) error { _, err := c.BodyAt(ctx, 5); return err },
				"pool":    func(ctx context.Context) error { _, err := c.Pool(ctx, []common.Address{{1}}); return err },
				"logs":    func(ctx context.Context) error { _, err := c.LogsBetween(ctx, common.Address{}, 5, 6); return err },
			} {
				reads.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					defer cancel()
					err := read(ctx)
					if err == nil {
						// These few answers are what was asked for.
						proper := map[string]bool{"null result/receipts": true, "huge hex/code": true, "huge hex/call at": true}
						if !proper[h.name+"/"+name] {
							t.Errorf("%s took the answer", name)
						}
					} else if o := client.ReadOutcome(err); o.Type != history.Fail {
						t.Errorf("%s gives %+v, want fail", name, o)
					}
				})
			}
			reads.Wait()
		})
	}
}

// inTime asks until the answer is heard, longer each time: a busy machine may not
// get as far as the lie.
func inTime(t *testing.T, class string, ask func(context.Context) client.Outcome) client.Outcome {
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		o := ask(ctx)
		cancel()
		if class == client.Timeout || o.Class != client.Timeout && !strings.Contains(o.Text, "deadline exceeded") || wait > patience {
			return o
		}
	}
}

// An answer without end is cut off, not kept.
func TestEndlessAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"`)
		chunk := []byte(strings.Repeat("a", 1<<20))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	_, err := dial(t, server.URL).ChainID(deadline(t))
	if o := client.ReadOutcome(err); o.Class != client.Malformed || !strings.Contains(o.Text, "bytes") {
		t.Errorf("an endless answer gives %+v", o)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := dial(t, "http://"+l.Addr().String())
	accounts := client.NewAccounts("dead")
	accounts.Addresses(1)
	from, _ := accounts.Next()
	fees := client.Fees{ChainID: common.Big1, Tip: common.Big1, Cap: common.Big2}
	r := c.Execute(deadline(t), from, fees, client.Action{To: &common.Address{}, Gas: 21000})
	if r.Type != history.Fail || r.Class != client.Refused {
		t.Errorf("submit to a dead port gives %+v", r)
	}
	if _, err := c.ChainID(deadline(t)); client.ReadOutcome(err).Class != client.Refused {
		t.Errorf("read of a dead port gives %v", err)
	}
}

// A server that dies under a kept connection leaves what was written in doubt,
// and refuses what comes after it.
func TestServerDiesUnderKeptConnection(t *testing.T) {
	server := httptest.NewServer(nil)
	hang := make(chan struct{})
	first := true
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			chaintest.Answer(`"0x539"`)(w, r)
			return
		}
		close(hang)
		<-r.Context().Done()
	})
	c := dial(t, server.URL)
	if _, err := c.ChainID(deadline(t)); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	go func() { errs <- c.SendRaw(context.Background(), client.Tx{Raw: []byte{1}}) }()
	<-hang
	server.CloseClientConnections()
	server.Listener.Close()
	if o := client.SubmitOutcome(<-errs); o.Type != history.Info {
		t.Errorf("written, then reset: %+v, want info", o)
	}
	if o := client.SubmitOutcome(c.SendRaw(deadline(t), client.Tx{Raw: []byte{1}})); o.Type != history.Fail || o.Class != client.Refused {
		t.Errorf("after its death: %+v, want fail refused", o)
	}
}

func TestDialWantsHTTP(t *testing.T) {
	for _, url := range []string{"", "localhost:8545", "ws://localhost:8546", "http://", "://", "http://a b", "/tmp/geth.ipc"} {
		if _, err := client.Dial(t.Context(), "n1", url); err == nil {
			t.Errorf("url %q was taken", url)
		}
	}
}

// A tag that the node does not know is not an error of the head.
func TestUnknownTags(t *testing.T) {
	block := `{"number":"0x1","timestamp":"0x1","hash":"` + zeros + `","parentHash":"` + zeros + `","stateRoot":"` + zeros + `"}`
	for _, said := range []string{
		`"error":{"code":-32000,"message":"finalized block not found"}`,
		`"error":{"code":-39001,"message":"Unknown block"}`,
		`"error":{"code":-32602,"message":"invalid argument 0"}`,
		`"result":null`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var calls []struct {
				ID     json.RawMessage
				Params []any
			}
			json.NewDecoder(r.Body).Decode(&calls)
			var parts []string
			for _, c := range calls {
				answer := said
				if c.Params[0] == client.Latest {
					answer = `"result":` + block
				}
				parts = append(parts, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, c.ID, answer))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(parts, ","))
		}))
		head, err := dial(t, server.URL).Head(deadline(t))
		if err != nil || head.Latest.Number != 1 || head.Safe != nil || head.Finalized != nil {
			t.Errorf("%s: head %+v, %v", said, head, err)
		}
		server.Close()
	}
}
