package link

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one proxied connection: two sockets and a pump for each direction.
type conn struct {
	near, far   *net.TCPConn // to the dialer, to the target; far is nil where a dial leads nowhere
	there, back *pump        // dialer→target, target→dialer

	once sync.Once
	done chan struct{} // closed by hangUp
}

func newConn(near *net.TCPConn, there, back *edge) *conn {
	return &conn{
		near:  near,
		there: &pump{edge: there, src: near},
		back:  &pump{edge: back, dst: near},
		done:  make(chan struct{}),
	}
}

func (c *conn) pumps() [2]*pump { return [2]*pump{c.there, c.back} }

func (c *conn) setFar(far *net.TCPConn) {
	c.far = far
	c.there.dst, c.back.src = far, far
}

// run moves bytes until both directions have ended.
func (c *conn) run() {
	if c.far == nil {
		c.there.run(c, nil)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.there.run(c, c.back) })
	wg.Go(func() { c.back.run(c, c.there) })
	wg.Wait()
}

// hangUp closes both sockets.
func (c *conn) hangUp() {
	c.once.Do(func() {
		close(c.done)
		c.near.Close()
		if c.far != nil {
			c.far.Close()
		}
	})
}

// reset is hangUp as a refused or broken connection looks from outside.
func (c *conn) reset() {
	c.near.SetLinger(0)
	if c.far != nil {
		c.far.SetLinger(0)
	}
	c.hangUp()
}

func (c *conn) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// pump is one direction of a connection.
type pump struct {
	edge     *edge
	src, dst *net.TCPConn

	// lost says that the direction has lost bytes or its end, so that it must
	// never carry anything again: Heal closes the connection.
	lost atomic.Bool
	// mu is held from the look at the edge's state to the end of what follows
	// from it: see Proxy.Cut.
	mu sync.Mutex
}

// interrupt breaks off a write under way and returns when there is none that
// began before it.
func (p *pump) interrupt() {
	if p.dst != nil {
		p.dst.SetWriteDeadline(time.Unix(1, 0))
		defer p.dst.SetWriteDeadline(time.Time{})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
}

// run moves bytes from src to dst until src ends. reverse is the other direction
// of the same connection, nil where a dial leads nowhere.
func (p *pump) run(c *conn, reverse *pump) {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.src.Read(buf)
		if n > 0 {
			ok, werr := p.forward(buf[:n])
			if werr != nil {
				// That dst is gone is news that travels with reverse.
				reverse.finish(c, werr)
			}
			if !ok {
				c.hangUp()
			}
		}
		if err != nil {
			p.finish(c, err)
			return
		}
	}
}

// forward writes b or swallows it, as the edge is now. ok is false when the
// connection must be closed: it has lost bytes and the edge is whole again.
func (p *pump) forward(b []byte) (ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.edge.cut() || p.lost.Load() {
		return p.lose(len(b)), nil
	}
	if p.dst == nil {
		return true, nil // the dial waits for an answer that the other edge swallowed
	}
	n, err := p.dst.Write(b)
	p.edge.bytes.Add(int64(n))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return p.lose(len(b) - n), nil
	}
	return true, err
}

// lose counts n swallowed bytes and marks the direction. It is false when the
// edge is whole again. Heal stores the new state before it looks for marks, and
// lose marks before it looks at the state, so one of the two sees the other and
// closes the connection.
func (p *pump) lose(n int) bool {
	p.edge.dropped.Add(int64(n))
	p.lost.Store(true)
	return p.edge.cut()
}

// finish passes the end of src on to dst, where the edge lets it; otherwise the
// connection stays as it is until Heal or Close closes it.
func (p *pump) finish(c *conn, err error) {
	if p.passEnd(c, err) {
		return
	}
	<-c.done
}

func (p *pump) passEnd(c *conn, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dst == nil:
		c.hangUp()
	case p.edge.cut() || p.lost.Load():
		if p.lose(0) {
			return false
		}
		c.hangUp()
	case errors.Is(err, io.EOF):
		p.dst.CloseWrite()
	default:
		c.reset()
	}
	return true
}
