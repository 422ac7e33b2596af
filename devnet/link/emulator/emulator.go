// Package emulator is a link.Link made of network namespaces: each node lives in
// one of its own, with a device eth0 whose other end is this process, which
// switches the Ethernet frames in user space and does to them what the edges'
// shapes ask for. Nothing of it is in the host's own network namespace.
//
// Guarantees: Cut, Heal and Shape are in force when they return. What happens to a
// frame is a function of the seed, the names of the edge's ends and the frame's
// number on the edge, so that the same frames meet the same fate; which frames
// nodes send does not repeat. The namespaces have no names: they and the devices
// vanish with this process, however it ends, and with the processes in them.
//
// Bounds: up to 250 nodes. A frame costs some 10 µs of a core, an idle node
// nothing; an edge holds back at most 16 MiB. Delays are kept to some 0.1 ms on a
// machine with a core to spare; Counters.Late says what they were.
//
// It is not for nodes that run already, nor for IPv6, which is off in the
// namespaces.
package emulator

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
	Seed  uint64   // every random choice follows from it
	// Subnet is where the nodes have their addresses, node i the i+1st. The zero
	// Prefix is 10.77.0.0/16. It meets no other network: each namespace is closed.
	Subnet netip.Prefix
}

// Emulator is a Link that moves frames between network namespaces.
type Emulator struct {
	*inside
	*mesh
	names []string
	nodes map[string]*node
	queue *queue
	wg    sync.WaitGroup

	once     sync.Once // of Close
	closeErr error
}

// inside holds what reaches into the namespaces.
type inside = netns.Inside

// mesh holds the edges.
type mesh = link.Mesh[*edge]

var _ link.Link = (*Emulator)(nil)

// New makes the namespaces and joins them, nothing cut. Its errors are those of
// Probe where this machine cannot.
func New(opts Options) (*Emulator, error) {
	in, err := netns.New(opts.Nodes, opts.Subnet)
	if err != nil {
		return nil, err
	}
	e := &Emulator{inside: in, names: slices.Clone(opts.Nodes), nodes: make(map[string]*node)}
	for i, name := range e.names {
		e.nodes[name] = &node{name: name, index: i, addr: in.Addr(name), edges: make([]*edge, len(e.names))}
	}
	e.mesh = link.NewMesh(e.names, Features, func(at link.Edge) *edge {
		ed := newEdge(opts.Seed, e.nodes[at.From], e.nodes[at.To])
		ed.links = e
		ed.from.edges[ed.to.index] = ed
		return ed
	})
	if err := e.start(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// start makes what the kernel holds, and sets the frames going.
func (e *Emulator) start() error {
	a, err := newAlarm()
	if err != nil {
		return fmt.Errorf("links: timer: %w", err)
	}
	e.queue = newQueue(a)
	e.wg.Add(1)
	netns.OnThread(func() {
		defer e.wg.Done()
		preferThread()
		e.queue.run()
	})
	peers, bits := e.Peers()
	for _, name := range e.names {
		n := e.nodes[name]
		if n.room, err = newRoom(n.index, peers, bits); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		e.Settle(name, n.room.Room)
	}
	for _, name := range e.names {
		n := e.nodes[name]
		e.wg.Go(func() { n.run(e.queue) })
	}
	return nil
}

// Close ends the links and everything that New and Forward opened, and returns
// when all of its goroutines have ended. Processes that Start started, and what
// Dial and Listen returned, are their owners' to end: until then they keep a
// namespace alive, though without a link. Processes with a Pdeathsig get it now.
// Close is idempotent.
func (e *Emulator) Close() error {
	e.once.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Emulator) close() error {
	e.Shut()
	errs := make([]error, len(e.names))
	var rooms sync.WaitGroup // together: the kernel takes its time for each
	for i, name := range e.names {
		if r := e.nodes[name].room; r != nil {
			rooms.Go(func() { errs[i] = r.close() })
		}
	}
	rooms.Wait()
	if e.queue != nil {
		e.queue.close()
	}
	e.wg.Wait()
	e.Wait()
	// Only now does nobody use the descriptors any more.
	for _, name := range e.names {
		if r := e.nodes[name].room; r != nil {
			r.release()
		}
	}
	if e.queue != nil {
		e.queue.alarm.release()
	}
	return errors.Join(errs...)
}

// Features lists what an Emulator can do and what that means in one.
func Features() []link.Support {
	return []link.Support{
		{Feature: link.FeatureCut, Semantics: "every frame is lost; TCP sends again after the heal, so connections outlive a cut of some 15 s, and dials in it time out"},
		{Feature: link.FeatureDelay, Semantics: "each frame leaves so much later, acknowledgements as well as data"},
		{Feature: link.FeatureJitter, Semantics: "each frame draws its own delay, so frames overtake each other and TCP may take that for loss"},
		{Feature: link.FeatureRate, Semantics: "frames leave one by one at the rate, headers counted; a quarter of a second of them (at least 64 KiB) may wait, more are lost"},
		{Feature: link.FeatureLoss, Semantics: "frames are lost independently of each other; TCP sends them again and slows down"},
		{Feature: link.FeatureBurst, Semantics: "Gilbert–Elliott by frame: all are lost while the edge is bad"},
		{Feature: link.FeatureDuplicate, Semantics: "frames arrive twice; TCP drops the second, UDP delivers both"},
		{Feature: link.FeatureReorder, Semantics: "frames skip the delay and the rate, past those held back, if there are any: counted either way"},
		{Feature: link.FeatureCorrupt, Semantics: "a bit is flipped and the checksum left: the receiving kernel drops the frame, so it is loss of a kind that its counters of errors show"},
		{Feature: link.FeatureCorruptVisible, Semantics: "a bit of the payload is flipped and the checksum made to fit, in frames with a payload of TCP or UDP: the application reads it"},
		{Feature: link.FeatureSlowClose, Semantics: "segments with FIN or RST leave so much later; their bytes do not wait"},
		{Feature: link.FeatureHalfOpen, Semantics: "segments lose their FIN, and those with RST are lost: the other end learns nothing until the shape is taken away, and then when it sends"},
		{Feature: link.FeatureReset, Semantics: "the frame is answered with an RST to both ends; Reset destroys the sockets in both namespaces, which read ECONNABORTED or ECONNRESET"},
	}
}
