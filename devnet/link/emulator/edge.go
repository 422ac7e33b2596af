package emulator

import (
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// Limits of what an edge holds back.
const (
	maxHeld      = 16 << 20 // bytes
	minRateQueue = 64 << 10 // bytes that a rate lets wait, however low it is
	rateQueue    = time.Second / 4
)

// edge is one direction between two nodes.
type edge struct {
	links    *Emulator
	from, to *node
	key      uint64 // of its draws
	state    atomic.Pointer[edgeState]

	units, bytes, dropped, connections, refused      atomic.Int64
	heldUnits, heldTime, late, lost, duplicated      atomic.Int64
	reordered, corrupted, overflow, resets, heldEnds atomic.Int64

	// Guarded by the lock of the queue.
	held  int     // bytes held back
	count int     // frames held back
	last  int64   // latest time at which one of them is due
	free  float64 // when the rate lets the next frame begin, in nanoseconds
}

// edgeState is how an edge treats frames. It is never changed, only replaced,
// except for what is marked.
type edgeState struct {
	plain bool // neither cut nor shaped
	link.State
	bad bool // of Burst; changed under the lock of the queue
}

func newEdge(seed uint64, from, to *node) *edge {
	h := fnv.New64a()
	h.Write([]byte(from.name + "\x00" + to.name))
	ed := &edge{from: from, to: to, key: mix(seed ^ mix(h.Sum64()))}
	ed.state.Store(&edgeState{plain: true})
	return ed
}

// ways lists the reverse of the edge and the edge.
func (ed *edge) ways() [2]*edge { return [2]*edge{ed.to.edges[ed.from.index], ed} }

// holdsEnds reports whether the end of a connection is not news at once.
func (ed *edge) holdsEnds() bool {
	s := ed.state.Load().Shape
	return s.HalfOpen || s.SlowClose > 0
}

// State returns what the edge is asked to do.
func (ed *edge) State() link.State { return ed.state.Load().State }

// Change replaces what the edge is asked to do, and returns when no frame is treated
// by the old state any more. A cut loses also what the edge held back; after it TCP
// sends again what it swallowed, so connections outlive it. Frames held back by an
// earlier shape leave at the time that it gave them, or now, when the edge is to do
// nothing any more.
func (ed *edge) Change(f func(*link.State)) error {
	q := ed.links.queue
	q.mu.Lock()
	old := ed.state.Load()
	next := &edgeState{State: old.State}
	f(&next.State)
	next.plain = next.State == link.State{}
	if next.State != old.State {
		switch {
		case next.Cut && !old.Cut:
			q.take(ed, ed.swallow)
		case next.plain:
			q.take(ed, func(h held) { ed.leave(h, q.now()) })
		}
		ed.state.Store(next)
	}
	q.mu.Unlock()
	ed.from.awaitPass()
	return nil
}

// Reset breaks the connections between the two nodes, in both namespaces. An end
// whose news the other direction's shape holds back stays: with SlowClose it gets
// an RST later, with HalfOpen none. Where both do, ed.from is told.
func (ed *edge) Reset() (int, error) {
	var at []string
	for _, news := range ed.ways() { // what the end at news.to would learn
		if news.holdsEnds() && (news == ed || !ed.holdsEnds()) {
			continue // the RST that the other end's kernel sends meets its fate there
		}
		at = append(at, news.to.name)
	}
	n, err := ed.links.Break(ed.from.name, ed.to.name, at...)
	ed.resets.Add(int64(n))
	return n, err
}

// Counters returns what has happened on the edge.
func (ed *edge) Counters() link.Counters {
	return link.Counters{
		Bytes: ed.bytes.Load(), Dropped: ed.dropped.Load(),
		Connections: ed.connections.Load(), RefusedDials: ed.refused.Load(),
		Units: ed.units.Load(), Held: ed.heldUnits.Load(),
		HeldTime: time.Duration(ed.heldTime.Load()), Late: time.Duration(ed.late.Load()),
		Lost: ed.lost.Load(), Duplicated: ed.duplicated.Load(), Reordered: ed.reordered.Load(),
		Corrupted: ed.corrupted.Load(), Overflow: ed.overflow.Load(), Resets: ed.resets.Load(),
		HeldEnds: ed.heldEnds.Load(),
	}
}

// carry does with a frame what the edge does. Only the reader of the node calls
// it, so that frames have numbers in the order in which the node sent them.
func (ed *edge) carry(q *queue, frame []byte) {
	number := uint64(ed.units.Add(1))
	if ed.state.Load().plain {
		ed.deliver(frame)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch st := ed.state.Load(); { // it may have changed before the lock was ours
	case st.plain:
		ed.deliver(frame)
	case st.Cut:
		ed.swallow(held{frame: frame})
	default:
		ed.treat(q, st, draws(ed.key+number*step), frame)
	}
}

// deliver gives the frame to the other node.
func (ed *edge) deliver(frame []byte) {
	if ed.to.room.write(frame) != nil {
		return // its device is down or gone
	}
	p := look(frame)
	ed.bytes.Add(int64(p.size()))
	if p.opens() {
		ed.connections.Add(1)
	}
}

// swallow loses a frame to a cut.
func (ed *edge) swallow(h held) {
	p := look(h.frame)
	ed.dropped.Add(int64(p.size()))
	if p.opens() {
		ed.refused.Add(1)
	}
}

// leave delivers a frame that was held back.
func (ed *edge) leave(h held, now int64) {
	ed.heldUnits.Add(1)
	ed.heldTime.Add(now - h.arrived)
	if late := now - h.due; late > ed.late.Load() {
		ed.late.Store(late)
	}
	ed.deliver(h.frame)
}

// treat does with a frame what a shape asks for.
func (ed *edge) treat(q *queue, st *edgeState, d draws, frame []byte) {
	s := st.Shape
	if s.Burst != (link.Burst{}) {
		if st.bad {
			st.bad = d.share(drawBurst) >= s.Burst.Leave
		} else {
			st.bad = d.share(drawBurst) < s.Burst.Enter
		}
	}
	if st.bad || d.share(drawLoss) < s.Loss {
		ed.lost.Add(1)
		return
	}
	p := look(frame)
	if d.share(drawReset) < s.Reset && p.tcp && !p.rst() {
		ed.resets.Add(1)
		for _, r := range resets(frame, p) {
			if r.back {
				ed.from.room.write(r.frame)
			} else {
				ed.to.room.write(r.frame)
			}
		}
		return
	}
	if d.share(drawCorrupt) < s.Corrupt {
		frame = p.corrupt(frame, d.bits(drawBit))
		ed.corrupted.Add(1)
	} else if d.share(drawVisible) < s.CorruptVisible {
		if spoilt, ok := p.corruptVisibly(frame, d.bits(drawBit)); ok {
			frame = spoilt
			ed.corrupted.Add(1)
		}
	}
	if p.ends() && (s.HalfOpen || s.SlowClose > 0) {
		ed.heldEnds.Add(1)
		if p.size() > 0 {
			ed.send(q, s, d, p.withoutEnd(frame), 0) // the bytes are no end
		}
		if s.HalfOpen {
			return
		}
	}
	ed.send(q, s, d, frame, p.flags)
	if d.share(drawDuplicate) < s.Duplicate {
		ed.duplicated.Add(1)
		ed.send(q, s, d, frame, p.flags)
	}
}

// send lets a frame with those flags go now or holds it back.
func (ed *edge) send(q *queue, s link.Shape, d draws, frame []byte, flags byte) {
	var slow int64
	if flags&(flagFIN|flagRST) != 0 {
		slow = int64(s.SlowClose)
	}
	if s.Delay == 0 && s.Rate == 0 && slow == 0 {
		ed.deliver(frame)
		return
	}
	if d.share(drawReorder) < s.Reorder {
		ed.reordered.Add(1) // also when just now there is nobody to overtake
		ed.deliver(frame)
		return
	}
	now := q.now()
	due := now + int64(s.Delay) + slow
	if s.Jitter > 0 {
		due += int64((2*d.share(drawJitter) - 1) * float64(s.Jitter))
	}
	if s.Rate > 0 {
		waits := max(ed.free-float64(now), 0)
		if limit := max(minRateQueue, float64(s.Rate)*rateQueue.Seconds()); waits*float64(s.Rate)/1e9 > limit {
			ed.overflow.Add(1)
			return
		}
		ed.free = float64(now) + waits + float64(len(frame))*1e9/float64(s.Rate)
		due += int64(ed.free) - now
	}
	if ed.held+len(frame) > maxHeld {
		ed.overflow.Add(1)
		return
	}
	if ed.count > 0 && due < ed.last {
		ed.reordered.Add(1)
	}
	ed.last = max(ed.last, due)
	q.hold(ed, now, due, frame)
}
