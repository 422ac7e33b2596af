// Package rpc puts a JSON-RPC proxy before one node's RPC, over HTTP and
// WebSocket on one listener, that delays, loses, refuses and falsifies what
// passes, by rules that can be replaced at any moment; and a balancer before
// several.
//
// Guarantees: without rules every body passes byte for byte, and with rules only
// what one acts on is changed, in place: all other bytes, numbers among them, stay
// as they were written. Everything that a rule does is counted, after it was
// done. The draws of a rule follow from the seed: message k is hit or not,
// whatever other rules there are. Set is in force when it returns: messages that
// arrive later meet only the new rules, and what the old ones held back is let
// go. The proxy lives in this process and ends with it; it changes nothing in the
// node.
//
// A Stale rule answers as of k blocks ago: it asks the node for its head, puts
// numbers in the place of latest, safe and finalized in requests, answers
// eth_blockNumber itself, and gives null for blocks, receipts and transactions
// that are newer; new heads of a subscription come k later. Answers agree with
// each other, also within a batch, and never go back. What it does not hide: state
// asked for by the number or hash of a newer block, pending, and logs of
// subscriptions.
//
// Bounds: bodies over 10 MiB, batches of over 10,000, and what is not JSON pass
// untouched; a message that is looked at is held in memory once or twice. A
// client has ten seconds for its headers and thirty for a body. When the node
// cannot be dialled, HTTP clients get status 502, where without the proxy they
// would have seen a refused connection: "certainly not sent" becomes "in doubt".
//
// It is not for watching a node during a run, for TLS towards the clients, nor for
// strangers: it listens where it is told and asks nobody who they are.
package rpc

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Options say where a proxy listens and what it stands before.
type Options struct {
	Listen string // host:port; "" is a port of the kernel's choice on 127.0.0.1
	Target string // the node's JSON-RPC over HTTP, a URL; required
	// TargetWS is the node's JSON-RPC over WebSocket, a URL; "" is Target with the
	// scheme ws.
	TargetWS string
	Seed     uint64 // what the rules' draws follow from
}

const (
	maxBody       = 10 << 20 // bytes of a body that is looked at
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 3 * time.Minute
	dialTimeout   = 5 * time.Second
	askTimeout    = 5 * time.Second
)

// Proxy is the proxy before one node. Its methods are safe for concurrent use.
type Proxy struct {
	target, targetWS *url.URL
	seed             uint64
	addr             string
	server           *http.Server
	reverse          *httputil.ReverseProxy
	transport        *http.Transport
	dialer           *websocket.Dialer
	set              atomic.Pointer[ruleset]

	messages, opaque atomic.Int64

	visitors visitors
	ctx      context.Context // ended by Close
	cancel   context.CancelFunc
	once     sync.Once
	err      error // of Close
}

// Counters is what a proxy has seen since New and its present rules have done
// since Set.
type Counters struct {
	Messages int64          `json:"messages"` // bodies and WebSocket messages from clients
	Opaque   int64          `json:"opaque"`   // of those, passed unread: over 10 MiB
	Rules    []RuleCounters `json:"rules"`
}

// New opens a proxy without rules. It does not ask the node anything.
func New(o Options) (*Proxy, error) {
	target, err := endpoint(o.Target, "http", "https")
	if err != nil {
		return nil, fmt.Errorf("rpc proxy: target %w", err)
	}
	ws := *target
	ws.Scheme = map[string]string{"http": "ws", "https": "wss"}[target.Scheme]
	targetWS := &ws
	if o.TargetWS != "" {
		if targetWS, err = endpoint(o.TargetWS, "ws", "wss"); err != nil {
			return nil, fmt.Errorf("rpc proxy: target %w", err)
		}
	}
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("rpc proxy: %w", err)
	}
	p := &Proxy{
		target: target, targetWS: targetWS, seed: o.Seed, addr: ln.Addr().String(),
		transport: newTransport(),
		dialer:    &websocket.Dialer{HandshakeTimeout: headerTimeout, NetDialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext},
	}
	p.set.Store(&ruleset{done: make(chan struct{})})
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.reverse = newReverse(p)
	p.server = newServer(p.ctx, http.HandlerFunc(p.serve))
	p.visitors.wg.Go(func() { p.server.Serve(ln) })
	return p, nil
}

func endpoint(raw string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" {
		for _, s := range schemes {
			if u.Scheme == s {
				return u, nil
			}
		}
	}
	return nil, fmt.Errorf("%q: expected a URL such as %s://127.0.0.1:8545", raw, schemes[0])
}

// newTransport keeps connections to the node for as many clients as a run has,
// and never touches a body.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}
}

func newServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    silent(),
	}
}

// connKey is where the context of a request has its connection.
type connKey struct{}

// endUpgraded closes the connection of a request with ctx, also when it has been
// upgraded to another protocol, and the server has let go of it; stop ends that.
func endUpgraded(ctx context.Context, r *http.Request) (stop func() bool) {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok || r.Header.Get("Upgrade") == "" {
		return func() bool { return false }
	}
	return context.AfterFunc(ctx, func() { conn.Close() })
}

// silent is the log of what clients do wrong, which is their affair.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// Addr is the host:port that the proxy listens on, for HTTP and WebSocket.
func (p *Proxy) Addr() string { return p.addr }

// Set replaces the rules; none lets everything pass. An error names the rule that
// makes no sense, and then nothing has changed. The counters of the rules start
// anew.
func (p *Proxy) Set(rules ...Rule) error {
	s, err := newRuleset(rules, p.seed)
	if err != nil {
		return err
	}
	close(p.set.Swap(s).done)
	return nil
}

// Rules returns the rules in force.
func (p *Proxy) Rules() []Rule {
	var rules []Rule
	for _, r := range p.set.Load().rules {
		rules = append(rules, r.Rule)
	}
	return rules
}

// Counters returns the evidence.
func (p *Proxy) Counters() Counters {
	c := Counters{Messages: p.messages.Load(), Opaque: p.opaque.Load()}
	for _, r := range p.set.Load().rules {
		c.Rules = append(c.Rules, r.counters())
	}
	return c
}

// Close ends the listener and every connection, and returns when nothing of the
// proxy runs any more. It is idempotent.
func (p *Proxy) Close() error {
	p.once.Do(func() {
		p.visitors.close()
		p.cancel()
		p.err = p.server.Close()
		p.visitors.wait()
		p.transport.CloseIdleConnections()
	})
	return p.err
}
