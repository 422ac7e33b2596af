// Package kernel is a link.Link whose links are the kernel's own: each node lives
// in a network namespace, its device eth0 is a veth whose other end is a port of a
// bridge in a namespace for all, and what an edge does to its packets is rules of
// nftables in the receiver's namespace and a TBF on the sender's device. No
// byte passes through this process.
//
// Guarantees: Cut, Heal and Shape are in force when they return. Nothing of it is in
// the host's own network namespace. Namespaces have no names and the tables of rules
// belong to a socket of this process, so that all of it vanishes with this process,
// however it ends, and with the processes in the namespaces.
//
// Bounds: up to 250 nodes. A packet of 1500 bytes costs some 10 µs of a core, as TCP
// hands them over one by one, an idle node nothing. A change of an edge takes about a
// millisecond, and longer while the kernel still has packets under the old rules. Which
// packets are lost is drawn by the kernel: neither seeded nor repeatable.
//
// A rate costs a line "non-work-conserving" in the kernel's log: HTB says so of the
// TBF below it, which does no harm.
//
// It is not for delay, jitter, duplicates, reordering and corruption: of what netem,
// where a kernel has it, held back and for how long there are no counters, so that
// nothing would prove it; the emulator is for those. Nor for IPv6, which is off in
// the namespaces. Nor for nodes that run already: rules in their namespaces would need
// their processes and the addresses that they have for each other, and the URL by
// which such a node is known says neither, a container's least of all.
package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/netns"
)

// Options describe the links that New opens.
type Options struct {
	Nodes []string // names, at least one, all different
	// Subnet is where the nodes have their addresses, node i the i+1st. The zero
	// Prefix is 10.77.0.0/16. It meets no other network: each namespace is closed.
	Subnet netip.Prefix
}

// Links is a Link whose packets the kernel carries.
type Links struct {
	*inside
	*mesh
	names []string
	nodes map[string]*node
	edges []*edge
	hub   *hub

	once     sync.Once // of Close
	closeErr error
}

var _ link.Link = (*Links)(nil)

// inside holds what reaches into the namespaces.
type inside = netns.Inside

// mesh holds the edges.
type mesh = link.Mesh[*edge]

// node is one namespace.
type node struct {
	name  string
	index int
	addr  netip.Addr
	room  *room
}

// New makes the namespaces and joins them, nothing cut. Its errors are those of
// Probe where this machine cannot.
func New(opts Options) (*Links, error) {
	in, err := netns.New(opts.Nodes, opts.Subnet)
	if err != nil {
		return nil, err
	}
	l := &Links{inside: in, names: slices.Clone(opts.Nodes), nodes: make(map[string]*node)}
	for i, name := range l.names {
		l.nodes[name] = &node{name: name, index: i, addr: in.Addr(name)}
	}
	l.mesh = link.NewMesh(l.names, Features, func(at link.Edge) *edge {
		ed := &edge{links: l, from: l.nodes[at.From], to: l.nodes[at.To]}
		l.edges = append(l.edges, ed)
		return ed
	})
	if err := l.start(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// start makes what the kernel holds.
func (l *Links) start() error {
	var err error
	if l.hub, err = newHub(); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	peers, bits := l.Peers()
	for _, name := range l.names {
		n := l.nodes[name]
		if n.room, err = newRoom(l.hub, n.index, peers, bits, l.logged(n)); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		l.Settle(name, n.room.Room)
	}
	for _, name := range l.names {
		if err := l.nodes[name].room.carries(l.hub); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

// Close ends the links and everything that New and Forward opened, and returns
// when all of its goroutines have ended. Processes that Start started, and what
// Dial and Listen returned, are their owners' to end: until then they keep a
// namespace alive, though without a link and without rules. Processes with a
// Pdeathsig get it now. Close is idempotent.
func (l *Links) Close() error {
	l.once.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Links) close() error {
	for _, ed := range l.edges {
		if ed.to.room != nil && ed.from.room != nil {
			ed.Counters() // the last time that they can be read
		}
	}
	l.Shut()
	errs := make([]error, len(l.names))
	var rooms sync.WaitGroup // together: the kernel takes its time for each
	for i, name := range l.names {
		if r := l.nodes[name].room; r != nil {
			rooms.Go(func() { errs[i] = r.close() })
		}
	}
	rooms.Wait()
	l.Wait()
	if l.hub != nil {
		errs = append(errs, l.hub.close())
	}
	return errors.Join(errs...)
}

// logged returns what is to be done with a segment to a node that its rules chose
// for a reset, and dropped: both ends of its connection are broken.
func (l *Links) logged(to *node) func(netns.Connection) {
	from := make(map[netip.Addr]*edge)
	for _, ed := range l.edges {
		if ed.to == to {
			from[ed.from.addr] = ed
		}
	}
	return func(c netns.Connection) {
		ed := from[c.Remote.Addr()]
		if ed == nil {
			return
		}
		ed.mu.Lock()
		defer ed.mu.Unlock()
		// An error is a kernel that cannot, which Probe and Reset tell of.
		far, _ := ed.to.room.DestroyOne(c)
		near, _ := ed.from.room.DestroyOne(netns.Connection{Local: c.Remote, Remote: c.Local})
		if far || near {
			ed.resets++
		}
	}
}

// Features lists what Links can do and what that means in them.
func Features() []link.Support {
	return []link.Support{
		{Feature: link.FeatureCut, Semantics: "every packet is lost, by a rule of nftables where it would be received; TCP sends again after the heal, so connections outlive a cut of some 15 s, and dials in it time out"},
		{Feature: link.FeatureRate, Semantics: "packets leave the sender's device one by one at the rate (TBF), headers counted; a quarter of a second of them (at least 64 KiB) may wait, more are lost"},
		{Feature: link.FeatureLoss, Semantics: "packets are lost independently of each other, drawn by the kernel: neither seeded nor repeatable"},
		{Feature: link.FeatureReset, Semantics: "the packet is lost and its sockets are destroyed in both namespaces, within milliseconds, which read ECONNABORTED or ECONNRESET; drawn by the kernel: neither seeded nor repeatable"},
	}
}
