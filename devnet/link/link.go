// Package link is the network between the nodes, seen as directed edges that can
// be cut and healed, with counters that prove it. Proxy is the mechanism that
// needs no privileges: TCP proxies in this process.
//
// Guarantees: Cut and Heal are in force when they return; every byte is counted
// either as delivered or as dropped. Package linktest holds every mechanism to
// the contract of Link. Cost of the proxy: two copies a byte and one goroutine a
// direction; tens of nodes, not thousands.
//
// It is not for RPC and metrics: watching a node must work during a cut.
package link

import "fmt"

// Edge is one direction between two nodes: what From sends to To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// String renders the edge as n1→n2.
func (e Edge) String() string { return fmt.Sprintf("%s→%s", e.From, e.To) }

// Counters is what has happened on one edge since the links were opened. All
// of it only grows.
type Counters struct {
	Bytes        int64 `json:"bytes"`         // payload bytes delivered
	Dropped      int64 `json:"dropped"`       // payload bytes swallowed while the edge was cut
	Connections  int64 `json:"connections"`   // connections that From opened to To
	RefusedDials int64 `json:"refused_dials"` // connections From tried to open while the edge was cut
}

// Link is the network between the nodes. Its methods are safe for concurrent
// use. Cut and Heal are idempotent and take effect before they return.
// Shaping (delay, loss, bandwidth) will join as further methods here.
type Link interface {
	// Cut stops everything that edge.From sends to edge.To. The other direction
	// goes on.
	Cut(edge Edge) error
	// Heal lets the edge carry bytes again. Connections that lost bytes in the
	// cut are closed, so that both ends dial anew at once.
	Heal(edge Edge) error
	// IsCut reports whether the edge is cut now.
	IsCut(edge Edge) bool
	// Counters returns the evidence for one edge.
	Counters(edge Edge) Counters
	// Edges lists every edge in a fixed order.
	Edges() []Edge
}
