package emulator_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// bound is long beyond doubt: no test passes or fails on how fast things are.
const bound = time.Minute

func open(t testing.TB, nodes ...string) *emulator.Emulator {
	t.Helper()
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	e, err := emulator.New(emulator.Options{Nodes: nodes, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func listen(t testing.TB, e *emulator.Emulator, node string) net.Listener {
	t.Helper()
	ln, err := e.Listen(node, e.Addr(node).String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// join returns both ends of a connection from one node to another.
func join(t testing.TB, e *emulator.Emulator, from, to string) (near, far net.Conn) {
	t.Helper()
	ln := listen(t, e, to)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	near, err := e.Dial(ctx, from, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	for _, c := range []net.Conn{near, far} {
		c.SetDeadline(time.Now().Add(bound))
	}
	return near, far
}

func edge(from, to string) link.Edge { return link.Edge{From: from, To: to} }

func shape(t testing.TB, e *emulator.Emulator, ed link.Edge, s link.Shape) {
	t.Helper()
	if err := e.Shape(ed, s); err != nil {
		t.Fatal(err)
	}
	if e.Shaped(ed) != s {
		t.Fatalf("%s has the shape %+v, want %+v", ed, e.Shaped(ed), s)
	}
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
		e := open(t, bed.Nodes...)
		for _, n := range bed.Nodes {
			bed.Listeners[n] = listen(t, e, n)
		}
		bed.Link, bed.Resumes = e, true
		bed.Dial = func(ctx context.Context, from, to string) (net.Conn, error) {
			return e.Dial(ctx, from, bed.Listeners[to].Addr().String())
		}
		bed.Packets = func(_ context.Context, from, to string) (net.Conn, net.PacketConn, error) {
			return packets(e, from, to)
		}
		return bed
	})
}

// packets joins one node to another by datagrams.
func packets(e *emulator.Emulator, from, to string) (net.Conn, net.PacketConn, error) {
	in, err := e.ListenPacket(to, e.Addr(to).String()+":0")
	if err != nil {
		return nil, nil, err
	}
	out, err := e.ListenPacket(from, e.Addr(from).String()+":0")
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

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		opts emulator.Options
	}{
		{"no nodes", emulator.Options{}},
		{"a node twice", emulator.Options{Nodes: []string{"a", "b", "a"}}},
		{"too many nodes", emulator.Options{Nodes: slices.Repeat([]string{"a"}, 251)}},
	} {
		nothingLeft(t)
		if e, err := emulator.New(test.opts); err == nil {
			e.Close()
			t.Errorf("%s: no error", test.name)
		}
	}
}

// send writes msg and reads it at the other end.
func send(t testing.TB, from, to net.Conn, msg string) {
	t.Helper()
	if _, err := io.WriteString(from, msg); err != nil {
		t.Fatalf("write: %v", err)
	}
	got := make([]byte, len(msg))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != msg {
		t.Fatalf("read %q, %v, want %q", got, err, msg)
	}
}
