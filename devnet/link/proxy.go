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
	names []string
	order []Edge
	edges map[Edge]*edge
	addrs map[route]string

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex // guards what follows, and serialises Cut and Heal
	closed    bool
	listeners []net.Listener
	conns     map[*conn]struct{}
}

var _ Link = (*Proxy)(nil)

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
	p := &Proxy{
		names: slices.Clone(opts.Nodes),
		edges: make(map[Edge]*edge),
		addrs: make(map[route]string),
		conns: make(map[*conn]struct{}),
	}
	for i, from := range p.names {
		if slices.Contains(p.names[:i], from) {
			return nil, fmt.Errorf("node %q: named twice, expected different names", from)
		}
		for _, to := range p.names {
			if from == to {
				continue
			}
			e := Edge{From: from, To: to}
			p.order = append(p.order, e)
			p.edges[e] = newEdge(e, opts.Seed)
		}
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, e := range p.order {
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

// Edges lists every ordered pair of nodes, in the order of the nodes.
func (p *Proxy) Edges() []Edge { return slices.Clone(p.order) }

// IsCut reports whether the edge is cut now; false for an unknown edge.
func (p *Proxy) IsCut(edge Edge) bool {
	e := p.edges[edge]
	return e != nil && e.cut()
}

// Counters returns the evidence for one edge; all zero for an unknown edge.
func (p *Proxy) Counters(edge Edge) Counters {
	e := p.edges[edge]
	if e == nil {
		return Counters{}
	}
	return e.counters()
}

// Cut stops the edge. No byte is handed over on it after Cut has returned: a
// write under way, even to a receiver that has stopped reading, is broken off.
func (p *Proxy) Cut(edge Edge) error {
	e, err := p.find(edge)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.cut() {
		return nil
	}
	is := *e.state.Load()
	is.cut = true
	e.become(is)
	// A pump looks at the state with its lock held and keeps it while it writes:
	// who holds each lock once has outlasted every write that saw the old state.
	for c := range p.conns {
		for _, pump := range c.pumps() {
			if pump.edge == e {
				pump.interrupt()
			}
		}
	}
	return nil
}

// Heal lets the edge carry bytes again and closes the connections that lost
// something on it, also those of dials that led nowhere.
func (p *Proxy) Heal(edge Edge) error {
	e, err := p.find(edge)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !e.cut() {
		return nil
	}
	is := *e.state.Load()
	is.cut = false
	e.become(is)
	for c := range p.conns {
		for _, pump := range c.pumps() {
			if pump.edge == e && pump.lost.Load() {
				c.hangUp()
			}
		}
	}
	return nil
}

// Features of a TCP proxy.
func (p *Proxy) Features() []Support { return ProxyFeatures() }

// Shape replaces the shape of the edge. What an earlier shape holds keeps its
// time, unless the new one holds nothing.
func (p *Proxy) Shape(edge Edge, shape Shape) error {
	e, err := p.find(edge)
	if err != nil {
		return err
	}
	if err := shape.Check(p.Features()); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	is := *e.state.Load()
	if is.shape == shape {
		return nil
	}
	if is.shape.Rate != shape.Rate {
		is.line = newLine(shape.Rate)
	}
	is.shape = shape
	e.become(is)
	return nil
}

// Shaped returns the present shape of the edge; the zero Shape for an unknown
// edge.
func (p *Proxy) Shaped(edge Edge) Shape {
	e := p.edges[edge]
	if e == nil {
		return Shape{}
	}
	return e.state.Load().shape
}

// Reset breaks the open connections between the two nodes.
func (p *Proxy) Reset(edge Edge) (int, error) {
	there, err := p.find(edge)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if c.far == nil || c.broken || c.isDone() {
			continue
		}
		switch there {
		case c.there.edge:
			c.breakOff(c.there)
		case c.back.edge:
			c.breakOff(c.back)
		default:
			continue
		}
		c.broken = true
		n++
	}
	there.resets.Add(int64(n))
	return n, nil
}

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

func (p *Proxy) find(edge Edge) (*edge, error) {
	e := p.edges[edge]
	if e == nil {
		return nil, fmt.Errorf("edge %q: no such link, expected two different nodes of %q", edge, p.names)
	}
	return e, nil
}
