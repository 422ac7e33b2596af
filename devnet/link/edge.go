package link

import (
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"
)

// edge is one direction between two nodes, for all protocols.
type edge struct {
	proxy *Proxy
	state atomic.Pointer[state]
	seed  uint64
	drawn atomic.Uint64 // units that met a shape so far

	bytes, dropped, connections, refused atomic.Int64
	units, held, heldTime, late          atomic.Int64
	corrupted, stalls, resets, heldEnds  atomic.Int64
}

func newEdge(e Edge, seed uint64, p *Proxy) *edge {
	h := fnv.New64a()
	h.Write([]byte(e.From + "\x00" + e.To))
	made := &edge{proxy: p, seed: mix(seed ^ mix(h.Sum64()))}
	made.state.Store(&state{gone: make(chan struct{})})
	return made
}

// State returns what the edge is asked to do.
func (e *edge) State() State { return e.state.Load().State }

func (e *edge) cut() bool { return e.State().Cut }

// Change replaces what the edge is asked to do. No byte is handed over on a cut
// edge after it has returned: a write under way, even to a receiver that has
// stopped reading, is broken off. A heal closes the connections that lost something
// on the edge, also those of dials that led nowhere. What an earlier shape holds
// keeps its time, unless the new one holds nothing.
func (e *edge) Change(f func(*State)) error {
	e.proxy.mu.Lock()
	defer e.proxy.mu.Unlock()
	was := e.State()
	is := *e.state.Load()
	f(&is.State)
	if is.State == was {
		return nil
	}
	if is.Shape.Rate != was.Shape.Rate {
		is.line = newLine(is.Shape.Rate)
	}
	e.become(is)
	if is.Cut == was.Cut {
		return nil
	}
	for c := range e.proxy.conns {
		for _, pump := range c.pumps() {
			switch {
			case pump.edge != e:
			case is.Cut:
				// A pump looks at the state with its lock held and keeps it while it
				// writes: who holds each lock once has outlasted every write that saw
				// the old state.
				pump.interrupt()
			case pump.lost.Load():
				c.hangUp()
			}
		}
	}
	return nil
}

