package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// TestOwnerKilled: with the owner go its rules, rates, devices, namespaces and the
// processes in them, whatever was in force.
func TestOwnerKilled(t *testing.T) {
	probe(t)
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
	var pids []int
	if err := json.NewDecoder(out).Decode(&pids); err != nil {
		t.Fatal(err)
	}
	// Descriptors keep the namespaces, to look into them afterwards.
	var kept []netns.NsHandle
	var spaces []string
	for _, pid := range pids {
		ns, err := netns.GetFromPid(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer ns.Close()
		kept = append(kept, ns)
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, name)
		if got := inspect(t, ns); !slices.Equal(got, []string{"device eth0 htb", "device lo noqueue", "table jepgo"}) {
			t.Fatalf("a node's namespace holds %q", got)
		}
		if err := deleteTable(ns); err == nil {
			t.Error("somebody else deleted the owner's table")
		}
	}
	cmd.Process.Kill()
	for _, ns := range kept {
		wait(t, "rules and devices to vanish", func() bool {
			return slices.Equal(inspect(t, ns), []string{"device lo noqueue"})
		})
	}
	for _, pid := range pids {
		wait(t, "a child to end", func() bool {
			return syscall.Kill(pid, 0) != nil || zombie(pid) // the reaper is not ours
		})
	}
	wait(t, "the namespaces to be empty", func() bool { return len(usersOf(spaces)) == 0 })
}

// inspect lists what a namespace holds.
func inspect(t *testing.T, ns netns.NsHandle) []string {
	t.Helper()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var all []string
	links, err := h.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		qdiscs, err := h.QdiscList(l)
		if err != nil || len(qdiscs) == 0 {
			continue // it went meanwhile
		}
		all = append(all, fmt.Sprintf("device %s %s", l.Attrs().Name, qdiscs[0].Type()))
	}
	conn, err := nftables.New(nftables.WithNetNSFd(int(ns)))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := conn.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, tb := range tables {
		all = append(all, "table "+tb.Name)
	}
	slices.Sort(all)
	return all
}

func deleteTable(ns netns.NsHandle) error {
	conn, err := nftables.New(nftables.WithNetNSFd(int(ns)))
	if err != nil {
		return err
	}
	conn.DelTable(&nftables.Table{Name: "jepgo", Family: nftables.TableFamilyINet})
	return conn.Flush()
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

// TestCloseLeavesNothing: a process that outlives the links is alone in its
// namespace, without a rule.
func TestCloseLeavesNothing(t *testing.T) {
	linktest.NothingLeft(t)
	l := open(t, "a", "b")
	cmd, err := startNode(l, "a")
	if err != nil {
		t.Fatal(err)
	}
	ns, err := netns.GetFromPid(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := breakAll(l); err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Edges() {
		if err := l.Shape(e, link.Shape{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := inspect(t, ns); !slices.Equal(got, []string{"device eth0 noqueue", "device lo noqueue", "table jepgo"}) {
		t.Errorf("without a rate the namespace holds %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, ns); !slices.Equal(got, []string{"device lo noqueue"}) {
		t.Errorf("after Close the namespace holds %q", got)
	}
	cmd.Wait() // Close killed it
}

// TestHostUntouched: nothing appears in the network namespace of the process that
// owns the links. It is one of its own here, so that only this test can change it.
func TestHostUntouched(t *testing.T) {
	probe(t)
	cmd := again("host")
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func hostMain() int {
	snapshot := func() string {
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
	before := snapshot()
	l, err := kernel.New(kernel.Options{Nodes: []string{"a", "b", "c"}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := startNode(l, "a"); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := breakAll(l); err != nil {
		fmt.Println(err)
		return 1
	}
	during := snapshot()
	if err := l.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	if after := snapshot(); during != before || after != before {
		fmt.Printf("before:\n%s\nduring:\n%s\nafter:\n%s", before, during, after)
		return 1
	}
	return 0
}
