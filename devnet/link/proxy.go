package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options describe the links that NewProxy opens.
type Options struct {
	Nodes     []string // names, at least one, all different
	Protocols []string // one listener per ordered pair of nodes and protocol
	// Target returns the host:port where a node really listens for a protocol.
	// It is asked once for each listener, before NewProxy returns.
	Target func(node, protocol string) string
	Host   string // address the listeners bind to; "" is 127.0.0.1
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

// state is how an edge behaves now. It is never changed, only replaced, so that
// shaping can add fields that the forwarding loop reads without a lock.
type state struct {
	cut bool
}

// edge is one direction between two nodes, for all protocols.
type edge struct {
	state atomic.Pointer[state]

	bytes, dropped, connections, refused atomic.Int64
}

func (e *edge) cut() bool { return e.state.Load().cut }

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
			p.edges[e] = new(edge)
			p.edges[e].state.Store(&state{})
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
	return Counters{
		Bytes:        e.bytes.Load(),
		Dropped:      e.dropped.Load(),
		Connections:  e.connections.Load(),
		RefusedDials: e.refused.Load(),
	}
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
	e.state.Store(&state{cut: true})
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
	e.state.Store(&state{})
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

// ProxyFeatures lists what a Proxy can do and what that means in one.
func ProxyFeatures() []Support {
	return []Support{{FeatureCut, "what one end sends is swallowed, and the heal closes the connections that lost bytes"}}
}

// Shape replaces the shape of the edge.
func (p *Proxy) Shape(edge Edge, shape Shape) error {
	if _, err := p.find(edge); err != nil {
		return err
	}
	return shape.Check(p.Features())
}

// Shaped returns the present shape of the edge.
func (p *Proxy) Shaped(Edge) Shape { return Shape{} }

// Reset breaks the open connections between the two nodes.
func (p *Proxy) Reset(edge Edge) (int, error) {
	there, err := p.find(edge)
	if err != nil {
		return 0, err
	}
	back := p.edges[Edge{From: edge.To, To: edge.From}]
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if (c.there.edge == there || c.there.edge == back) && c.far != nil && !c.isDone() {
			c.reset()
			n++
		}
	}
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

// accept takes the dials of one listener until it is closed.
func (p *Proxy) accept(ln net.Listener, e Edge, target string) {
	for {
		near, err := ln.Accept()
		switch {
		case err == nil:
			p.wg.Go(func() { p.serve(near.(*net.TCPConn), e, target) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Out of file descriptors, most likely: let some be closed.
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// serve carries one connection from its accept to its end.
func (p *Proxy) serve(near *net.TCPConn, e Edge, target string) {
	c := newConn(near, p.edges[e], p.edges[Edge{From: e.To, To: e.From}])
	defer c.hangUp()
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	if !c.there.lost.Load() {
		far, err := p.dial(target)
		switch {
		case err == nil:
			if !p.connect(c, far) {
				return
			}
		case c.back.edge.cut():
			c.back.lose(0) // the refusal is lost on its way back
		default:
			c.reset()
			return
		}
	}
	c.run()
}

func (p *Proxy) dial(target string) (*net.TCPConn, error) {
	var d net.Dialer
	far, err := d.DialContext(p.ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	return far.(*net.TCPConn), nil
}

// add registers a new connection, so that Cut, Heal and Close reach it. A dial
// on a cut edge is marked as lost in the same step: Heal either sees the mark or
// comes before.
func (p *Proxy) add(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = struct{}{}
	if c.there.edge.cut() {
		c.there.edge.refused.Add(1)
		c.there.lost.Store(true)
	}
	return true
}

// connect gives the connection its far end, unless it was closed or the edge cut
// meanwhile.
func (p *Proxy) connect(c *conn, far *net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.isDone() {
		far.Close()
		return false
	}
	if c.there.edge.cut() {
		far.Close()
		c.there.edge.refused.Add(1)
		c.there.lost.Store(true)
		return true
	}
	c.there.edge.connections.Add(1)
	c.setFar(far)
	return true
}

func (p *Proxy) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
