package link

import (
	"net"
	"sync"
)

// conn is one proxied connection: two sockets and a pump for each direction.
type conn struct {
	near, far   *net.TCPConn // to the dialer, to the target; far is nil where a dial leads nowhere
	there, back *pump        // dialer→target, target→dialer

	wg     sync.WaitGroup // of the goroutines that serve the two pumps
	broken bool           // by Reset; guarded by Proxy.mu
	once   sync.Once
	done   chan struct{} // closed by hangUp
}

func newConn(near *net.TCPConn, there, back *edge) *conn {
	return &conn{
		near:  near,
		there: &pump{edge: there, src: near, room: make(chan struct{}, 1)},
		back:  &pump{edge: back, dst: near, room: make(chan struct{}, 1)},
		done:  make(chan struct{}),
	}
}

// other is the opposite direction.
func (c *conn) other(p *pump) *pump {
	if p == c.there {
		return c.back
	}
	return c.there
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
	c.wg.Go(func() { c.there.run(c, c.back) })
	c.wg.Go(func() { c.back.run(c, c.there) })
	c.wg.Wait()
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

// breakOff is reset as far as the shapes let it be seen: p carries the end of
// what its source sends, and where that is held back, or else on the way back,
// only one side learns of it at once.
func (c *conn) breakOff(p *pump) {
	for _, held := range []*pump{p, c.other(p)} {
		if s := held.edge.state.Load().Shape; s.SlowClose > 0 || s.HalfOpen {
			held.src.SetLinger(0)
			held.src.Close()
			return
		}
	}
	c.reset()
}

func (c *conn) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}
