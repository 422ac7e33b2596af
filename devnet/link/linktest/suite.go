package linktest

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

func carriesBothWays(t *testing.T, b *bench) {
	const size = 1 << 20
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	want := pattern(size)
	var wg sync.WaitGroup
	for _, c := range []net.Conn{near, far} {
		wg.Go(func() {
			if _, err := c.Write(want); err != nil {
				t.Errorf("write: %v", err)
			}
		})
		wg.Go(func() {
			got := make([]byte, size)
			if _, err := io.ReadFull(c, got); err != nil {
				t.Errorf("read: %v", err)
			}
			equal(t, got, want)
		})
	}
	wg.Wait()
	// The other end of a connection that nobody cut learns of its end at once.
	near.Close()
	closed(t, far)

	there, back := b.Link.Counters(b.edge(0, 1)), b.Link.Counters(b.edge(1, 0))
	if there.Bytes < size+8 || back.Bytes < size {
		t.Errorf("counted %d and %d bytes, want at least %d and %d", there.Bytes, back.Bytes, size+8, size)
	}
	if there.Connections != 1 || back.Connections != 0 {
		t.Errorf("counted %d and %d connections, want 1 and 0: only the first node dialed", there.Connections, back.Connections)
	}
	if there.Dropped+back.Dropped+there.RefusedDials+back.RefusedDials != 0 {
		t.Errorf("losses without a cut: %+v, %+v", there, back)
	}
	if other := b.Link.Counters(b.edge(0, 2)); other != (link.Counters{}) {
		t.Errorf("an edge without traffic has counters %+v", other)
	}
}

func fullCut(t *testing.T, b *bench) {
	there, back := b.edge(0, 1), b.edge(1, 0)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	apart, apartFar := b.pair(t, b.Nodes[0], b.Nodes[2])
	b.cut(t, there, back)
	b.swallow(t, near, far, there, "lost")
	b.swallow(t, far, near, back, "lost as well")
	Send(t, apart, apartFar, "other edges go on")
	Send(t, apartFar, apart, "both ways")
	b.heal(t, there, back)
	near, far = b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "whole again")
	Send(t, far, near, "both ways")
}

func oneWayCut(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	for _, dialer := range []int{0, 1} {
		near, far := b.pair(t, b.Nodes[dialer], b.Nodes[1-dialer])
		if dialer == 1 {
			near, far = far, near // near is always at node 0
		}
		b.cut(t, there)
		if b.Link.IsCut(b.edge(1, 0)) {
			t.Fatal("the other direction is cut")
		}
		Send(t, far, near, "the other direction")
		b.swallow(t, near, far, there, "lost")
		Send(t, far, near, "goes on")
		b.heal(t, there)
	}
}

// nothingAfterCut cuts a busy stream: the receiver gets an unbroken prefix, as
// long as the counter says when Cut returns, and never a byte more. Where TCP runs
// over the links, the counter has what it sent twice as well, and the rest of the
// stream comes after the heal.
func nothingAfterCut(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	const token = 8
	stream := pattern(1 << 22)
	go near.Write(stream)
	var got []byte
	buf := make([]byte, 64<<10)
	for len(got) < len(stream)/8 {
		n, err := far.Read(buf)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		got = append(got, buf[:n]...)
	}
	b.cut(t, there)
	delivered := b.Link.Counters(there).Bytes
	Await(t, "the rest of the stream to be dropped", func() bool {
		c := b.Link.Counters(there)
		return c.Dropped >= token+int64(len(stream))-delivered || b.Resumes && c.Dropped > 0
	})
	if now := b.Link.Counters(there).Bytes; now != delivered {
		t.Errorf("%d bytes were delivered after Cut had returned", now-delivered)
	}
	if b.Resumes {
		for { // what the kernel has taken, until there is no more
			far.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			n, err := far.Read(buf)
			got = append(got, buf[:n]...)
			if IsTimeout(err) {
				break
			}
			if err != nil {
				t.Fatalf("read: %v", err)
			}
		}
		far.SetReadDeadline(time.Now().Add(bound))
		if int64(len(got)) > delivered-token {
			t.Fatalf("read %d bytes, but at most %d were delivered before the cut", len(got), delivered-token)
		}
		b.heal(t, there)
		rest := make([]byte, len(stream)-len(got))
		if _, err := io.ReadFull(far, rest); err != nil {
			t.Fatalf("read: %v", err)
		}
		equal(t, append(got, rest...), stream)
		return
	}
	rest := make([]byte, delivered-token-int64(len(got)))
	if _, err := io.ReadFull(far, rest); err != nil {
		t.Fatalf("read: %v", err)
	}
	silent(t, far)
	equal(t, append(got, rest...), stream[:delivered-token])
}

