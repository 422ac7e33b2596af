package emulator_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// TestOwnerKilled: with the owner go its devices, its namespaces and the processes
// in them.
func TestOwnerKilled(t *testing.T) {
	probe(t)
	owner, spaces := linktest.Owner(t)
	if names := devices(t, spaces[0]); !slices.Contains(names, "eth0") {
		t.Fatalf("namespace of a node has the devices %q", names)
	}
	owner.Kill()
	linktest.AwaitDeserted(t, spaces)
	linktest.Await(t, "the device to vanish", func() bool { return !slices.Contains(devices(t, spaces[0]), "eth0") })
}

func devices(t *testing.T, s linktest.Space) []string {
	t.Helper()
	h, err := netlink.NewHandleAt(s.NsHandle, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	links, err := h.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names
}

// TestHostUntouched: nothing appears in the network namespace of the owner.
func TestHostUntouched(t *testing.T) {
	probe(t)
	linktest.HostUntouched(t)
}

// TestUnprivileged runs the same as an ordinary user, where /dev/net/tun is as
// most distributions have it.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: it takes root to become another user, and to give them /dev/net/tun")
	}
	probe(t)
	cmd := linktest.Again("unprivileged", "MOUNT="+t.TempDir())
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
	out, err := cmd.Output()
	if strings.Contains(string(out), "SKIP") {
		t.Skipf("NOT TESTED: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestForward reaches a node's loopback from the host while every link is cut, and
// survives those who come and go.
func TestForward(t *testing.T) {
	linktest.NothingLeft(t)
	e := open(t, "a", "b")
	for _, edge := range e.Edges() {
		if err := e.Cut(edge); err != nil {
			t.Fatal(err)
		}
	}
	at, err := e.Forward("a", "127.0.0.1:0", "127.0.0.1:4000")
	if err != nil {
		t.Fatal(err)
	}
	// Nobody listens yet: the connection ends at once.
	if c, err := net.Dial("tcp", at.String()); err == nil { // or even before it is known to have begun
		c.SetDeadline(time.Now().Add(bound))
		if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 || linktest.IsTimeout(err) {
			t.Errorf("read %d, %v where nobody listens, want a closed connection", n, err)
		}
		c.Close()
	}
	cmd, err := linktest.StartNode(e, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for range 3 {
		c := dialHost(t, at)
		linktest.Send(t, c, c, "hello")
		c.(*net.TCPConn).CloseWrite() // the echo ends with its input
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Errorf("read %q, %v at the end", rest, err)
		}
	}
	var idle []net.Conn
	for range 50 {
		idle = append(idle, dialHost(t, at)) // and say nothing
	}
	big := dialHost(t, at)
	linktest.Send(t, idle[49], idle[49], "all are connected")
	go io.WriteString(big, strings.Repeat("0123456789abcdef", 1<<16))
	if n, err := io.CopyN(io.Discard, big, 16<<16); err != nil {
		t.Errorf("%d bytes came back, %v", n, err)
	}
	cmd.Process.Kill()
	for _, c := range idle {
		if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 || linktest.IsTimeout(err) {
			t.Errorf("read %d, %v from a node that was killed, want a closed connection", n, err)
		}
	}
	for _, bad := range []struct{ node, listen, addr string }{
		{"c", "127.0.0.1:0", "127.0.0.1:1"},
		{"a", "127.0.0.1:0", "localhost:1"},
		{"a", at.String(), "127.0.0.1:1"},
	} {
		if _, err := e.Forward(bad.node, bad.listen, bad.addr); err == nil {
			t.Errorf("forward %+v: no error", bad)
		}
	}
}

func dialHost(t *testing.T, at net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(bound))
	return c
}

func TestDial(t *testing.T) {
	linktest.NothingLeft(t)
	e := open(t, "a", "b")
	if _, err := e.Dial(t.Context(), "a", e.Addr("b").String()+":1"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("dial where nobody listens: %v", err)
	}
	if err := e.Cut(edge("a", "b")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Dial(ctx, "a", e.Addr("b").String()+":1"); err != context.DeadlineExceeded && !strings.Contains(fmt.Sprint(err), "deadline") {
		t.Errorf("dial over a cut edge: %v", err)
	}
	for _, addr := range []string{"", "b:1", "127.0.0.1", "[::1]:1"} {
		if _, err := e.Dial(t.Context(), "a", addr); err == nil {
			t.Errorf("dial %q: no error", addr)
		}
	}
	e.Close()
	if _, err := e.Dial(t.Context(), "a", "127.0.0.1:1"); err == nil {
		t.Error("dial after Close: no error")
	}
}

// TestNodeDies: a process that ends, or takes its device away, breaks its own node
// and nothing else.
func TestNodeDies(t *testing.T) {
	linktest.NothingLeft(t)
	e := open(t, "a", "b", "c")
	for range 2 { // a restart is under the same address
		cmd, err := linktest.StartNode(e, "b")
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Dial(t.Context(), "a", e.Addr("b").String()+":4000")
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(bound))
		linktest.Send(t, c, c, "hello")
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := c.Read(make([]byte, 1)); err == nil || linktest.IsTimeout(err) {
			t.Errorf("read %v from a process that was killed", err)
		}
		c.Close()
	}
	near, far := join(t, e, "a", "c")
	linktest.Send(t, near, far, "others go on")
}
