package kernel_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// guests are two nodes in namespaces that other links made, of which the first
// runs a process that echoes.
func guests(t *testing.T) (e *emulator.Emulator, node *exec.Cmd) {
	t.Helper()
	probe(t)
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	e, err := emulator.New(emulator.Options{Nodes: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := again("node")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = e.Start("a", cmd)
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, cmd
}

func attach(pid int) (*kernel.Guest, error) {
	id, err := devnet.Lookup(pid)
	if err != nil {
		return nil, err
	}
	return kernel.Attach(id)
}

func dial(t *testing.T, e *emulator.Emulator) net.Conn {
	t.Helper()
	c, err := e.Dial(t.Context(), "b", e.Addr("a").String()+":4000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(bound))
	return c
}

// echoed reports whether a message comes back soon.
func echoed(t *testing.T, c net.Conn, soon time.Duration) bool {
	t.Helper()
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	return comes(t, c, soon)
}

func comes(t *testing.T, c net.Conn, soon time.Duration) bool {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(soon))
	_, err := io.ReadFull(c, make([]byte, len("hello")))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAttach(t *testing.T) {
	linktest.NothingLeft(t)
	e, node := guests(t)
	g, err := attach(node.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := attach(node.Process.Pid); err == nil || !strings.Contains(err.Error(), "another jepgo") {
		t.Errorf("attached twice: %v", err)
	}
	peer := e.Addr("b")
	set := func(rules ...kernel.Rule) {
		t.Helper()
		if err := g.Set(rules); err != nil {
			t.Fatal(err)
		}
	}
	const blink = 50 * time.Millisecond
	c := dial(t, e)
	for _, in := range []bool{true, false} {
		set(kernel.Rule{In: in, Peer: peer, Local: 4000, Share: 1})
		if echoed(t, c, blink) {
			t.Errorf("in %v: echoed through a cut", in)
		}
		if took := g.Taken(); len(took) != 1 || took[0].Packets == 0 || took[0].Bytes < took[0].Packets*40 {
			t.Errorf("in %v: the rule took %+v", in, took)
		}
		set()
		if !comes(t, c, bound) {
			t.Errorf("in %v: not echoed after the heal", in)
		}
	}
	// What is about others takes nothing.
	port := uint16(c.LocalAddr().(*net.TCPAddr).Port)
	set(kernel.Rule{In: true, Peer: e.Addr("a"), Share: 1}, kernel.Rule{In: true, Peer: peer, Port: port ^ 1, Share: 1},
		kernel.Rule{Peer: peer, Local: 4001, Share: 1}, kernel.Rule{Peer: netip.MustParseAddr("fd00::1"), Share: 1})
	if !echoed(t, c, bound) {
		t.Error("not echoed under rules about others")
	}
	for i, took := range g.Taken() {
		if took.Packets > 0 {
			t.Errorf("rule %d about others took %+v", i, took)
		}
	}
	set(kernel.Rule{In: true, Peer: peer, Port: port, Share: 1, Reset: true})
	io.WriteString(c, "hello")
	c.SetReadDeadline(time.Now().Add(bound))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %v, want a reset connection", err)
	}
	set(kernel.Rule{In: true, Peer: peer, Local: 4000, Share: 1, Reset: true})
	if _, err := e.Dial(t.Context(), "b", e.Addr("a").String()+":4000"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial %v, want it refused", err)
	}
	for _, bad := range []kernel.Rule{{Share: 1}, {Peer: peer}, {Peer: peer, Share: 1.5}} {
		if err := g.Set([]kernel.Rule{bad}); err == nil {
			t.Errorf("rule %+v: no error", bad)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if took := g.Taken(); len(took) != 1 || took[0].Packets == 0 {
		t.Errorf("after Close the rules took %+v", took)
	}
	if !echoed(t, dial(t, e), bound) {
		t.Error("not echoed after Close")
	}
	if err := g.Set(nil); err == nil {
		t.Error("set after Close: no error")
	}
}

func TestAttachRefuses(t *testing.T) {
	linktest.NothingLeft(t)
	if _, err := attach(os.Getpid()); err == nil || !strings.Contains(err.Error(), "ours") {
		t.Errorf("attached to ourselves: %v", err)
	}
	cmd := again("node")
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if err := cmd.Start(); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := kernel.Attach(id); err == nil {
		t.Error("attached to a process that is gone")
	}
}

// TestAttacherKilled: rules in the namespace of others vanish with who made them.
func TestAttacherKilled(t *testing.T) {
	e, node := guests(t)
	c := dial(t, e)
	owner := again("attacher", "TARGET="+strconv.Itoa(node.Process.Pid), "PEER="+e.Addr("b").String())
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	defer owner.Wait()
	defer owner.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "attached\n" {
		t.Fatalf("said %q, %v", line, err)
	}
	if echoed(t, c, 50*time.Millisecond) {
		t.Error("echoed through a cut")
	}
	owner.Process.Kill()
	if !comes(t, c, bound) {
		t.Error("not echoed after the owner was killed")
	}
	wait(t, "the rules to be gone", func() bool {
		g, err := attach(node.Process.Pid)
		return err == nil && g.Close() == nil
	})
}

func attacherMain() {
	pid, _ := strconv.Atoi(os.Getenv("TARGET"))
	g, err := attach(pid)
	if err == nil {
		err = g.Set([]kernel.Rule{{In: true, Peer: netip.MustParseAddr(os.Getenv("PEER")), Share: 1}})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("attached")
	time.Sleep(time.Hour) // until it is killed
}
