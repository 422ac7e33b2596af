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
	names []string
	nodes map[string]*node
	order []link.Edge
	edges map[link.Edge]*edge
	hub   *hub

	once     sync.Once // of Close
	closeErr error
}

var _ link.Link = (*Links)(nil)

// inside holds what reaches into the namespaces.
type inside = netns.Inside

// node is one namespace.
type node struct {
	name  string
	index int
	addr  netip.Addr
	room  *room
}

// edge is one direction between two nodes.
type edge struct {
	from, to *node

	mu     sync.Mutex // guards what follows, and changes of the edge
	cut    bool
	shape  link.Shape
	last   link.Counters // as read last
	resets int64
}

// New makes the namespaces and joins them, nothing cut. Its errors are those of
// Probe where this machine cannot.
func New(opts Options) (*Links, error) {
	in, err := netns.New(opts.Nodes, opts.Subnet)
	if err != nil {
		return nil, err
	}
	l := &Links{
		inside: in,
		names:  slices.Clone(opts.Nodes),
		nodes:  make(map[string]*node),
		edges:  make(map[link.Edge]*edge),
	}
	for i, name := range l.names {
		l.nodes[name] = &node{name: name, index: i, addr: in.Addr(name)}
	}
	for _, from := range l.names {
		for _, to := range l.names {
			if from != to {
				e := link.Edge{From: from, To: to}
				l.order = append(l.order, e)
				l.edges[e] = &edge{from: l.nodes[from], to: l.nodes[to]}
			}
		}
	}
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
	for _, e := range l.order {
		if l.edges[e].to.room != nil && l.edges[e].from.room != nil {
			l.Counters(e) // the last time that they can be read
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

// Edges lists every ordered pair of nodes, in the order of the nodes.
func (l *Links) Edges() []link.Edge { return slices.Clone(l.order) }

// IsCut reports whether the edge is cut now; false for an unknown edge.
func (l *Links) IsCut(e link.Edge) bool {
	ed := l.edges[e]
	if ed == nil {
		return false
	}
	ed.mu.Lock()
	defer ed.mu.Unlock()
	return ed.cut
}

// Shaped returns the present shape of the edge; zero for an unknown edge.
func (l *Links) Shaped(e link.Edge) link.Shape {
	ed := l.edges[e]
	if ed == nil {
		return link.Shape{}
	}
	ed.mu.Lock()
	defer ed.mu.Unlock()
	return ed.shape
}

// Counters returns the evidence for one edge, as the kernel counts it; all zero for
// an unknown edge, and what was read last after Close. Held is how often a
// packet found the line of a rate busy, and at most how many there were; for how long
// they waited the kernel does not say. A SYN that is sent again counts again.
func (l *Links) Counters(e link.Edge) link.Counters {
	ed := l.edges[e]
	if ed == nil {
		return link.Counters{}
	}
	ed.mu.Lock()
	defer ed.mu.Unlock()
	if c, err := read(ed); err == nil {
		ed.last = c
	}
	c := ed.last
	c.Resets = ed.resets
	return c
}

// Cut loses every packet of the edge from now on.
func (l *Links) Cut(e link.Edge) error {
	return l.change(e, func(ed *edge) { ed.cut = true })
}

// Heal lets the edge carry packets again. TCP sends again what the cut swallowed,
// so connections outlive it.
func (l *Links) Heal(e link.Edge) error {
	return l.change(e, func(ed *edge) { ed.cut = false })
}

// Shape replaces the shape of the edge. What a rate held back leaves when the rate
// is taken away; what has not left after a second is lost.
func (l *Links) Shape(e link.Edge, shape link.Shape) error {
	if _, err := l.find(e); err != nil {
		return err
	}
	if err := shape.Check(l.Features()); err != nil {
		return err
	}
	return l.change(e, func(ed *edge) { ed.shape = shape })
}

// change gives the edge another state; after an error it has the one that it had,
// as far as the kernel lets it.
func (l *Links) change(e link.Edge, f func(*edge)) error {
	ed, err := l.find(e)
	if err != nil {
		return err
	}
	if err := ed.change(f); err != nil {
		return fmt.Errorf("link %s: %w", e, err)
	}
	settle() // also where nothing changed: who did may not have returned yet
	return nil
}

func (ed *edge) change(f func(*edge)) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	was, cut := ed.shape, ed.cut
	f(ed)
	if ed.shape == was && ed.cut == cut {
		return nil
	}
	if err := enforce(ed, was.Rate); err != nil {
		rate := ed.shape.Rate
		ed.shape, ed.cut = was, cut
		return errors.Join(err, enforce(ed, rate))
	}
	return nil
}

// Reset breaks the connections between the two nodes, in both namespaces.
func (l *Links) Reset(e link.Edge) (int, error) {
	ed, err := l.find(e)
	if err != nil {
		return 0, err
	}
	ed.mu.Lock()
	defer ed.mu.Unlock()
	broken := make(map[netns.Connection]struct{})
	for _, end := range [2][2]*node{{ed.from, ed.to}, {ed.to, ed.from}} {
		conns, err := end[0].room.Destroy(end[0].addr, end[1].addr)
		if err != nil {
			return len(broken), fmt.Errorf("reset %s: %w", e, err)
		}
		for _, c := range conns {
			if end[0] == ed.to {
				c = netns.Connection{Local: c.Remote, Remote: c.Local}
			}
			if _, again := broken[c]; !again {
				broken[c] = struct{}{}
				ed.resets++
			}
		}
	}
	return len(broken), nil
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

func (l *Links) find(e link.Edge) (*edge, error) {
	ed := l.edges[e]
	if ed == nil {
		return nil, fmt.Errorf("edge %q: no such link, expected two different nodes of %q", e, l.names)
	}
	return ed, nil
}

// Features of the links.
func (l *Links) Features() []link.Support { return Features() }

// Features lists what Links can do and what that means in them.
func Features() []link.Support {
	return []link.Support{
		{Feature: link.FeatureCut, Semantics: "every packet is lost, by a rule of nftables where it would be received; TCP sends again after the heal, so connections outlive a cut of some 15 s, and dials in it time out"},
		{Feature: link.FeatureRate, Semantics: "packets leave the sender's device one by one at the rate (TBF), headers counted; a quarter of a second of them (at least 64 KiB) may wait, more are lost"},
		{Feature: link.FeatureLoss, Semantics: "packets are lost independently of each other, drawn by the kernel: neither seeded nor repeatable"},
		{Feature: link.FeatureReset, Semantics: "the packet is lost and its sockets are destroyed in both namespaces, within milliseconds, which read ECONNABORTED or ECONNRESET; drawn by the kernel: neither seeded nor repeatable"},
	}
}
