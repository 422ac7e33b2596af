package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/gorilla/websocket"
)

const (
	maxMessage  = 4 << 20 // bytes of one message of a stream
	maxUnread   = 1024    // messages of a stream that wait to be read; then the node's wait
	maxGathered = 1024    // messages that one call returns
)

// Stream is one subscription on a WebSocket connection of its own. It belongs to
// one goroutine.
type Stream struct {
	c        *Client
	conn     *websocket.Conn
	id       string
	messages chan json.RawMessage
	done     chan struct{}
	leave    func() bool // no longer close with the context
	lost     error       // why there are no more messages, once messages is closed
}

// Subscribe opens a connection to the node's WebSocket and subscribes there
// (eth_subscribe): "newHeads", or "logs" and a filter. ctx bounds the opening,
// and life the stream's time: it ends with either of life and Close.
func (c *Client) Subscribe(ctx, life context.Context, wsURL string, what ...any) (*Stream, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 5 * time.Second}
	conn, resp, err := dialer.DialContext(ctx, wsURL, nil)
	if err != nil {
		err = dialError(ctx, resp, err)
		return nil, &RequestError{Node: c.name, Method: "websocket", Sent: !isRefusal(err), Err: err}
	}
	conn.SetReadLimit(maxMessage)
	s := &Stream{c: c, conn: conn, messages: make(chan json.RawMessage, maxUnread), done: make(chan struct{})}
	cut := context.AfterFunc(ctx, func() { conn.Close() })
	err = s.open(what)
	if !cut() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, c.fault("eth_subscribe", err)
	}
	s.leave = context.AfterFunc(life, func() { conn.Close() })
	go s.read()
	return s, nil
}

// dialError says why there is no connection.
func dialError(ctx context.Context, resp *http.Response, err error) error {
	switch {
	case resp != nil && errors.Is(err, websocket.ErrBadHandshake):
		return fmt.Errorf("answered with status %d, want a WebSocket: %w", resp.StatusCode, errHandshake)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

var errHandshake = &malformedError{"no handshake"}

// isRefusal reports whether an error is from before there was a connection.
func isRefusal(err error) bool {
	var wire *net.OpError
	return errors.As(err, &wire) && wire.Op == "dial"
}

// open subscribes and reads the subscription's id.
func (s *Stream) open(what []any) error {
	if err := s.conn.WriteJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": what}); err != nil {
		return err
	}
	_, message, err := s.conn.ReadMessage()
	if err != nil {
		return streamError(err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *reportedError  `json:"error"`
	}
	if err := json.Unmarshal(message, &answer); err != nil {
		return malformed("answer to eth_subscribe: %v", err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	if json.Unmarshal(answer.Result, &s.id) != nil || s.id == "" {
		return malformed("answer to eth_subscribe has no subscription: %.80s", answer.Result)
	}
	return nil
}

// reportedError is an error that a node reports, as go-ethereum's rpc.Error.
type reportedError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *reportedError) Error() string  { return e.Message }
func (e *reportedError) ErrorCode() int { return e.Code }

// streamError says what the end of a connection means.
func streamError(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return lostError(fmt.Sprintf("connection is closed: %d %s", closed.Code, closed.Text))
	}
	if errors.Is(err, websocket.ErrReadLimit) {
		return malformed("message of more than %d bytes", maxMessage)
	}
	return err
}

// lostError is a connection that the node ended; it is a net.Error.
type lostError string

func (e lostError) Error() string { return string(e) }
func (lostError) Timeout() bool   { return false }
func (lostError) Temporary() bool { return false }

// read takes messages from the connection until that ends.
func (s *Stream) read() {
	defer close(s.messages)
	for {
		_, message, err := s.conn.ReadMessage()
		if err != nil {
			s.lost = streamError(err)
			return
		}
		var note struct {
			Method string `json:"method"`
			Params struct {
				Subscription string          `json:"subscription"`
				Result       json.RawMessage `json:"result"`
			} `json:"params"`
		}
		if err := json.Unmarshal(message, &note); err != nil {
			s.lost = malformed("notification: %v", err)
			return
		}
		if note.Method != "eth_subscription" || note.Params.Subscription != s.id {
			continue // of no subscription of ours
		}
		select {
		case s.messages <- note.Params.Result:
		case <-s.done:
			s.lost = errClosed
			return
		}
	}
}

var errClosed = errors.New("stream was closed here")

// Close ends the stream.
func (s *Stream) Close() {
	s.leave()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.conn.Close()
}

// gather waits for a message until ctx ends, and returns it with those that have
// arrived besides. No message and no error means that ctx ended. Once the stream
// is lost, and everything before that was returned, it returns why.
func (s *Stream) gather(ctx context.Context) ([]json.RawMessage, error) {
	var out []json.RawMessage
	select {
	case m, ok := <-s.messages:
		if !ok {
			return nil, s.end()
		}
		out = append(out, m)
	case <-ctx.Done():
		return nil, nil
	}
	for len(out) < maxGathered {
		select {
		case m, ok := <-s.messages:
			if !ok {
				return out, nil // the next call says why
			}
			out = append(out, m)
		default:
			return out, nil
		}
	}
	return out, nil
}

func (s *Stream) end() error { return s.c.fault("eth_subscription", s.lost) }

// Heads waits for new heads until ctx ends; none, and no error, when that was
// first. After an error the stream is of no more use.
func (s *Stream) Heads(ctx context.Context) ([]Header, error) {
	messages, err := s.gather(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Header, len(messages))
	for i, m := range messages {
		if out[i], err = s.c.header(&request{method: "eth_subscription", args: []any{"newHeads"}, raw: m}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// StreamLog is a log as a subscription tells it.
type StreamLog struct {
	BlockLog
	Removed bool // its block has left the node's chain
}

// Logs waits for logs as Heads does for heads.
func (s *Stream) Logs(ctx context.Context) ([]StreamLog, error) {
	messages, err := s.gather(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]StreamLog, len(messages))
	for i, m := range messages {
		if out[i], err = s.log(m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Stream) log(raw json.RawMessage) (StreamLog, error) {
	const method = "eth_subscription"
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return StreamLog{}, s.c.fault(method, malformed("log is null"))
	}
	var wire struct {
		Address   *common.Address `json:"address"`
		Topics    []common.Hash   `json:"topics"`
		Data      *hexutil.Bytes  `json:"data"`
		Number    *hexutil.Uint64 `json:"blockNumber"`
		BlockHash *common.Hash    `json:"blockHash"`
		Tx        *common.Hash    `json:"transactionHash"`
		Index     *hexutil.Uint64 `json:"logIndex"`
		Removed   bool            `json:"removed"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return StreamLog{}, s.c.fault(method, malformed("log: %v", err))
	}
	if wire.Address == nil || wire.Data == nil || wire.Number == nil || uint64(*wire.Number) > math.MaxInt64 || wire.BlockHash == nil ||
		wire.Tx == nil || count(wire.Index) < 0 {
		return StreamLog{}, s.c.fault(method, malformed("log lacks a proper address, data, blockNumber, blockHash, transactionHash or logIndex"))
	}
	return StreamLog{BlockLog{
		Log:    Log{Address: *wire.Address, Topics: wire.Topics, Data: *wire.Data, Index: count(wire.Index)},
		Number: uint64(*wire.Number), BlockHash: *wire.BlockHash, Tx: *wire.Tx,
	}, wire.Removed}, nil
}
