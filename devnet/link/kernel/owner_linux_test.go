package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// TestOwnerKilled: with the owner go its rules, rates, devices, namespaces and the
// processes in them, whatever was in force.
func TestOwnerKilled(t *testing.T) {
	probe(t)
	owner, spaces := linktest.Owner(t)
	for _, s := range spaces {
		if got := inspect(t, s.NsHandle); !slices.Equal(got, []string{"device eth0 htb", "device lo noqueue", "table jepgo"}) {
			t.Fatalf("a node's namespace holds %q", got)
		}
		if err := deleteTable(s.NsHandle); err == nil {
			t.Error("somebody else deleted the owner's table")
		}
	}
	owner.Kill()
	for _, s := range spaces {
		linktest.Await(t, "rules and devices to vanish", func() bool {
			return slices.Equal(inspect(t, s.NsHandle), []string{"device lo noqueue"})
		})
	}
	linktest.AwaitDeserted(t, spaces)
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

// TestCloseLeavesNothing: a process that outlives the links is alone in its
// namespace, without a rule.
func TestCloseLeavesNothing(t *testing.T) {
	linktest.NothingLeft(t)
	l := open(t, "a", "b")
	cmd, err := linktest.StartNode(l, "a")
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

// TestHostUntouched: nothing appears in the network namespace of the owner.
func TestHostUntouched(t *testing.T) {
	probe(t)
	linktest.HostUntouched(t)
}
