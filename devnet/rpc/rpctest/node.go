// Package rpctest is a JSON-RPC node of a small chain for tests: real HTTP and
// WebSocket, an invented chain. Blocks come when test_mine asks for them. It is
// not a model of any client.
package rpctest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// Node answers eth_blockNumber, eth_chainId, eth_getBlockByNumber, eth_getBalance
// (the number of the block that was asked for), eth_sendRawTransaction (its start),
// eth_getTransactionReceipt (of block 0x… for the transaction 0x…), eth_getLogs
// (its filter), eth_subscribe; test_mine n, test_seen METHOD (how often it was
// asked) and test_big n (a string of n bytes).
type Node struct {
	// Alone mines a block with each eth_blockNumber, for tests without a miner.
	Alone bool

	mu   sync.Mutex
	head uint64
	seen map[string]int
	subs map[*websocket.Conn]*sync.Mutex
}

// Serve answers on the listener until that is closed.
func (n *Node) Serve(l net.Listener) error { return http.Serve(l, n) }

type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// ServeHTTP answers one request, or one WebSocket.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		n.serveWS(w, r)
		return
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(n.answer(raw, nil))
}

func (n *Node) answer(raw json.RawMessage, conn *websocket.Conn) []byte {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		var rs []request
		if err := json.Unmarshal(raw, &rs); err != nil {
			return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid batch"}}`)
		}
		var out []string
		for _, r := range rs {
			out = append(out, n.one(r, conn))
		}
		return []byte("[" + strings.Join(out, ",") + "]")
	}
	var r request
	if err := json.Unmarshal(raw, &r); err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`)
	}
	return []byte(n.one(r, conn))
}

func (n *Node) one(r request, conn *websocket.Conn) string {
	if r.ID == nil {
		r.ID = json.RawMessage("null")
	}
	result, err := n.result(r, conn)
	if err != nil {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, r.ID, err.Error())
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

// Block is the block of that number, as the node gives it.
func Block(number uint64) string {
	return fmt.Sprintf(`{"number":"0x%x", "hash":"0x%064x","parentHash":"0x%064x","size":12345678901234567890.10,"transactions":["0x%064x","0x%064x"]}`,
		number, number+1, number, number, number+7)
}

func (n *Node) result(r request, conn *websocket.Conn) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]int{}
	}
	n.seen[r.Method]++
	param := func(i int) string {
		if i >= len(r.Params) {
			return ""
		}
		return strings.Trim(string(r.Params[i]), `"`)
	}
	switch r.Method {
	case "eth_blockNumber":
		if n.Alone {
			n.head++
		}
		return fmt.Sprintf(`"0x%x"`, n.head), nil
	case "eth_chainId":
		return `"0x539"`, nil
	case "eth_getBlockByNumber":
		at, err := n.at(param(0))
		if err != nil {
			return "", err
		}
		if at > n.head {
			return "null", nil
		}
		return Block(at), nil
	case "eth_getBalance":
		at, err := n.at(param(1))
		return fmt.Sprintf(`"0x%x"`, at), err
	case "eth_sendRawTransaction":
		return fmt.Sprintf("%q", param(0)[:min(66, len(param(0)))]), nil
	case "eth_getTransactionReceipt":
		return fmt.Sprintf(`{"transactionHash":%q,"blockNumber":%q,"status":"0x1"}`, param(0), param(0)), nil
	case "eth_getLogs":
		if len(r.Params) == 0 {
			return "", fmt.Errorf("missing value for required argument 0")
		}
		return string(r.Params[0]), nil
	case "eth_subscribe":
		if conn == nil {
			return "", fmt.Errorf("no subscriptions over HTTP")
		}
		n.subs[conn] = n.subs[conn]
		return `"0xcafe"`, nil
	case "test_mine":
		count, _ := strconv.Atoi(param(0))
		for range count {
			n.head++
			n.tell()
		}
		return fmt.Sprintf(`"0x%x"`, n.head), nil
	case "test_seen":
		return strconv.Itoa(n.seen[param(0)]), nil
	case "test_big":
		size, _ := strconv.Atoi(param(0))
		return `"` + strings.Repeat("x", size) + `"`, nil
	}
	return "", fmt.Errorf("the method %s does not exist", r.Method)
}

// at is the block that a parameter means; the node is instantly final, one block
// late.
func (n *Node) at(tag string) (uint64, error) {
	switch tag {
	case "latest", "pending", "":
		return n.head, nil
	case "safe", "finalized":
		return n.head - min(1, n.head), nil
	}
	return strconv.ParseUint(strings.TrimPrefix(tag, "0x"), 16, 64)
}

// tell sends the head to every subscriber.
func (n *Node) tell() {
	msg := []byte(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xcafe","result":` + Block(n.head) + `}}`)
	for conn, mu := range n.subs {
		if mu != nil {
			mu.Lock()
			conn.WriteMessage(websocket.TextMessage, msg)
			mu.Unlock()
		}
	}
}

func (n *Node) serveWS(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") != "http://evil.example" }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	mu := new(sync.Mutex)
	n.mu.Lock()
	if n.subs == nil {
		n.subs = map[*websocket.Conn]*sync.Mutex{}
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.subs, conn)
		n.mu.Unlock()
	}()
	for {
		kind, raw, err := conn.ReadMessage()
		if err != nil {
			return
		}
		answer := n.answer(raw, conn)
		mu.Lock()
		err = conn.WriteMessage(kind, answer)
		mu.Unlock()
		if err != nil {
			return
		}
		// Only now: nobody hears of heads before the subscription is confirmed.
		n.mu.Lock()
		if _, ok := n.subs[conn]; ok {
			n.subs[conn] = mu
		}
		n.mu.Unlock()
	}
}
