package linktest

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
)

// Spaces are links between network namespaces, each node in one of its own.
type Spaces interface {
	link.Link
	Addr(node string) netip.Addr
	Start(node string, cmd *exec.Cmd) error
	Listen(node, addr string) (net.Listener, error)
	ListenPacket(node, addr string) (net.PacketConn, error)
	Dial(ctx context.Context, node, addr string) (net.Conn, error)
	Close() error
}

// SpacesBed is a Bed on links between namespaces; start makes them and ends them
// with the test.
func SpacesBed[S Spaces](t *testing.T, start func(t testing.TB, nodes ...string) S) Bed {
	NothingLeft(t)
	bed := Bed{Nodes: []string{"n1", "n2", "n3"}, Listeners: make(map[string]net.Listener), Resumes: true}
	s := start(t, bed.Nodes...)
	bed.Link = s
	for _, n := range bed.Nodes {
		bed.Listeners[n] = Listen(t, s, n)
	}
	bed.Dial = func(ctx context.Context, from, to string) (net.Conn, error) {
		return s.Dial(ctx, from, bed.Listeners[to].Addr().String())
	}
	bed.Packets = func(_ context.Context, from, to string) (net.Conn, net.PacketConn, error) {
		return Packets(s, from, to)
	}
	return bed
}

// Listen listens for TCP at the node's own address until the test ends.
func Listen(t testing.TB, s Spaces, node string) net.Listener {
	t.Helper()
	ln, err := s.Listen(node, s.Addr(node).String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// Packets joins one node to another by datagrams. The caller closes both.
func Packets(s Spaces, from, to string) (net.Conn, net.PacketConn, error) {
	in, err := s.ListenPacket(to, s.Addr(to).String()+":0")
	if err != nil {
		return nil, nil, err
	}
	out, err := s.ListenPacket(from, s.Addr(from).String()+":0")
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

// NothingLeft checks, after every other clean-up of the test, that neither a
// goroutine, nor a descriptor, nor a thread in another namespace is left.
func NothingLeft(t testing.TB) {
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

func openFiles(t testing.TB) []string {
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
func strangers(t testing.TB) []string {
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
