// Package netns gives each node a network namespace of its own, and reaches into
// it: what the mechanisms that are made of namespaces have in common. Namespaces
// have no names: they vanish with this process and the processes in them.
//
// It is not for namespaces that others made.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
)

// ErrPrivilege is why this user can make no network namespaces, although the
// kernel has them.
var ErrPrivilege = errors.New("it takes root or a user namespace")

// MaxNodes keeps the neighbour tables and threads within reason.
const MaxNodes = 250

// Inside are the nodes as their namespaces have them. Its methods are safe for
// concurrent use after the last Settle.
type Inside struct {
	names  []string
	bits   int
	places map[string]*place

	ctx    context.Context // ended by Shut
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[io.Closer]struct{} // listeners of forwarders, and their connections
}

// place is where one node lives.
type place struct {
	addr netip.Addr
	room *Room
}

// New gives each node an address in the subnet, node i the i+1st; the zero Prefix
// is 10.77.0.0/16.
func New(names []string, subnet netip.Prefix) (*Inside, error) {
	if !subnet.IsValid() {
		subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, 0, 0}), 16)
	}
	subnet = subnet.Masked()
	if n := len(names); n == 0 || n > MaxNodes {
		return nil, fmt.Errorf("links of %d nodes: expected 1 to %d", n, MaxNodes)
	}
	if !subnet.Addr().Is4() || subnet.Bits() > 30 || 1<<(32-subnet.Bits())-2 < len(names) {
		return nil, fmt.Errorf("subnet %s: expected one of IPv4 with room for %d nodes", subnet, len(names))
	}
	in := &Inside{
		names: slices.Clone(names), bits: subnet.Bits(),
		places: make(map[string]*place), open: make(map[io.Closer]struct{}),
	}
	addr := subnet.Addr()
	for i, name := range in.names {
		if slices.Contains(in.names[:i], name) {
			return nil, fmt.Errorf("node %q: named twice, expected different names", name)
		}
		addr = addr.Next()
		in.places[name] = &place{addr: addr}
	}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	return in, nil
}

// Settle says which room is the node's. It stays its owner's to close.
func (in *Inside) Settle(name string, r *Room) { in.places[name].room = r }

// Peers are the nodes in their order as neighbours know them, and how many bits of
// their addresses the subnet has.
func (in *Inside) Peers() (peers []Peer, bits int) {
	for i, name := range in.names {
		peers = append(peers, Peer{in.places[name].addr, MAC(i)})
	}
	return peers, in.bits
}

// Addr is the address of the node in its namespace; the zero Addr for an unknown
// node.
func (in *Inside) Addr(node string) netip.Addr {
	p := in.places[node]
	if p == nil {
		return netip.Addr{}
	}
	return p.addr
}

// Shut ends every forwarder and its connections, and lets no more begin.
func (in *Inside) Shut() {
	in.mu.Lock()
	in.closed = true
	for c := range in.open {
		c.Close()
	}
	in.mu.Unlock()
	in.cancel()
}

// Wait returns when all goroutines of forwarders have ended; it is for after Shut.
func (in *Inside) Wait() { in.wg.Wait() }

func (in *Inside) place(name string) (*place, error) {
	p := in.places[name]
	if p == nil {
		return nil, fmt.Errorf("node %q: no such node, expected one of %q", name, in.names)
	}
	return p, nil
}

// Peer is a node as its neighbours know it.
type Peer struct {
	Addr netip.Addr
	MAC  [6]byte
}

// MAC is the address of the node with that index, which it ends in.
func MAC(index int) [6]byte {
	return [6]byte{2, 0, 0, 0, byte(index >> 8), byte(index)}
}

// Connection is one of TCP, as seen from one of its ends.
type Connection struct{ Local, Remote netip.AddrPort }