// cutEndsBlockedWrite cuts towards a receiver that has stopped reading, as a
// paused process has: Cut must not wait for it.
func cutEndsBlockedWrite(t *testing.T, b *bench) {
	if b.Resumes {
		t.Skip("the link hands over single frames, and no write blocks")
	}
	there := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	var sent atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for chunk := make([]byte, 64<<10); ; {
			n, err := near.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	last := int64(-1)
	Await(t, "the sender to be blocked", func() bool {
		time.Sleep(50 * time.Millisecond)
		now := sent.Load()
		still := now == last
		last = now
		return still
	})
	b.cut(t, there)
	Await(t, "the sender to go on into the void", func() bool { return sent.Load() > last })
	near.Close()
	wg.Wait()
	b.heal(t, there)
	if _, err := io.Copy(io.Discard, far); IsTimeout(err) {
		t.Error("the connection is open after Heal, though it lost bytes")
	}
}

func healClosesWhatLostBytes(t *testing.T, b *bench) {
	if b.Resumes {
		t.Skip("TCP sends the lost bytes again: see HealResumes")
	}
	there := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.cut(t, there)
	b.swallow(t, near, far, there, "lost")
	b.heal(t, there)
	closed(t, near)
	closed(t, far)
	near, far = b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "dialed anew")
}

// healResumes: what was sent in the cut arrives after it, in order and once, and
// the connection goes on.
func healResumes(t *testing.T, b *bench) {
	if !b.Resumes {
		t.Skip("bytes that are lost stay so: see HealClosesWhatLostBytes")
	}
	there := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	for range 2 {
		b.cut(t, there)
		b.swallow(t, near, far, there, "sent in the cut")
		b.heal(t, there)
		got := make([]byte, len("sent in the cut"))
		if _, err := io.ReadFull(far, got); err != nil || string(got) != "sent in the cut" {
			t.Fatalf("read %q, %v after the heal", got, err)
		}
		Send(t, near, far, "goes on")
		Send(t, far, near, "both ways")
	}
}

func healSparesWhatLostNothing(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	for range 3 {
		b.cut(t, there)
		Send(t, far, near, "the whole direction")
		b.heal(t, there)
		Send(t, near, far, "still the same connection")
	}
}

func dialDuringCut(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	b.cut(t, there)
	near, accepted, err := b.knock(t, b.Nodes[0], b.Nodes[1])
	Await(t, "a refused dial to be counted", func() bool { return b.Link.Counters(there).RefusedDials > 0 })
	select {
	case <-accepted:
		t.Error("bytes of a connection opened during the cut arrived")
	case <-time.After(20 * time.Millisecond):
	}
	if c := b.Link.Counters(there); c.Connections != 0 || c.Bytes != 0 {
		t.Errorf("a cut edge counts %+v", c)
	}
	if err == nil {
		silent(t, near) // it hangs: neither closed nor answered
	}
	b.heal(t, there)
	if err == nil {
		closed(t, near)
	}
	again, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, again, far, "after the heal")
	if c := b.Link.Counters(there); c.Connections == 0 {
		t.Error("the connection after the heal is not counted")
	}
}

// endIsSwallowed: a node that hangs up, or dies, behind a cut edge is not seen to
// do so until the heal.
func endIsSwallowed(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	for _, reset := range []bool{false, true} {
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		b.cut(t, there)
		if c, ok := near.(*net.TCPConn); ok && reset {
			c.SetLinger(0)
		}
		near.Close()
		silent(t, far)
		io.WriteString(far, "to one who has left")
		silent(t, far)
		b.heal(t, there)
		closed(t, far)
	}
}

