package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
)

// Policy is how a balancer chooses a node.
type Policy string

// The policies.
const (
	// Sticky keeps a client's connection at one node for as long as it is open. The
	// nodes take turns with new connections. A client with several connections may
	// meet several nodes, as behind a balancer of TCP connections.
	Sticky Policy = "sticky"
	// RoundRobin lets the nodes take turns with requests.
	RoundRobin Policy = "round-robin"
	// Random draws a node for each request; request k the same for the same seed.
	Random Policy = "random"
)

// Balancer is one URL over many nodes, for HTTP and WebSocket (whose policy
// counts once, when it is opened). A node that cannot be dialled is passed over
// for the next, as nothing has been sent to it; any other failure is the client's
// to see. Its methods are safe for concurrent use.
type Balancer struct {
	targets []*url.URL
	policy  Policy
	seed    uint64
	addr    string
	server  *http.Server
	reverse *httputil.ReverseProxy

	transport *http.Transport
	turn      atomic.Uint64
	sent      []atomic.Int64 // by target: requests that it took
	refused   []atomic.Int64 // by target: dials that failed

	visitors visitors
	ctx      context.Context // ended by Close
	cancel   context.CancelFunc
	once     sync.Once
	err      error // of Close
}

// TargetCounters is what became of one node's share.
type TargetCounters struct {
	Target  string `json:"target"`
	Sent    int64  `json:"sent"`    // requests that it answered, and WebSockets opened
	Refused int64  `json:"refused"` // dials that failed; the next node was asked
}

// seatKey is where the context of a client's connection has its seat: the turn of
// its node, for Sticky.
type seatKey struct{}

// NewBalancer opens a balancer over JSON-RPC URLs, which should be those of
// proxies, or of nodes that serve HTTP and WebSocket on one port. listen is a
// host:port; "" is a port of the kernel's choice on 127.0.0.1.
func NewBalancer(listen string, targets []string, policy Policy, seed uint64) (*Balancer, error) {
	switch policy {
	case Sticky, RoundRobin, Random:
	default:
		return nil, fmt.Errorf("balancer policy %q: expected %s, %s or %s", policy, Sticky, RoundRobin, Random)
	}
	if len(targets) == 0 {
		return nil, errors.New("balancer: no targets, expected one or more")
	}
	b := &Balancer{
		policy: policy, seed: seed, transport: newTransport(),
		sent: make([]atomic.Int64, len(targets)), refused: make([]atomic.Int64, len(targets)),
	}
	for _, t := range targets {
		u, err := endpoint(t, "http", "https")
		if err != nil {
			return nil, fmt.Errorf("balancer: target %w", err)
		}
		b.targets = append(b.targets, u)
	}
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	b.addr = ln.Addr().String()
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.reverse = &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // RoundTrip does, when it knows the node
		Transport: b, ErrorLog: silent(), BufferPool: &buffers{},
		ErrorHandler: b.fail,
	}
	b.server = newServer(b.ctx, http.HandlerFunc(b.serve))
	if withConn := b.server.ConnContext; policy == Sticky {
		b.server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(withConn(ctx, c), seatKey{}, b.turn.Add(1)-1)
		}
	}
	b.visitors.wg.Go(func() { b.server.Serve(ln) })
	return b, nil
}

// Addr is the host:port that the balancer listens on.
func (b *Balancer) Addr() string { return b.addr }

// Counters lists the nodes' shares, in the order given.
func (b *Balancer) Counters() []TargetCounters {
	cs := make([]TargetCounters, len(b.targets))
	for i, t := range b.targets {
		cs[i] = TargetCounters{t.String(), b.sent[i].Load(), b.refused[i].Load()}
	}
	return cs
}

func (b *Balancer) serve(w http.ResponseWriter, r *http.Request) {
	if !b.visitors.enter() {
		vanish()
	}
	defer b.visitors.leave()
	defer endUpgraded(b.ctx, r)()
	// Small bodies are read first, so that they can go to the next node.
	if body, all := receive(w, r); all && len(body) > 0 {
		replaceBody(r, body)
	}
	b.reverse.ServeHTTP(w, r)
}

// first is the node whose turn it is.
func (b *Balancer) first(r *http.Request) uint64 {
	if seat, ok := r.Context().Value(seatKey{}).(uint64); ok {
		return seat
	}
	n := b.turn.Add(1) - 1
	if b.policy == Random {
		return mix(b.seed+mix(n)) % uint64(len(b.targets))
	}
	return n
}

// RoundTrip sends a request to the node whose turn it is, or to the next that can
// be dialled.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	count := uint64(len(b.targets))
	first := b.first(r) % count
	var last error
	for k := range count {
		i := (first + k) % count
		out := r.Clone(r.Context())
		pr := httputil.ProxyRequest{In: r, Out: out}
		pr.SetURL(b.targets[i])
		if r.GetBody != nil {
			var err error
			if out.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := b.transport.RoundTrip(out)
		if err == nil {
			b.sent[i].Add(1)
			return resp, nil
		}
		last = err
		if !undialled(err) {
			return nil, err
		}
		b.refused[i].Add(1)
		if r.Body != nil && r.GetBody == nil && r.ContentLength != 0 {
			return nil, err // a large body goes but once
		}
	}
	return nil, last
}

// undialled reports whether a request failed before anything of it was sent.
func undialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func (b *Balancer) fail(w http.ResponseWriter, _ *http.Request, err error) {
	if undialled(err) {
		http.Error(w, "rpc balancer: no node reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	vanish()
}

// Close ends the listener and every connection. It is idempotent.
func (b *Balancer) Close() error {
	b.once.Do(func() {
		b.visitors.close()
		b.cancel()
		b.err = b.server.Close()
		b.visitors.wait()
		b.transport.CloseIdleConnections()
	})
	return b.err
}
