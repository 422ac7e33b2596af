package linktest

import (
	"errors"
	"io"
	"math/bits"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// throughput is the bytes a second that a full stream brings over the edge, as
// the receiver sees it once it flows.
func throughput(t *testing.T, near, far net.Conn, skip, count int) float64 {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { near.Write(make([]byte, skip+count)) })
	defer wg.Wait()
	if _, err := io.CopyN(io.Discard, far, int64(skip)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := io.CopyN(io.Discard, far, int64(count)); err != nil {
		t.Fatal(err)
	}
	return float64(count) / time.Since(start).Seconds()
}

// holdsRate measures the rate up to five times, each on a stream of its own,
// because a busy machine may slow one down, and TCP goes on slowly then; none may
// be faster than asked.
func holdsRate(t *testing.T, b *bench, asked float64) {
	t.Helper()
	const skip, count = 100_000, 500_000
	var got float64
	for range 5 {
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		got = throughput(t, near, far, skip, count)
		if got > 1.1*asked {
			t.Fatalf("measured %.0f bytes a second, asked for %.0f", got, asked)
		}
		if got >= 0.85*asked {
			t.Logf("measured %.0f bytes a second, asked for %.0f", got, asked)
			return
		}
	}
	t.Errorf("measured %.0f bytes a second, asked for %.0f", got, asked)
}

func rate(t *testing.T, b *bench) {
	const asked = 500_000
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Rate: asked})
	holdsRate(t, b, asked)
	if c := b.Link.Counters(e); c.Held == before.Held {
		t.Error("no unit was held")
	}
	// A message goes at once on a line that is free.
	within(t, "on an idle line", travel(t, near, far, 10), 0, slack)
	b.shape(t, e, link.Shape{})
	const much = 4 * asked
	start := time.Now()
	throughput(t, near, far, 1, much)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("without a rate %d bytes took %v", much, took)
	}
}

// rateAndDelay together: the delay costs the line nothing.
func rateAndDelay(t *testing.T, b *bench) {
	const asked, late = 500_000, 100 * time.Millisecond
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.shape(t, b.edge(0, 1), link.Shape{Rate: asked, Delay: late})
	within(t, "on an idle line", travel(t, near, far, 5), late, late+slack)
	holdsRate(t, b, asked)
}

func stall(t *testing.T, b *bench) {
	const share, still, n = 0.5, 60 * time.Millisecond, 30
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Stall: share, StallTime: still})
	ds := travel(t, near, far, n)
	stalls := b.Link.Counters(e).Stalls - before.Stalls
	binomial(t, "stalls", stalls, n, share)
	long := slices.DeleteFunc(ds, func(d time.Duration) bool { return d < still })
	if int64(len(long)) < stalls {
		t.Errorf("%d messages took %v or more, but %d stalls are counted", len(long), still, stalls)
	}
	within(t, "stalled", long, still, still+slack)
}

func slice(t *testing.T, b *bench) {
	const most, size = 100, 20_000
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Slice: most})
	Send(t, near, far, string(pattern(size)))
	if got := b.Link.Counters(e).Units - before.Units; got < size/most {
		t.Errorf("%d bytes went in %d pieces, want at least %d", size, got, size/most)
	}
}

func slowClose(t *testing.T, b *bench) {
	const asked = 200 * time.Millisecond
	e := b.edge(0, 1)
	b.shape(t, e, link.Shape{SlowClose: asked})
	var ds []time.Duration
	for range 3 {
		before := b.Link.Counters(e)
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		within(t, "messages of an open connection", travel(t, near, far, 5), 0, asked/2)
		start := time.Now()
		near.Close()
		closed(t, far)
		ds = append(ds, time.Since(start))
		if b.Link.Counters(e).HeldEnds == before.HeldEnds {
			t.Error("no held end is counted")
		}
	}
	within(t, "the end", ds, asked, asked+slack)
}

