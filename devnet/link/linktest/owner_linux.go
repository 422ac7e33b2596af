package linktest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// roleEnv says what a process that Again started is to be.
const roleEnv = "LINK_TEST_ROLE"

// Main is TestMain for links between namespaces. The test binary is also what the
// tests start: roles are what else it can be. begin makes links with faults of all
// kinds in force.
func Main(m *testing.M, begin func(nodes ...string) (Spaces, error), roles map[string]func() error) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	all := map[string]func() error{
		"node":  beNode,
		"owner": func() error { return beOwner(begin) },
		"host":  func() error { return beHost(begin) },
	}
	maps.Copy(all, roles)
	if err := all[role](); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Role is the environment variable that gives a process of the test binary a role.
func Role(role string) string { return roleEnv + "=" + role }

// Again makes a command of the test binary in another role, which dies with this
// process.
func Again(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(append(os.Environ(), env...), Role(role))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// beNode echoes what it is sent at port 4000 of all addresses.
func beNode() error {
	ln, err := net.Listen("tcp4", ":4000")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for { // until it is killed
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}

// StartNode runs an echo server inside a node, at port 4000.
func StartNode(s Spaces, node string) (*exec.Cmd, error) {
	cmd := Again("node")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.Start(node, cmd); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("node %s said %q, %v", node, line, err)
	}
	return cmd, nil
}

// beOwner owns links with a process in each node, whose pids it tells, to be
// killed.
func beOwner(begin func(nodes ...string) (Spaces, error)) error {
	nodes := []string{"a", "b", "c"}
	s, err := begin(nodes...)
	if err != nil {
		return err
	}
	var pids []int
	for _, n := range nodes {
		cmd, err := StartNode(s, n)
		if err != nil {
			return err
		}
		pids = append(pids, cmd.Process.Pid)
	}
	if err := json.NewEncoder(os.Stdout).Encode(pids); err != nil {
		return err
	}
	time.Sleep(time.Hour)
	return errors.New("nobody killed the owner")
}

// Space is a node's namespace, kept to look into it when its owner is gone.
type Space struct {
	netns.NsHandle
	name string
	node devnet.Identity // the process in it
}

// Owner starts a process that owns links with faults in force, of three nodes with
// a process in each.
func Owner(t *testing.T) (*os.Process, []Space) {
	t.Helper()
	cmd := Again("owner")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var pids []int
	if err := json.NewDecoder(out).Decode(&pids); err != nil {
		t.Fatal(err)
	}
	var spaces []Space
	names := make(map[string]bool)
	for _, pid := range pids {
		node, err := devnet.Lookup(pid)
		if err != nil {
			t.Fatal(err)
		}
		ns, err := netns.GetFromPid(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
		spaces = append(spaces, Space{ns, name, node})
	}
	if len(names) != 3 {
		t.Fatalf("three nodes have the namespaces %v", spaces)
	}
	if len(usersOf(spaces)) == 0 {
		t.Fatal("nobody is in the namespaces while they are in use")
	}
	return cmd.Process, spaces
}

// AwaitDeserted waits until the processes in the namespaces have ended and nobody
// is in them.
func AwaitDeserted(t *testing.T, spaces []Space) {
	t.Helper()
	for _, s := range spaces {
		Await(t, "a child to end", func() bool { return !devnet.Alive(s.node) })
	}
	Await(t, "the namespaces to be empty", func() bool { return len(usersOf(spaces)) == 0 })
}

// usersOf lists the threads that are in one of the namespaces.
func usersOf(spaces []Space) []string {
	var users []string
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, task := range tasks {
		ns, err := os.Readlink(task)
		if err == nil && slices.ContainsFunc(spaces, func(s Space) bool { return s.name == ns }) {
			users = append(users, task)
		}
	}
	return users
}

// HostUntouched checks that nothing appears in the network namespace of the process
// that owns the links. It is one of its own here, so that only this test can change
// it.
func HostUntouched(t *testing.T) {
	t.Helper()
	cmd := Again("host")
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func beHost(begin func(nodes ...string) (Spaces, error)) error {
	before := snapshot()
	s, err := begin("a", "b", "c")
	if err != nil {
		return err
	}
	if _, err := StartNode(s, "a"); err != nil {
		return err
	}
	during := snapshot()
	if err := s.Close(); err != nil {
		return err
	}
	if after := snapshot(); during != before || after != before {
		return fmt.Errorf("before:\n%s\nduring:\n%s\nafter:\n%s", before, during, after)
	}
	return nil
}

// snapshot describes the network namespace of the process.
func snapshot() string {
	var b strings.Builder
	add := func(what any, err error) { fmt.Fprintf(&b, "%v %v\n", what, err) }
	links, err := netlink.LinkList()
	for _, l := range links {
		fmt.Fprintln(&b, l.Type(), l.Attrs().Name, l.Attrs().Flags)
		add(netlink.QdiscList(l))
	}
	add(len(links), err)
	add(netlink.AddrList(nil, netlink.FAMILY_ALL))
	add(netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE))
	add(netlink.RuleList(netlink.FAMILY_ALL))
	add(netlink.NeighList(0, netlink.FAMILY_ALL))
	tables, err := new(nftables.Conn).ListTables()
	add(len(tables), err)
	for _, sysctl := range []string{"ipv4/tcp_rto_max_ms", "ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"} {
		value, err := os.ReadFile("/proc/sys/net/" + sysctl)
		add(string(value), err)
	}
	return b.String()
}
