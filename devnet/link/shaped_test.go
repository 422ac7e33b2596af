package link_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

var forth, back = link.Edge{From: "a", To: "b"}, link.Edge{From: "b", To: "a"}

// pairOver returns both ends of a connection from a to b.
func pairOver(t *testing.T, p *link.Proxy, ln net.Listener) (near, far net.Conn) {
	t.Helper()
	near, err := net.Dial("tcp", p.Addr(forth, protocol))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	for _, c := range []net.Conn{near, far} {
		c.SetDeadline(time.Now().Add(time.Minute))
	}
	// A byte that has come through shows that the proxy has joined the two.
	if _, err := near.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return near, far
}

func shape(t *testing.T, p *link.Proxy, e link.Edge, s link.Shape) {
	t.Helper()
	if err := p.Shape(e, s); err != nil {
		t.Fatal(err)
	}
}

// flips sends one-byte units, each after the last has arrived, and returns what
// came.
func flips(t *testing.T, seed uint64) []byte {
	t.Helper()
	ln := listen(t)
	p, err := link.NewProxy(link.Options{
		Nodes: []string{"a", "b"}, Protocols: []string{protocol}, Seed: seed,
		Target: func(string, string) string { return ln.Addr().String() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	near, far := pairOver(t, p, ln)
	// What went by before the shape, or another feature, does not shift the draws.
	s := link.Shape{CorruptVisible: 0.5}
	if seed == 1 {
		io.WriteString(near, "some bytes")
		io.ReadFull(far, make([]byte, 10))
		s.Slice = 1
	}
	shape(t, p, forth, s)
	got := make([]byte, 64)
	for i := range got {
		if _, err := near.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(far, got[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestSeedRepeats(t *testing.T) {
	one, again, other := flips(t, 1), flips(t, 1), flips(t, 2)
	if !bytes.Equal(one, again) {
		t.Errorf("the same seed gave %x and %x", one, again)
	}
	if bytes.Equal(one, other) {
		t.Errorf("two seeds gave %x", one)
	}
}

// A delay holds many megabytes under way, but not all that a sender has.
func TestHeldIsBounded(t *testing.T) {
	ln := listen(t)
	p := open(t, []string{"a", "b"}, func(string) string { return ln.Addr().String() })
	near, far := pairOver(t, p, ln)
	shape(t, p, forth, link.Shape{Delay: time.Hour})
	const size = 48 << 20
	sent := make([]byte, size)
	for i := range sent {
		sent[i] = byte(i * 7 / 5)
	}
	done := make(chan error, 1)
	go func() {
		_, err := near.Write(sent)
		done <- err
	}()
	units, still := int64(-1), 0
	for still < 10 {
		time.Sleep(10 * time.Millisecond)
		now := p.Counters(forth).Units
		if now != units {
			still = 0
		}
		still++
		units = now
	}
	select {
	case <-done:
		t.Fatalf("%d bytes are held", size)
	default:
	}
	if c := p.Counters(forth); c.Units*32<<10 < 16<<20 || c.Bytes > 1 {
		t.Errorf("held %+v, want 16 MiB", c)
	}
	shape(t, p, forth, link.Shape{})
	got := make([]byte, size)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("the bytes that were held came out of order")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A connection that is reset while the edge is half-open is gone for one end only.
func TestResetLeavesHalfOpen(t *testing.T) {
	for name, s := range map[string]link.Shape{
		"half-open":  {HalfOpen: true},
		"slow close": {SlowClose: time.Hour},
	} {
		ln := listen(t)
		p := open(t, []string{"a", "b"}, func(string) string { return ln.Addr().String() })
		near, far := pairOver(t, p, ln)
		shape(t, p, forth, s)
		for want := 1; want >= 0; want-- {
			if n, err := p.Reset(forth); n != want || err != nil {
				t.Errorf("%s: reset %d, %v, want %d", name, n, err, want)
			}
		}
		if _, err := near.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("%s: read %v at the end that is told, want a broken connection", name, err)
		}
		for range 2 {
			far.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if _, err := far.Read(make([]byte, 1)); !isTimeout(err) {
				t.Errorf("%s: read %v at the end that is not told, want silence", name, err)
			}
			if _, err := io.WriteString(far, "to one who has left"); err != nil {
				t.Errorf("%s: write: %v", name, err)
			}
		}
		if c := p.Counters(forth); c.HeldEnds != 1 || c.Resets != 1 {
			t.Errorf("%s: counted %+v, want one held end", name, c)
		}
		shape(t, p, forth, link.Shape{})
		far.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := far.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("%s: read %v when the shape is gone, want a broken connection", name, err)
		}
	}
}

// Close ends what waits for a time, for a shape to go, and for room.
func TestCloseEndsWhatIsHeld(t *testing.T) {
	noGoroutineLeft(t)
	ln := listen(t)
	p := open(t, []string{"a", "b"}, func(string) string { return ln.Addr().String() })
	shapes := []link.Shape{{Delay: time.Hour}, {HalfOpen: true}, {SlowClose: time.Hour}, {Rate: 1}}
	nears := make([]net.Conn, len(shapes))
	for i := range shapes {
		nears[i], _ = pairOver(t, p, ln)
	}
	for i, s := range shapes {
		near := nears[i]
		shape(t, p, forth, s)
		before := p.Counters(forth).Units
		io.WriteString(near, "held")
		for p.Counters(forth).Units == before {
			time.Sleep(time.Millisecond)
		}
		near.Close()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
