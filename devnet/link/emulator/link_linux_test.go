package emulator_test

import (
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// roundTrips measures datagrams that go there and back, one by one.
func roundTrips(t testing.TB, out net.Conn, in net.PacketConn, n int) []time.Duration {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64)
		for range n {
			size, from, err := in.ReadFrom(buf)
			if err != nil {
				return
			}
			in.WriteTo(buf[:size], from)
		}
	}()
	defer func() { <-done }()
	ds := make([]time.Duration, n)
	buf := make([]byte, 64)
	for i := range ds {
		start := time.Now()
		if _, err := out.Write(buf[:8]); err != nil {
			t.Fatal(err)
		}
		out.SetReadDeadline(start.Add(bound))
		if _, err := out.Read(buf); err != nil {
			t.Fatal(err)
		}
		ds[i] = time.Since(start)
	}
	return ds
}

func mean(ds []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range ds {
		sum += d
	}
	return sum / time.Duration(len(ds))
}

// TestRoundTrip: what one direction is asked to delay, and no more, is added.
func TestRoundTrip(t *testing.T) {
	e := open(t, "a", "b")
	out, in, err := linktest.Packets(e, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	bare := roundTrips(t, out, in, 200)
	t.Logf("no shape: mean %v, median %v", mean(bare), slices.Sorted(slices.Values(bare))[100])
	for _, test := range []struct {
		there, back link.Shape
		least       time.Duration
		n           int
	}{
		{link.Shape{Delay: time.Millisecond}, link.Shape{}, time.Millisecond, 100},
		{link.Shape{Delay: 50 * time.Millisecond}, link.Shape{}, 50 * time.Millisecond, 20},
		{link.Shape{}, link.Shape{Delay: 50 * time.Millisecond}, 50 * time.Millisecond, 20},
		{link.Shape{Delay: 30 * time.Millisecond}, link.Shape{Delay: 20 * time.Millisecond}, 50 * time.Millisecond, 20},
	} {
		shape(t, e, edge("a", "b"), test.there)
		shape(t, e, edge("b", "a"), test.back)
		ds := roundTrips(t, out, in, test.n)
		if got := slices.Min(ds); got < test.least {
			t.Errorf("%v there and %v back took only %v", test.there.Delay, test.back.Delay, got)
		}
		if got := slices.Sorted(slices.Values(ds))[len(ds)/2]; got > test.least+20*time.Millisecond {
			t.Errorf("%v there and %v back took %v in the median", test.there.Delay, test.back.Delay, got)
		}
		t.Logf("%v there, %v back: mean %v, max %v, latest by %v and %v", test.there.Delay, test.back.Delay,
			mean(ds), slices.Max(ds), e.Counters(edge("a", "b")).Late, e.Counters(edge("b", "a")).Late)
	}
}

// TestSameSeedSameFate: numbered datagrams meet the same fate in two emulators of
// one seed, another edge or seed gives another, and a further fault changes
// nothing of the first.
func TestSameSeedSameFate(t *testing.T) {
	const n = 400
	fate := func(from, to string, s link.Shape) []byte {
		e := open(t, "a", "b")
		defer e.Close()
		out, in, err := linktest.Packets(e, from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		defer in.Close()
		shape(t, e, edge(from, to), s)
		arrived := make([]byte, n)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			buf := make([]byte, 64)
			for {
				size, _, err := in.ReadFrom(buf)
				if err != nil || size == 1 {
					return
				}
				arrived[int(buf[0])<<8|int(buf[1])]++
			}
		}()
		for i := range n {
			if _, err := out.Write([]byte{byte(i >> 8), byte(i)}); err != nil {
				t.Fatal(err)
			}
			if i%8 == 7 {
				time.Sleep(time.Millisecond)
			}
		}
		linktest.Await(t, "all frames to meet their fate", func() bool { return e.Counters(edge(from, to)).Units >= n })
		shape(t, e, edge(from, to), link.Shape{})
		out.Write([]byte{0})
		<-ended
		for i := range arrived {
			arrived[i] = min(arrived[i], 1)
		}
		return arrived
	}
	first := fate("a", "b", link.Shape{Loss: 0.3})
	if again := fate("a", "b", link.Shape{Loss: 0.3}); !slices.Equal(first, again) {
		t.Error("the same seed lost other datagrams")
	}
	if more := fate("a", "b", link.Shape{Loss: 0.3, Duplicate: 0.2, Delay: time.Millisecond}); !slices.Equal(first, more) {
		t.Error("duplication and delay changed what was lost")
	}
	if other := fate("b", "a", link.Shape{Loss: 0.3}); slices.Equal(first, other) {
		t.Error("another edge lost the same datagrams")
	}
}

// TestUnshapedIsUntouched: a stream over an edge without shape is whole and counted,
// while the edges around it are cut and shaped.
func TestUnshapedIsUntouched(t *testing.T) {
	e := open(t, "a", "b", "c")
	near, far := join(t, e, "a", "b")
	if err := e.Cut(edge("a", "c")); err != nil {
		t.Fatal(err)
	}
	shape(t, e, edge("c", "a"), link.Shape{Delay: time.Hour})
	shape(t, e, edge("b", "c"), link.Shape{Loss: 1})
	const size = 8 << 20
	go func() {
		near.Write(make([]byte, size))
		near.(*net.TCPConn).CloseWrite()
	}()
	if n, err := io.Copy(io.Discard, far); n != size || err != nil {
		t.Errorf("received %d, %v", n, err)
	}
	// The last frame may be read before it is counted.
	linktest.Await(t, "all bytes to be counted", func() bool { return e.Counters(edge("a", "b")).Bytes >= size })
	if c := e.Counters(edge("a", "b")); c.Dropped+c.Lost+c.Overflow > 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestMany sets up many nodes and measures what they cost when nothing happens.
func TestMany(t *testing.T) {
	linktest.NothingLeft(t)
	var names []string
	for i := range 20 {
		names = append(names, string(rune('a'+i)))
	}
	start := time.Now()
	e := open(t, names...)
	took := time.Since(start)
	near, far := join(t, e, "a", "t")
	linktest.Send(t, near, far, "hello")
	if err := e.Shape(edge("a", "b"), link.Shape{Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	const idle = 2 * time.Second
	before := cpuTime(t)
	time.Sleep(idle) // the measurement itself
	used := cpuTime(t) - before
	t.Logf("20 nodes: set up in %v, idle %.2f %% of a core", took, 100*used.Seconds()/idle.Seconds())
	if used > idle/10 {
		t.Errorf("20 idle nodes used %v of CPU time in %v", used, idle)
	}
	start = time.Now()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed in %v", time.Since(start))
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkStream(b *testing.B, s link.Shape) {
	e := open(b, "a", "b")
	near, far := join(b, e, "a", "b")
	near.SetDeadline(time.Time{})
	far.SetDeadline(time.Time{})
	if err := e.Shape(edge("a", "b"), s); err != nil {
		b.Fatal(err)
	}
	linktest.BenchmarkStream(b, near, far)
}

func BenchmarkStream(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkStream(b, link.Shape{}) })
	b.Run("delay", func(b *testing.B) { benchmarkStream(b, link.Shape{Delay: time.Millisecond}) })
	b.Run("duplicate", func(b *testing.B) { benchmarkStream(b, link.Shape{Duplicate: 0.001}) })
	b.Run("loopback", func(b *testing.B) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer ln.Close()
		near, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer near.Close()
		far, err := ln.Accept()
		if err != nil {
			b.Fatal(err)
		}
		defer far.Close()
		linktest.BenchmarkStream(b, near, far)
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	e := open(b, "a", "b")
	out, in, err := linktest.Packets(e, "a", "b")
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	in.SetDeadline(time.Time{})
	go func() {
		buf := make([]byte, 64)
		for {
			n, from, err := in.ReadFrom(buf)
			if err != nil {
				return
			}
			in.WriteTo(buf[:n], from)
		}
	}()
	buf := make([]byte, 64)
	for b.Loop() {
		out.Write(buf[:8])
		if _, err := out.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
