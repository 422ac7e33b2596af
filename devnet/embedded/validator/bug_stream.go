package validator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gorilla/websocket"
)

const (
	quietFrom   = 3 // events after which a stream says nothing any more
	streamEvery = 3 // of the events one in so many is false
)

// announcer says what a client of one subscription gets instead of an event. what
// is newHeads or logs.
type announcer func(what string, event json.RawMessage) []json.RawMessage

// streamBugs are about what subscriptions announce.
func streamBugs() []Bug {
	return []Bug{
		{Name: "stream-stops", Doc: fmt.Sprintf("a subscription announces nothing any more after %d events", quietFrom), Targets: LastValidator,
			Workloads: []string{"head", "sub"}, Checker: "sub",
			announce: func(honest) announcer {
				left := quietFrom
				return func(_ string, event json.RawMessage) []json.RawMessage {
					if left--; left < 0 {
						return nil
					}
					return []json.RawMessage{event}
				}
			}},
		{Name: "stream-parent", Doc: fmt.Sprintf("one head in %d is announced with another parent", streamEvery), Targets: LastValidator,
			Workloads: []string{"head", "sub"}, Checker: "sub", announce: aboutHeads(func(h object) {
				h.set("parentHash", crypto.Keccak256Hash([]byte("jepgo parent"), h["parentHash"]))
			})},
		{Name: "stream-phantom", Doc: fmt.Sprintf("one head in %d is announced by a hash that no block has", streamEvery), Targets: LastValidator,
			Workloads: []string{"head", "sub"}, Checker: "sub", announce: aboutHeads(func(h object) {
				h.set("hash", crypto.Keccak256Hash([]byte("jepgo phantom"), h["hash"]))
			})},
		{Name: "stream-repeats", Doc: "each log is announced twice", Targets: LastValidator,
			Workloads: []string{"log", "sub"}, Checker: "sub",
			announce: func(honest) announcer {
				return func(what string, event json.RawMessage) []json.RawMessage {
					if what == "logs" {
						return []json.RawMessage{event, event}
					}
					return []json.RawMessage{event}
				}
			}},
		{Name: "stream-lacks-logs", Doc: fmt.Sprintf("one log in %d is not announced", streamEvery), Targets: LastValidator,
			Workloads: []string{"log", "sub"}, Checker: "sub",
			announce: func(honest) announcer {
				turns := every{n: streamEvery}
				return func(what string, event json.RawMessage) []json.RawMessage {
					if what == "logs" && turns.time() {
						return nil
					}
					return []json.RawMessage{event}
				}
			}},
	}
}

func aboutHeads(lie func(head object)) func(honest) announcer {
	return func(honest) announcer {
		turns := every{n: streamEvery}
		return func(what string, event json.RawMessage) []json.RawMessage {
			if head := objectOf(event); what == "newHeads" && head != nil && turns.time() {
				lie(head)
				event = result(head).Result
			}
			return []json.RawMessage{event}
		}
	}
}

// announced subscribes in process.
func announced(ctx context.Context, client *rpc.Client, what []any) (<-chan json.RawMessage, error) {
	in, out := make(chan json.RawMessage), make(chan json.RawMessage)
	s, err := client.EthSubscribe(ctx, in, what...)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(out)
		defer s.Unsubscribe()
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.Err():
				return
			case event := <-in:
				select {
				case out <- event:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

// streamFront is the WebSocket server in front of a node whose subscriptions lie.
// All other calls are answered by the node.
type streamFront struct {
	ctx      context.Context // the node's
	node     honest
	announce func(honest) announcer
}

func (f *streamFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	conn.SetReadLimit(maxBody)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	c := &streamConn{conn: conn}
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if err := f.one(ctx, c, message); err != nil {
			return
		}
	}
}

func (f *streamFront) one(ctx context.Context, c *streamConn, message []byte) error {
	var asked call
	if json.Unmarshal(message, &asked) != nil || asked.Method != "eth_subscribe" {
		return c.send((&front{f.node, truth{}}).one(ctx, message))
	}
	what := make([]any, len(asked.Params))
	for i, p := range asked.Params {
		what[i] = p
	}
	events, err := f.node.subscribe(ctx, what...)
	if err != nil {
		r := fault(-32602, err.Error())
		r.ID = asked.ID
		return c.send(r)
	}
	c.subscriptions++
	id := fmt.Sprintf("0x%x", c.subscriptions)
	r := result(id)
	r.Version, r.ID = "2.0", asked.ID
	if err := c.send(r); err != nil {
		return err
	}
	lie, kind := f.announce(f.node), asked.text(0)
	go func() {
		for event := range events {
			for _, said := range lie(kind, event) {
				_ = c.send(map[string]any{"jsonrpc": "2.0", "method": "eth_subscription", "params": map[string]any{"subscription": id, "result": said}})
			}
		}
	}()
	return nil
}

// streamConn is a connection with several writers.
type streamConn struct {
	conn          *websocket.Conn
	subscriptions int
	mu            sync.Mutex
}

func (c *streamConn) send(v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn.WriteJSON(v)
}
