package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/gorilla/websocket"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// speaking serves a WebSocket that takes one request and then says these
// messages, and closes the connection after a "close".
func speaking(t *testing.T, messages ...string) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		if _, _, err := conn.ReadMessage(); err != nil {
			return
		}
		for _, m := range messages {
			if m == "close" {
				return
			}
			if conn.WriteMessage(websocket.TextMessage, []byte(m)) != nil {
				return
			}
		}
		<-over
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

const subscribed = `{"jsonrpc":"2.0","id":1,"result":"0x1"}`

func note(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":%s}}`, result)
}

func headNote(n int) string {
	return note(fmt.Sprintf(`{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","stateRoot":"%s","timestamp":"0x1"}`, n, n, n-1, zeros))
}

func subscribe(t *testing.T, url string, what ...any) (*client.Stream, error) {
	t.Helper()
	c := dial(t, "http://127.0.0.1:1")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := c.Subscribe(ctx, t.Context(), url, what...)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// What was said before a loss is told before it; the loss stays.
func TestStream(t *testing.T) {
	s, err := subscribe(t, speaking(t, subscribed, headNote(4), `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x2","result":7}}`, headNote(5), "close"), "newHeads")
	if err != nil {
		t.Fatal(err)
	}
	var seen []uint64
	for {
		heads, err := s.Heads(deadline(t))
		for _, h := range heads {
			seen = append(seen, h.Number)
		}
		if err != nil {
			if o := client.ReadOutcome(err); o.Type != history.Fail || o.Class != client.Reset {
				t.Errorf("the loss gives %+v", o)
			}
			break
		}
	}
	if len(seen) != 2 || seen[0] != 4 || seen[1] != 5 {
		t.Errorf("heads %v, want 4 and 5", seen)
	}
	if _, err := s.Heads(deadline(t)); err == nil {
		t.Error("a lost stream gives heads")
	}
}

func TestQuietStream(t *testing.T) {
	s, err := subscribe(t, speaking(t, subscribed), "newHeads")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if heads, err := s.Heads(ctx); len(heads) > 0 || err != nil {
		t.Errorf("a quiet stream gives %v, %v", heads, err)
	}
}

func TestStreamOfLogs(t *testing.T) {
	log := `{"address":"0x0100000000000000000000000000000000000000","topics":["` + zeros + `"],"data":"0x07","blockNumber":"0x5","blockHash":"` + zeros + `","transactionHash":"` + zeros + `","logIndex":"0x2","removed":%v}`
	s, err := subscribe(t, speaking(t, subscribed, note(fmt.Sprintf(log, false)), note(fmt.Sprintf(log, true)), "close"), "logs", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	var removed []bool
	for {
		logs, err := s.Logs(deadline(t))
		if err != nil {
			break
		}
		for _, l := range logs {
			if l.Number != 5 || l.Index != 2 || len(l.Data) != 1 {
				t.Errorf("log %+v", l)
			}
			removed = append(removed, l.Removed)
		}
	}
	if len(removed) != 2 || removed[0] || !removed[1] {
		t.Errorf("removed %v, want false and true", removed)
	}
}

// Nothing that a node says makes a stream panic, hang or grow.
func TestStreamOfALiar(t *testing.T) {
	for name, messages := range map[string][]string{
		"no JSON":                 {subscribed, "<html>"},
		"truncated":               {subscribed, `{"jsonrpc":"2.0","method":"eth_subsc`},
		"params a list":           {subscribed, `{"jsonrpc":"2.0","method":"eth_subscription","params":[1]}`},
		"null":                    {subscribed, note("null")},
		"number":                  {subscribed, note("7")},
		"empty object":            {subscribed, note("{}")},
		"wrong types":             {subscribed, note(`{"number":12,"hash":true,"blockNumber":[]}`)},
		"huge number":             {subscribed, note(`{"number":"0xffffffffffffffff","blockNumber":"0xffffffffffffffff"}`)},
		"deep nesting":            {subscribed, note(strings.Repeat("[", 100_000))},
		"a message without end":   {subscribed, note(`"` + strings.Repeat("f", 5<<20) + `"`)},
		"closed":                  {subscribed, "close"},
		"error":                   {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"notifications not supported"}}`},
		"null error and result":   {`{"jsonrpc":"2.0","id":1,"error":null,"result":null}`},
		"subscription is a list":  {`{"jsonrpc":"2.0","id":1,"result":[]}`},
		"html in place of it":     {"<html>"},
		"closed in place of it":   {"close"},
		"nothing in place of it":  {},
		"list in place of it":     {"[]"},
		"too long in place of it": {strings.Repeat("x", 5<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := speaking(t, messages...)
			for _, what := range []string{"newHeads", "logs"} {
				s, err := subscribe(t, url, what)
				if err == nil {
					if what == "logs" {
						_, err = s.Logs(deadline(t))
					} else {
						_, err = s.Heads(deadline(t))
					}
				}
				if err == nil {
					t.Errorf("%s: no error", what)
				} else if o := client.ReadOutcome(err); o.Type != history.Fail {
					t.Errorf("%s gives %+v, want fail", what, o)
				}
			}
		})
	}
	if _, err := subscribe(t, "ws://127.0.0.1:1", "newHeads"); client.ReadOutcome(err).Class != client.Refused {
		t.Errorf("a dead port gives %v", err)
	}
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(h.HandlerFunc)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := dial(t, server.URL).Subscribe(ctx, t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), "newHeads")
			if o := client.ReadOutcome(err); o.Type != history.Fail {
				t.Errorf("no WebSocket gives %+v, want fail", o)
			}
		})
	}
}

// A pool's answers are read strictly, whatever it holds.
func TestPool(t *testing.T) {
	const tx = `{"hash":"0x0000000000000000000000000000000000000000000000000000000000000009"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var calls []struct {
			ID     json.RawMessage
			Method string
		}
		json.NewDecoder(r.Body).Decode(&calls)
		var parts []string
		for _, c := range calls {
			result := `{"pending":"0x3","queued":"0x1"}`
			if c.Method == "txpool_contentFrom" {
				result = `{"pending":{"5":` + tx + `},"queued":{}}`
			}
			parts = append(parts, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(parts, ","))
	}))
	defer server.Close()
	p, err := dial(t, server.URL).Pool(deadline(t), make([]common.Address, 2))
	if err != nil || p.Pending != 3 || p.Queued != 1 || len(p.Of) != 2 || p.Of[0][31] != 9 {
		t.Errorf("pool %+v, %v", p, err)
	}
}