// Reset breaks the open connections between the two nodes.
func (e *edge) Reset() (int, error) {
	e.proxy.mu.Lock()
	defer e.proxy.mu.Unlock()
	n := 0
	for c := range e.proxy.conns {
		if c.far == nil || c.broken || c.isDone() {
			continue
		}
		switch e {
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
	e.resets.Add(int64(n))
	return n, nil
}

// become replaces the state and wakes what waits under the old one. Calls are
// serialised by Proxy.mu.
func (e *edge) become(s state) {
	if !s.holds() {
		s.let++
	}
	if !s.holdsEnds() {
		s.letEnds++
	}
	s.gone = make(chan struct{})
	close(e.state.Swap(&s).gone)
}

// Counters returns what has happened on the edge.
func (e *edge) Counters() Counters {
	return Counters{
		Bytes:        e.bytes.Load(),
		Dropped:      e.dropped.Load(),
		Connections:  e.connections.Load(),
		RefusedDials: e.refused.Load(),
		Units:        e.units.Load(),
		Held:         e.held.Load(),
		HeldTime:     time.Duration(e.heldTime.Load()),
		Late:         time.Duration(e.late.Load()),
		Corrupted:    e.corrupted.Load(),
		Stalls:       e.stalls.Load(),
		Resets:       e.resets.Load(),
		HeldEnds:     e.heldEnds.Load(),
	}
}

// left counts a unit that was held and has now been delivered.
func (e *edge) left(u unit, began, now time.Time) {
	e.held.Add(1)
	e.heldTime.Add(int64(now.Sub(u.arrived)))
	late := int64(began.Sub(u.due))
	for {
		was := e.late.Load()
		if late <= was || e.late.CompareAndSwap(was, late) {
			return
		}
	}
}

// state is how an edge behaves now. It is never changed, only replaced, so that
// the forwarding loop reads it without a lock.
type state struct {
	State
	line *line // of the shape's rate, nil without one
	// let and letEnds say how often what was held, bytes and ends of connections,
	// has been let go: a later shape must not hold it again.
	let, letEnds int
	gone         chan struct{} // closed when another state has taken its place
}

func (s *state) shaped() bool { return s.Shape != Shape{} }

// holds reports whether bytes may have to wait.
func (s *state) holds() bool {
	return s.Shape.Delay > 0 || s.Shape.Rate > 0 || s.Shape.Stall > 0
}

// holdsEnds reports whether the end of a connection may have to wait.
func (s *state) holdsEnds() bool {
	return s.holds() || s.Shape.SlowClose > 0 || s.Shape.HalfOpen
}

// delay draws how long a unit is under way.
func (s *state) delay(d draws) time.Duration {
	return s.Shape.Delay + time.Duration((2*d.of(drawJitter)-1)*float64(s.Shape.Jitter))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// perSecond is into how many units a rate cuts a second at the least: a
	// receiver sees a slow line, not one that comes in gulps.
	perSecond = 50
	// leastUnit keeps a very low rate from going byte by byte.
	leastUnit = 256
)

// unitSize is the most bytes of a unit of n.
func (s *state) unitSize(n int) int {
	if s.Shape.Rate > 0 {
		n = min(n, max(int(min(s.Shape.Rate, 1<<30))/perSecond, leastUnit))
	}
	if s.Shape.Slice > 0 {
		n = min(n, s.Shape.Slice)
	}
	return n
}

// line sends one unit after the other at a rate: a serialiser in virtual time,
// so that no lateness of a timer makes it slower.
type line struct {
	rate int64 // bytes a second
	mu   sync.Mutex
	free time.Time // when it has sent all that it was given
}

func newLine(rate int64) *line {
	if rate == 0 {
		return nil
	}
	return &line{rate: rate}
}

// send gives the line n bytes and returns when it has sent them.
func (l *line) send(n int, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / float64(l.rate) * float64(time.Second)))
	return l.free
}

// backlog is how long the line will still be busy.
func (l *line) backlog(now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free.Sub(now)
}

// draws are the random choices for one unit. Each follows from (seed, edge, unit)
// alone, so that asking for one fault does not shift the draws of another.
type draws uint64

func (e *edge) draw() draws { return draws(mix(e.seed + e.drawn.Add(1)*0x9e3779b97f4a7c15)) }

// The choices, each with a stream of its own.
const (
	drawJitter = iota + 1
	drawStall
	drawCorrupt
	drawBit
	drawReset
)

// of returns the choice in [0, 1).
func (d draws) of(choice uint64) float64 {
	return float64(mix(uint64(d)^mix(choice))>>11) / (1 << 53)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ProxyFeatures lists what a Proxy can do and what that means in one.
func ProxyFeatures() []Support {
	return []Support{
		{FeatureCut, "what one end sends is swallowed, and the heal closes the connections that lost bytes"},
		{FeatureDelay, "bytes leave so much later, many at a time under way; dials are answered at once, and retransmission timers of the nodes' kernels never notice"},
		{FeatureJitter, "the delay varies from read to read, but a stream keeps its order, so a late read holds up those behind it"},
		{FeatureRate, "all connections of the edge share the rate; beyond it the sender's writes wait, nothing is lost"},
		{FeatureStall, "stands for loss, which a TCP proxy cannot cause: the stream stands still as it would until a retransmission, but no segment is lost and no congestion window shrinks"},
		{FeatureSlice, "bytes are written in small pieces; the receiver may still find several at once"},
		{FeatureSlowClose, "FIN or RST of one end reaches the other so much later"},
		{FeatureHalfOpen, "FIN or RST of one end does not reach the other until the shape is taken away"},
		{FeatureReset, "an RST to both ends, drawn before each read, in place of its bytes"},
		{FeatureCorruptVisible, "one bit of a read is flipped and the receiving kernel vouches for it with a good checksum"},
	}
}
