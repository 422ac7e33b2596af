package kernel_test

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// bound is long beyond doubt: no test passes or fails on how fast things are.
const bound = time.Minute

func open(t testing.TB, nodes ...string) *kernel.Links {
	t.Helper()
	probe(t)
	l, err := kernel.New(kernel.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func probe(t testing.TB) {
	t.Helper()
	if err := kernel.Probe(); err != nil {
		t.Skipf("THE KERNEL OF THIS MACHINE CANNOT MAKE LINKS, so nothing was tested: %v", err)
	}
}

func listen(t testing.TB, l *kernel.Links, node string) net.Listener {
	t.Helper()
	ln, err := l.Listen(node, l.Addr(node).String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t *testing.T) linktest.Bed {
		nothingLeft(t)
		bed := linktest.Bed{Nodes: []string{"n1", "n2", "n3"}, Listeners: make(map[string]net.Listener)}
		l := open(t, bed.Nodes...)
		for _, n := range bed.Nodes {
			bed.Listeners[n] = listen(t, l, n)
		}
		bed.Link, bed.Resumes = l, true
		bed.Dial = func(ctx context.Context, from, to string) (net.Conn, error) {
			return l.Dial(ctx, from, bed.Listeners[to].Addr().String())
		}
		bed.Packets = func(_ context.Context, from, to string) (net.Conn, net.PacketConn, error) {
			return packets(l, from, to)
		}
		return bed
	})
}

// packets joins one node to another by datagrams.
func packets(l *kernel.Links, from, to string) (net.Conn, net.PacketConn, error) {
	in, err := l.ListenPacket(to, l.Addr(to).String()+":0")
	if err != nil {
		return nil, nil, err
	}
	out, err := l.ListenPacket(from, l.Addr(from).String()+":0")
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	in.SetDeadline(time.Now().Add(bound))
	// A busy machine lets the receiver wait, and its buffer must not lose anything.
	if raw, err := in.(*net.UDPConn).SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) })
	}
	return aimed{out.(*net.UDPConn), in.LocalAddr()}, in, nil
}

// aimed is a socket of datagrams with one receiver.
type aimed struct {
	*net.UDPConn
	to net.Addr
}

func (a aimed) Write(b []byte) (int, error) { return a.WriteTo(b, a.to) }

// nothingLeft checks, after every other clean-up of the test, that neither a
// goroutine, nor a descriptor, nor a thread in another namespace is left.
func nothingLeft(t *testing.T) {
	// The runtime's own are made at the first use.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	t.Cleanup(func() {
		for end := time.Now().Add(bound); ; time.Sleep(time.Millisecond) {
			g, f, strange := runtime.NumGoroutine(), openFiles(t), strangers(t)
			if g <= goroutines && len(f) <= len(files) && len(strange) == 0 {
				return
			}
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("left: %d goroutines of %d, files %q of %q, threads %q\n%s",
					g, goroutines, f, files, strange, buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

func openFiles(t *testing.T) []string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "pipe:") { // splice keeps some
			files = append(files, to)
		}
	}
	return files
}

// strangers lists the threads that are not in the main one's network namespace.
func strangers(t *testing.T) []string {
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var strange []string
	for _, task := range tasks {
		if ns, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net"); err == nil && ns != home {
			strange = append(strange, task.Name()+" in "+ns)
		}
	}
	return strange
}

// TestCounters holds the counters to what went over an edge, byte by byte, with the
// headers of all lengths that TCP makes.
func TestCounters(t *testing.T) {
	nothingLeft(t)
	l := open(t, "a", "b")
	there := link.Edge{From: "a", To: "b"}
	out, in, err := packets(l, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	for range 10 {
		if _, err := out.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "ten datagrams", func() bool { return l.Counters(there).Units == 10 })
	if c, want := l.Counters(there), (link.Counters{Units: 10, Bytes: 1000}); c != want {
		t.Errorf("counted %+v, want %+v", c, want)
	}
	ln := listen(t, l, "b")
	near, err := l.Dial(t.Context(), "a", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	const size = 1 << 20
	go near.Write(make([]byte, size))
	far.SetDeadline(time.Now().Add(bound))
	for got := 0; got < size; {
		n, err := far.Read(make([]byte, 64<<10))
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	c := l.Counters(there)
	if c.Bytes < 1000+size || c.Bytes > 1000+size+size/10 || c.Connections != 1 { // what is sent twice counts twice
		t.Errorf("counted %+v, want %d bytes", c, 1000+size)
	}
	if least := int64(10 + size/1500); c.Units < least {
		t.Errorf("%d bytes went in %d units, want at least %d: a packet each", size, c.Units, least)
	}
	t.Logf("%+v", c)
	l.Close()
	if after := l.Counters(there); after.Bytes < c.Bytes {
		t.Errorf("after Close the counters are %+v", after)
	}
}
