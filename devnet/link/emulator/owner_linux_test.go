package emulator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// TestOwnerKilled: with the owner go its devices, its namespaces and the processes
// in them.
func TestOwnerKilled(t *testing.T) {
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	cmd := again("owner")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var o owned
	if err := json.NewDecoder(out).Decode(&o); err != nil {
		t.Fatal(err)
	}
	if len(o.Spaces) != 3 || len(slices.Compact(slices.Sorted(slices.Values(o.Spaces)))) != 3 {
		t.Fatalf("three nodes have the namespaces %q", o.Spaces)
	}
	// A descriptor keeps one namespace, to look into it afterwards.
	kept, err := netns.GetFromPid(o.Children[0])
	if err != nil {
		t.Fatal(err)
	}
	if names := devices(t, kept); !slices.Contains(names, "eth0") {
		t.Fatalf("namespace of a node has the devices %q", names)
	}
	if users := usersOf(o.Spaces); len(users) == 0 {
		t.Fatal("nobody is in the namespaces while they are in use")
	}
	cmd.Process.Kill()
	wait(t, "the namespaces to be empty", func() bool { return len(usersOf(o.Spaces)) == 0 })
	for _, pid := range o.Children {
		wait(t, "a child to end", func() bool {
			return syscall.Kill(pid, 0) != nil || zombie(pid) // the reaper is not ours
		})
	}
	wait(t, "the device to vanish", func() bool { return !slices.Contains(devices(t, kept), "eth0") })
	kept.Close()
}

func devices(t *testing.T, ns netns.NsHandle) []string {
	t.Helper()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
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

// usersOf lists the threads that are in one of the namespaces.
func usersOf(spaces []string) []string {
	var users []string
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, task := range tasks {
		if ns, err := os.Readlink(task); err == nil && slices.Contains(spaces, ns) {
			users = append(users, task)
		}
	}
	return users
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

// TestHostUntouched: nothing appears in the network namespace of the process that
// owns the links. It is one of its own here, so that only this test can change it.
func TestHostUntouched(t *testing.T) {
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	cmd := again("host")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnprivileged runs the same as an ordinary user, where /dev/net/tun is as
// most distributions have it.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: it takes root to become another user, and to give them /dev/net/tun")
	}
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	cmd := again("unprivileged", "MOUNT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if strings.Contains(string(out), "SKIP") {
		t.Skipf("NOT TESTED: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// unprivilegedMain is in a mount namespace of its own, where it opens the device to
// everybody before it becomes nobody.
func unprivilegedMain() int {
	dir := os.Getenv("MOUNT")
	node := filepath.Join(dir, "tun")
	for _, do := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755") },
		func() error { return unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 200))) },
		func() error { return os.Chmod(node, 0o666) },
		func() error { return unix.Mount(node, "/dev/net/tun", "", unix.MS_BIND, "") },
	} {
		if err := do(); err != nil {
			fmt.Println("SKIP:", err)
			return 1
		}
	}
	cmd := again("nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	os.Stdout.Write(out)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func hostMain() int {
	snapshot := func() string {
		var b strings.Builder
		add := func(what any, err error) { fmt.Fprintf(&b, "%v %v\n", what, err) }
		links, err := netlink.LinkList()
		for _, l := range links {
			fmt.Fprintln(&b, l.Type(), l.Attrs().Name, l.Attrs().Flags)
		}
		add(len(links), err)
		add(netlink.AddrList(nil, netlink.FAMILY_ALL))
		add(netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE))
		add(netlink.RuleList(netlink.FAMILY_ALL))
		add(netlink.NeighList(0, netlink.FAMILY_ALL))
		for _, sysctl := range []string{"ipv4/tcp_rto_max_ms", "ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"} {
			value, err := os.ReadFile("/proc/sys/net/" + sysctl)
			add(string(value), err)
		}
		return b.String()
	}
	before := snapshot()
	e, err := emulator.New(emulator.Options{Nodes: []string{"a", "b", "c"}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := startNode(e, "a"); err != nil {
		fmt.Println(err)
		return 1
	}
	e.Cut(link.Edge{From: "a", To: "b"})
	e.Shape(link.Edge{From: "b", To: "a"}, link.Shape{Loss: 0.5, Delay: time.Second})
	during := snapshot()
	if err := e.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	if after := snapshot(); during != before || after != before {
		fmt.Printf("before:\n%s\nduring:\n%s\nafter:\n%s", before, during, after)
		return 1
	}
	return 0
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
		if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 || isTimeout(err) {
			t.Errorf("read %d, %v where nobody listens, want a closed connection", n, err)
		}
		c.Close()
	}
	cmd, err := startNode(e, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for range 3 {
		c := dialHost(t, at)
		send(t, c, c, "hello")
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
	send(t, idle[49], idle[49], "all are connected")
	go io.WriteString(big, strings.Repeat("0123456789abcdef", 1<<16))
	if n, err := io.CopyN(io.Discard, big, 16<<16); err != nil {
		t.Errorf("%d bytes came back, %v", n, err)
	}
	cmd.Process.Kill()
	for _, c := range idle {
		if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 || isTimeout(err) {
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
		cmd, err := startNode(e, "b")
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Dial(t.Context(), "a", e.Addr("b").String()+":4000")
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(bound))
		send(t, c, c, "hello")
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("read %v from a process that was killed", err)
		}
		c.Close()
	}
	near, far := join(t, e, "a", "c")
	send(t, near, far, "others go on")
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
