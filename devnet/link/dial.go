package link

import (
	"errors"
	"net"
	"time"
)

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
	c := newConn(near, p.ways[e], p.ways[Edge{From: e.To, To: e.From}])
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
