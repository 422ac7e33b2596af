package link

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readSize = 32 << 10 // most bytes of a unit
	// A direction holds at most so much; then its sender waits.
	mostHeld      = 16 << 20
	mostHeldUnits = 1 << 14
	// mostBacklog is how far ahead a line is given units. It outlasts the lateness
	// of a timer, so that the line is never idle for want of one.
	mostBacklog = 50 * time.Millisecond
)

// pump is one direction of a connection.
type pump struct {
	edge     *edge
	src, dst *net.TCPConn

	// lost says that the direction has lost bytes or its end, so that it must
	// never carry anything again: Heal closes the connection.
	lost atomic.Bool
	room chan struct{} // says that a held unit has left

	// mu is held from the look at the edge's state to the end of what follows
	// from it: see edge.Change. It guards what follows.
	mu       sync.Mutex
	queue    []unit // held, in the order in which they came; all due in that order
	queued   int    // their bytes
	draining bool   // a goroutine sees to the queue
	ended    bool   // the end is counted as held
}

// unit is a read, or a part of one, that a shape holds.
type unit struct {
	data         []byte
	end          error // not nil: the end of the stream, and why
	arrived, due time.Time
	let, letEnds int // those of the state that held it
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
	buf := make([]byte, readSize)
	for {
		n, err := p.src.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			took, held, werr := p.forward(c, b)
			b = b[took:]
			if werr != nil {
				p.refused(c, reverse, werr)
			}
			if held {
				p.awaitRoom(c)
			}
		}
		if err != nil {
			p.finish(c, err)
			return
		}
	}
}

// refused is for when dst is gone: that is news which travels with reverse.
func (p *pump) refused(c *conn, reverse *pump, err error) {
	reverse.finish(c, err)
	<-c.done
}

// forward deals with the first unit of b as the edge is now: it writes, holds or
// swallows it. It returns how many bytes that was.
func (p *pump) forward(c *conn, b []byte) (took int, held bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edge.units.Add(1)
	s := p.edge.state.Load()
	switch {
	case s.Cut || p.lost.Load():
		if !p.lose(len(b)) {
			c.hangUp()
		}
		return len(b), false, nil
	case p.dst == nil: // the dial waits for an answer that the other edge swallowed
		return len(b), false, nil
	case !s.shaped() && len(p.queue) == 0:
		return len(b), false, p.write(c, b)
	}
	b = b[:s.unitSize(len(b))]
	now := time.Now()
	due, reset := p.shape(s, b, now)
	switch {
	case reset:
		p.edge.resets.Add(1)
		c.reset()
		return len(b), false, nil
	case due.After(now) || len(p.queue) > 0:
		p.hold(c, s, unit{data: slices.Clone(b), arrived: now, due: due})
		return len(b), true, nil
	}
	return len(b), false, p.write(c, b)
}

// shape draws what happens to one unit, flips its bit if it must, and returns
// when it may leave.
func (p *pump) shape(s *state, b []byte, now time.Time) (due time.Time, reset bool) {
	if !s.shaped() {
		return now, false
	}
	d := p.edge.draw()
	if d.of(drawReset) < s.Shape.Reset {
		return now, true
	}
	if d.of(drawCorrupt) < s.Shape.CorruptVisible {
		bit := int(d.of(drawBit) * float64(8*len(b)))
		b[bit/8] ^= 1 << (bit % 8)
		p.edge.corrupted.Add(1)
	}
	due = now
	if s.line != nil {
		due = s.line.send(len(b), now)
	}
	due = due.Add(s.delay(d))
	if d.of(drawStall) < s.Shape.Stall {
		due = later(due, now.Add(s.Shape.StallTime))
		p.edge.stalls.Add(1)
	}
	return due, false
}

// write hands b over to dst.
func (p *pump) write(c *conn, b []byte) error {
	n, err := p.dst.Write(b)
	p.edge.bytes.Add(int64(n))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if !p.lose(len(b) - n) {
			c.hangUp()
		}
		return nil
	}
	return err
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
	if !p.end(c, err) {
		<-c.done
	}
}

// end passes the end of src on, or holds it, and reports whether it has done
// either.
func (p *pump) end(c *conn, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.edge.state.Load()
	switch {
	case p.dst == nil:
		c.hangUp()
	case s.Cut || p.lost.Load():
		p.holdEnd()
		if p.lose(0) {
			return false
		}
		c.hangUp()
	case len(p.queue) > 0 || s.holdsEnds():
		if s.Shape.SlowClose > 0 || s.Shape.HalfOpen {
			p.holdEnd()
		}
		now := time.Now()
		due := now.Add(s.Shape.SlowClose)
		if s.shaped() {
			due = due.Add(s.delay(p.edge.draw()))
		}
		p.hold(c, s, unit{end: err, arrived: now, due: due})
	default:
		p.passEnd(c, err)
	}
	return true
}

// holdEnd counts the end as held back, once: it may come from src and, when dst
// sends to one who is gone, as news of that.
func (p *pump) holdEnd() {
	if !p.ended {
		p.ended = true
		p.edge.heldEnds.Add(1)
	}
}

func (p *pump) passEnd(c *conn, err error) {
	if errors.Is(err, io.EOF) {
		p.dst.CloseWrite()
		return
	}
	c.reset()
}