func idempotent(t *testing.T, b *bench) {
	there := b.edge(0, 1)
	b.heal(t, there, there)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.cut(t, there, there, there)
	b.swallow(t, near, far, there, "lost")
	b.cut(t, there)
	silent(t, far)
	b.heal(t, there)
	near, far = b.pair(t, b.Nodes[0], b.Nodes[1])
	b.heal(t, there)
	Send(t, near, far, "a second heal closes nothing")
}

func unknownEdge(t *testing.T, b *bench) {
	n := b.Nodes[0]
	for _, e := range []link.Edge{{}, {From: n}, {To: n}, {From: n, To: n}, {From: n, To: "no such node"}} {
		if err := b.Link.Cut(e); err == nil {
			t.Errorf("cut %s: no error", e)
		}
		if err := b.Link.Heal(e); err == nil {
			t.Errorf("heal %s: no error", e)
		}
		if err := b.Link.Shape(e, link.Shape{}); err == nil {
			t.Errorf("shape %s: no error", e)
		}
		if n, err := b.Link.Reset(e); err == nil || n != 0 {
			t.Errorf("reset %s: %d, %v, want an error", e, n, err)
		}
		if b.Link.IsCut(e) || b.Link.Shaped(e) != (link.Shape{}) || b.Link.Counters(e) != (link.Counters{}) {
			t.Errorf("unknown edge %s has a state", e)
		}
	}
	edges := b.Link.Edges()
	if want := len(b.Nodes) * (len(b.Nodes) - 1); len(edges) != want {
		t.Errorf("%d edges, want %d", len(edges), want)
	}
	if again := b.Link.Edges(); !slices.Equal(edges, again) {
		t.Errorf("the order of the edges changed from %v to %v", edges, again)
	}
}

// concurrent cuts and heals every edge from many goroutines under traffic. What
// arrives on a connection must be an unbroken prefix of what was sent, and when
// all is healed every pair of nodes talks.
func concurrent(t *testing.T, b *bench) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	edges := b.Link.Edges()
	for _, e := range edges {
		wg.Go(func() { b.chatter(t, e, stop) })
		for range 2 {
			wg.Go(func() {
				for i := 0; i < 100 || !ended(stop); i++ {
					if err := b.Link.Cut(e); err != nil {
						t.Errorf("cut: %v", err)
					}
					time.Sleep(time.Millisecond)
					if err := b.Link.Heal(e); err != nil {
						t.Errorf("heal: %v", err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
	Await(t, "traffic on every edge", func() bool {
		return !slices.ContainsFunc(edges, func(e link.Edge) bool {
			c := b.Link.Counters(e)
			return c.Bytes == 0 || c.Dropped+c.RefusedDials == 0
		})
	})
	close(stop)
	wg.Wait()
	for _, e := range edges {
		if b.Link.IsCut(e) {
			t.Errorf("%s is cut after its last heal", e)
		}
		near, far := b.pair(t, e.From, e.To)
		Send(t, near, far, fmt.Sprintf("hello over %s", e))
	}
}

func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// chatter keeps dialing and sending the pattern, and checks what arrives.
func (b *bench) chatter(t *testing.T, e link.Edge, stop <-chan struct{}) {
	want := pattern(1 << 16)
	for !ended(stop) {
		// The kernel tries again after a second what a cut has swallowed: a new dial
		// is sooner.
		near, accepted, err := b.knockFor(t, e.From, e.To, 50*time.Millisecond)
		if err != nil {
			continue
		}
		near.SetDeadline(time.Now().Add(20 * time.Millisecond))
		near.Write(want)
		near.Close()
		select {
		case far := <-accepted:
			far.SetDeadline(time.Now().Add(20 * time.Millisecond))
			got, _ := io.ReadAll(far)
			far.Close()
			if len(got) > len(want) {
				t.Errorf("%s: received %d bytes of %d", e, len(got), len(want))
				continue
			}
			equal(t, got, want[:len(got)])
		case <-time.After(20 * time.Millisecond):
		}
	}
}
