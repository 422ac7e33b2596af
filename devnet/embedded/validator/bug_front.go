package validator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// maxBody is the largest request that the front reads; geth's own limit.
const maxBody = 5 << 20

// honest is the node as it is, below the lie.
type honest struct {
	ask    func(ctx context.Context, method string, params ...any) (json.RawMessage, error)
	head   func() uint64
	header func(height uint64) *types.Header // nil above the head
	// subscribe gives what the node announces until ctx ends, and then closes the
	// channel.
	subscribe func(ctx context.Context, what ...any) (<-chan json.RawMessage, error)
}

// rewriter is a lie. Its methods are called by many requests at once.
type rewriter interface {
	// question may change a call before the node sees it, or answer it.
	question(ctx context.Context, c *call) *reply
	// answer may change what the node replied to a call.
	answer(ctx context.Context, c *call, r *reply)
}

// call is one JSON-RPC request.
type call struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

// text is a string parameter, "" when there is none at this place.
func (c *call) text(i int) string {
	var s string
	if i < len(c.Params) {
		_ = json.Unmarshal(c.Params[i], &s) // not a string: ""
	}
	return s
}

// reply is the answer to one call: Result or Error.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// result makes a reply from anything that marshals; its identity is filled in later.
func result(v any) *reply {
	data, err := json.Marshal(v)
	if err != nil {
		return &reply{Error: &rpcError{Code: -32603, Message: err.Error()}}
	}
	return &reply{Result: data}
}

// front is the HTTP handler in front of a node with a planted bug. It speaks
// JSON-RPC with single calls and batches, and asks the node in process.
type front struct {
	node honest
	lie  rewriter
}

// askNode asks the node in process, past its HTTP server, until ctx ends.
func askNode(ctx context.Context, exec *execution) honest {
	client := exec.stack.Attach()
	context.AfterFunc(ctx, client.Close)
	return honest{
		ask: func(ctx context.Context, method string, params ...any) (raw json.RawMessage, err error) {
			err = client.CallContext(ctx, &raw, method, params...)
			return raw, err
		},
		head:   func() uint64 { return exec.head().Number.Uint64() },
		header: exec.eth.BlockChain().GetHeaderByNumber,
		subscribe: func(ctx context.Context, what ...any) (<-chan json.RawMessage, error) {
			return announced(ctx, client, what)
		},
	}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		return // geth answers health checks with an empty 200
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("[")) {
		if out := f.one(r.Context(), body); out != nil {
			_ = enc.Encode(out) // the client is gone: nobody to tell
		}
		return
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		_ = enc.Encode(fault(-32700, "parse error"))
		return
	}
	if len(batch) == 0 {
		_ = enc.Encode(fault(-32600, "empty batch"))
		return
	}
	out := []*reply{}
	for _, one := range batch {
		if r := f.one(r.Context(), one); r != nil {
			out = append(out, r)
		}
	}
	_ = enc.Encode(out)
}

// one answers one call; nil for a notification.
func (f *front) one(ctx context.Context, body json.RawMessage) *reply {
	var c call
	if err := json.Unmarshal(body, &c); err != nil || c.Method == "" {
		return fault(-32600, "invalid request")
	}
	r := f.lie.question(ctx, &c)
	if r == nil {
		r = f.forward(ctx, &c)
		f.lie.answer(ctx, &c, r)
	}
	r.Version, r.ID = "2.0", c.ID
	if len(c.ID) == 0 {
		return nil
	}
	return r
}

func (f *front) forward(ctx context.Context, c *call) *reply {
	params := make([]any, len(c.Params))
	for i, p := range c.Params {
		params[i] = p
	}
	raw, err := f.node.ask(ctx, c.Method, params...)
	if err == nil {
		return &reply{Result: raw}
	}
	out := &rpcError{Code: -32000, Message: err.Error()}
	if coded := rpc.Error(nil); errors.As(err, &coded) {
		out.Code = coded.ErrorCode()
	}
	if data := rpc.DataError(nil); errors.As(err, &data) {
		out.Data = data.ErrorData()
	}
	return &reply{Error: out}
}

func fault(code int, message string) *reply {
	return &reply{Version: "2.0", ID: json.RawMessage("null"), Error: &rpcError{Code: code, Message: message}}
}

// isHash reports whether s is written like a 32-byte hash.
func isHash(s string) bool { return len(s) == 66 && strings.HasPrefix(s, "0x") }
