package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Options describe the links that NewProxy opens.
type Options struct {
	Nodes     []string // names, at least one, all different
	Protocols []string // one listener per ordered pair of nodes and protocol
	// Target returns the host:port where a node really listens for a protocol.
	// It is asked once for each listener, before NewProxy returns.
	Target func(node, protocol string) string
	Host   string // address the listeners bind to; "" is 127.0.0.1
	// Seed is what every draw of a shape follows from: the draws for unit k of an
	// edge under shapes are the same for the same seed. What unit k then is depends
	// on how the kernel cuts the streams up, so a run repeats approximately.
	Seed uint64
}

// Proxy is a Link made of TCP proxies inside this process: it needs no
// privileges. Node i reaches node j only through Addr(i→j), from where the proxy
// dials j. A TCP connection carries both directions: what its dialer sends counts
// on dialer→target, the answers on target→dialer.
//
// On a cut edge bytes and the end of a connection are swallowed, and a dial is
// accepted but leads nowhere, as a lost SYN would; when the target merely does
// not listen, the dial is reset at once. "Delivered" means taken over by the
// receiving side's kernel: what it had taken before a cut may still be read
// after.
//
// A shape acts on units: reads of a stream, of at most 32 KiB. Their order is
// kept, whatever holds them. What is held is bounded, 16 MiB a direction of a
// connection; beyond it the sender waits, as it does for a slow receiver. So a
// delay of d lets 16 MiB/d through. A rate is shared by all connections of the
// edge. Dials are not shaped: the proxy answers them at once. Waits are those of
// Go's timers, late by under a millisecond on a quiet machine; Counters.Late
// tells. What a Reset breaks is counted neither as delivered nor as dropped.
type Proxy struct {
	*mesh
	addrs map[route]string

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex // guards what follows, and serialises changes of edges
	closed    bool
	listeners []net.Listener
	conns     map[*conn]struct{}
}

var _ Link = (*Proxy)(nil)

// mesh holds the edges.
type mesh = Mesh[*edge]

type route struct {
	edge     Edge
	protocol string
}

// NewProxy opens all links, none of them cut. The listeners keep their
// kernel-chosen ports until Close.
func NewProxy(opts Options) (*Proxy, error) {
	if len(opts.Nodes) == 0 {
		return nil, errors.New("links need at least one node")
	}
	host := opts.Host
	if host == "" {
		host = "127.0.0.1"
	}
	for i, name := range opts.Nodes {
		if slices.Contains(opts.Nodes[:i], name) {
			return nil, fmt.Errorf("node %q: named twice, expected different names", name)
		}
	}
	p := &Proxy{addrs: make(map[route]string), conns: make(map[*conn]struct{})}
	p.mesh = NewMesh(opts.Nodes, ProxyFeatures, func(e Edge) *edge { return newEdge(e, opts.Seed, p) })
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, e := range p.Edges() {
		for _, protocol := range opts.Protocols {
			ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				p.Close()
				return nil, fmt.Errorf("link %s %s: %w", e, protocol, err)
			}
			p.listeners = append(p.listeners, ln)
			p.addrs[route{e, protocol}] = ln.Addr().String()
			target := opts.Target(e.To, protocol)
			p.wg.Go(func() { p.accept(ln, e, target) })
		}
	}
	return p, nil
}

// Addr is where edge.From dials edge.To for a protocol; "" when there is no such
// link.
func (p *Proxy) Addr(edge Edge, protocol string) string { return p.addrs[route{edge, protocol}] }

// Close closes every listener and connection and returns when all of the
// proxy's goroutines have ended. It is idempotent.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	for _, ln := range p.listeners {
		ln.Close()
	}
	for c := range p.conns {
		c.hangUp()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}