func halfOpen(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	reset, resetFar := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{HalfOpen: true})
	Send(t, near, far, "it carries")
	Send(t, far, near, "both ways")
	near.Close()
	if c, ok := reset.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	reset.Close()
	Await(t, "two held ends", func() bool { return b.Link.Counters(e).HeldEnds >= before.HeldEnds+2 })
	for _, c := range []net.Conn{far, resetFar} {
		silent(t, c)
		io.WriteString(c, "to one who has left")
		silent(t, c)
	}
	b.shape(t, e, link.Shape{})
	closed(t, far)
	closed(t, resetFar)
}

// resetHeld: a reset where the shape holds ends is news for one end only.
func resetHeld(t *testing.T, b *bench) {
	for _, shaped := range [][]link.Edge{{b.edge(0, 1)}, {b.edge(0, 1), b.edge(1, 0)}} {
		resetHeldOn(t, b, shaped)
	}
}

// resetHeldOn resets the first of the edges that are half-open.
func resetHeldOn(t *testing.T, b *bench, shaped []link.Edge) {
	e := shaped[0]
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	far2, near2 := b.pair(t, b.Nodes[1], b.Nodes[0]) // dialed from the other side
	before := b.Link.Counters(e)
	for _, e := range shaped {
		b.shape(t, e, link.Shape{HalfOpen: true})
	}
	if n, err := b.Link.Reset(e); n != 2 || err != nil {
		t.Errorf("reset: %d, %v, want 2", n, err)
	}
	wasReset(t, near)
	wasReset(t, near2)
	Await(t, "two held ends", func() bool { return b.Link.Counters(e).HeldEnds >= before.HeldEnds+2 })
	for _, c := range []net.Conn{far, far2} {
		silent(t, c)
		io.WriteString(c, "to one who has left")
		silent(t, c)
	}
	for _, e := range shaped {
		b.shape(t, e, link.Shape{})
	}
	io.WriteString(far, "to one who has left")
	io.WriteString(far2, "to one who has left")
	closed(t, far)
	closed(t, far2)
}

func resetShare(t *testing.T, b *bench) {
	const share, n = 0.3, 60
	e := b.edge(0, 1)
	var nears, fars []net.Conn
	for range n {
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		nears, fars = append(nears, near), append(fars, far)
	}
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Reset: share})
	var broken int64
	for i := range nears {
		if _, err := io.WriteString(nears[i], message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(fars[i], make([]byte, len(message))); err != nil {
			broken++
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) {
				t.Errorf("read %v, want a reset connection", err)
			}
			wasReset(t, nears[i])
		}
	}
	binomial(t, "resets", broken, n, share)
	if got := b.Link.Counters(e).Resets - before.Resets; got != broken {
		t.Errorf("%d connections are broken, but %d resets counted", broken, got)
	}

	b.shape(t, e, link.Shape{Reset: 1})
	if _, _, err := b.knock(t, b.Nodes[0], b.Nodes[1]); err != nil {
		t.Logf("a dial that is chosen: %v", err)
	}
	b.shape(t, e, link.Shape{})
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "who listens still does")
}

// corruptVisible counts the bits that arrive wrong in a stream: one a unit.
func corruptVisible(t *testing.T, b *bench) {
	const share, n = 0.3, 300
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{CorruptVisible: share})
	var wrong int64
	got := make([]byte, len(message))
	for range n {
		if _, err := io.WriteString(near, message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(far, got); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			wrong += int64(bits.OnesCount8(got[i] ^ message[i]))
		}
	}
	c := b.Link.Counters(e)
	if counted := c.Corrupted - before.Corrupted; counted != wrong {
		t.Errorf("%d bits are wrong, but %d units counted as corrupted", wrong, counted)
	}
	binomial(t, "corrupted units", wrong, n, share)
	b.shape(t, e, link.Shape{})
	Send(t, near, far, "as it was sent")
}
