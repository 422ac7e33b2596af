// Package client is one JSON-RPC connection to one node, and what its answers
// mean for the operation that asked.
//
// It guarantees that every outcome falls on the safe side of the line between
// "certainly did not happen" and "in doubt" (see SubmitOutcome and
// ReadOutcome), that one operation never has more than one transaction, and
// that no answer, however broken, makes it panic or grow without bound: an
// answer ends at 64 MiB, a request at its context. Nothing is cached: each
// answer is the node's own, block hashes as it gave them, never recomputed.
//
// It speaks HTTP only, because only there can it be seen whether a request has
// left. It does not fail over to other nodes, retry reads, or judge.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// maxAnswer bounds the body of one answer in bytes. A block of a full chain
// with its transactions has a few MiB, a batch is kept to a few blocks.
const maxAnswer = 64 << 20

// Client is a connection to one node. It is safe for concurrent use.
type Client struct {
	name, url string
	rpc       *rpc.Client
	transport *http.Transport
	receipts  *receiptPoll
}

// Dial returns a client of the node at an http:// or https:// URL. It makes no
// request: ask for ChainID to see whether the node answers. Close the client
// after use.
func Dial(ctx context.Context, name, rawURL string) (*Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("node %s: url %q: %w", name, rawURL, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("node %s: url %q: want http://host:port or https://host", name, rawURL)
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     30 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	hc := &http.Client{
		Transport: bounded{transport},
		// A redirected POST would become a GET, or reach a node that was not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	conn, err := rpc.DialOptions(ctx, rawURL, rpc.WithHTTPClient(hc))
	if err != nil {
		return nil, fmt.Errorf("node %s: url %q: %w", name, rawURL, err)
	}
	c := &Client{name: name, url: rawURL, rpc: conn, transport: transport}
	c.receipts = &receiptPoll{head: c.headNumber, ask: c.Receipts}
	return c, nil
}

// Close drops the connections. Requests under way fail.
func (c *Client) Close() {
	c.rpc.Close()
	c.transport.CloseIdleConnections()
}

// Name is the node's name in the history.
func (c *Client) Name() string { return c.name }

// URL is where the node answers.
func (c *Client) URL() string { return c.url }

// bounded ends every response body at maxAnswer bytes.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		// One byte more tells an answer of exactly the bound from a longer one.
		n, err := b.ReadCloser.Read(make([]byte, 1))
		if n == 0 {
			return 0, err
		}
		return 0, malformed("answer of more than %d bytes", maxAnswer)
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}

// Answer is one result of a batch: a value, or why there is none.
type Answer[T any] struct {
	Value T
	Err   error
}

// request is one call of a batch and, after it, its result.
type request struct {
	method string
	args   []any
	raw    json.RawMessage // the result; "null" or empty for none
	err    error
}

func (r *request) absent() bool {
	s := strings.TrimSpace(string(r.raw))
	return s == "" || s == "null"
}

// traced returns a context that notes in sent when a connection was there to
// write on. Before that nothing can have left. net/http repeats a POST by
// itself only when none of it was written; that repeat carries the same bytes.
func traced(ctx context.Context, sent *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
}

// call makes one request and returns its raw result.
func (c *Client) call(ctx context.Context, method string, args ...any) (json.RawMessage, error) {
	var sent atomic.Bool
	var raw json.RawMessage
	if err := c.rpc.CallContext(traced(ctx, &sent), &raw, method, args...); err != nil {
		return nil, &RequestError{Node: c.name, Method: method, Sent: sent.Load(), Err: err}
	}
	return raw, nil
}

// batch makes all requests in one HTTP exchange. When that fails as a whole,
// every request has the error.
func (c *Client) batch(ctx context.Context, reqs []request) {
	if len(reqs) == 0 {
		return
	}
	elems := make([]rpc.BatchElem, len(reqs))
	for i := range reqs {
		elems[i] = rpc.BatchElem{Method: reqs[i].method, Args: reqs[i].args, Result: &reqs[i].raw}
	}
	var sent atomic.Bool
	err := c.rpc.BatchCallContext(traced(ctx, &sent), elems)
	for i := range reqs {
		cause := err
		if cause == nil {
			cause = elems[i].Error
		}
		if cause != nil {
			reqs[i].err = &RequestError{Node: c.name, Method: reqs[i].method, Sent: sent.Load(), Err: cause}
		}
	}
}

// fault wraps what is wrong with an answer that did arrive.
func (c *Client) fault(method string, err error) error {
	return &RequestError{Node: c.name, Method: method, Sent: true, Err: err}
}
