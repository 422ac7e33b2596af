package kernel

import (
	"fmt"
	"net/netip"
)

// Rule is about packets between the node of a Guest and a peer. Rules are asked in
// their order, and the first that takes a packet ends it.
type Rule struct {
	In    bool       // what the peer sends to the node; else what the node sends
	Peer  netip.Addr // of IPv4 or IPv6
	Port  uint16     // of the peer; 0 is any
	Local uint16     // port of the node; 0 is any
	// Share of the packets is taken, from above 0 to 1; drawn by the kernel, neither
	// seeded nor repeatable.
	Share float64
	// Reset answers what is taken with an RST to its sender, TCP only; the other
	// end keeps its half of the connection. Else it is lost.
	Reset bool
}

// Taken is the evidence for one rule: what it took.
type Taken struct{ Packets, Bytes int64 } // with the headers of IP

// check returns why the rule makes no sense.
func (r Rule) check() error {
	switch {
	case !r.Peer.IsValid():
		return fmt.Errorf("rule %+v: expected the address of a peer", r)
	case !(r.Share > 0 && r.Share <= 1):
		return fmt.Errorf("rule %+v: expected a share above 0 and up to 1", r)
	}
	return nil
}
