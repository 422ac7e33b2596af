// Package link is the network between the nodes, seen as directed edges that can
// be cut, shaped and healed, with counters that prove it. Proxy is the mechanism
// that needs no privileges: TCP proxies in this process. The packages below it
// hold the others, and Mesh what all have in common.
//
// Guarantees: Cut and Heal are in force when they return; every byte is counted
// either as delivered or as dropped, except those of a connection that breaks or
// closes. Package linktest holds every mechanism to the contract of Link. Cost of
// the proxy: two copies a byte and one goroutine a direction, one more of each
// where a shape holds bytes, and at most 16 MiB held a direction of a connection;
// tens of nodes, not thousands.
//
// It is not for RPC and metrics: watching a node must work during a cut.
package link

import (
	"fmt"
	"time"
)

// Edge is one direction between two nodes: what From sends to To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// String renders the edge as n1→n2.
func (e Edge) String() string { return fmt.Sprintf("%s→%s", e.From, e.To) }

// Counters is what has happened on one edge since the links were opened. All
// of it only grows. A unit is a frame, or one read of a stream: see Shape.
type Counters struct {
	Bytes        int64 `json:"bytes"`         // payload bytes delivered
	Dropped      int64 `json:"dropped"`       // payload bytes swallowed while the edge was cut
	Connections  int64 `json:"connections"`   // connections that From opened to To, where the mechanism sees them
	RefusedDials int64 `json:"refused_dials"` // connections From tried to open while the edge was cut, ditto

	Units      int64         `json:"units"`      // units that arrived at the edge, whatever became of them
	Held       int64         `json:"held"`       // units that a shape held back (delay, rate, stall) and then delivered
	HeldTime   time.Duration `json:"held_time"`  // sum over Held of the measured time in the edge
	Late       time.Duration `json:"late"`       // the longest time that a unit left later than it was due
	Lost       int64         `json:"lost"`       // units lost by Loss or Burst
	Duplicated int64         `json:"duplicated"` // units delivered twice
	Reordered  int64         `json:"reordered"`  // units that overtook others
	Corrupted  int64         `json:"corrupted"`  // units with a flipped bit, of either kind
	Overflow   int64         `json:"overflow"`   // units lost because a queue was full
	Stalls     int64         `json:"stalls"`     // times that a stream stood still
	Resets     int64         `json:"resets"`     // connections broken by Reset
	HeldEnds   int64         `json:"held_ends"`  // ends of connections held back or swallowed
}

// Link is the network between the nodes. Its methods are safe for concurrent
// use. Cut, Heal and Shape are idempotent and take effect before they return.
type Link interface {
	// Cut stops everything that edge.From sends to edge.To. The other direction
	// goes on.
	Cut(edge Edge) error
	// Heal lets the edge carry bytes again. Connections that lost bytes in the
	// cut are closed, so that both ends dial anew at once; where TCP itself runs
	// over the edge, it sends them again instead. It leaves the shape.
	Heal(edge Edge) error
	// IsCut reports whether the edge is cut now.
	IsCut(edge Edge) bool
	// Shape replaces the shape of the edge; the zero Shape takes it away, and what
	// is then still held back leaves at once. An error says what the mechanism
	// cannot do; then nothing has changed.
	Shape(edge Edge, shape Shape) error
	// Shaped returns the present shape of the edge.
	Shaped(edge Edge) Shape
	// Reset breaks the connections that are open on the edge and its reverse now,
	// with an RST to both ends, and returns how many: new ones may be opened at
	// once. Where the shape holds the ends of connections (SlowClose, HalfOpen) it
	// holds this one too: edge.From learns of it at once and edge.To does not.
	Reset(edge Edge) (int, error)
	// Counters returns the evidence for one edge.
	Counters(edge Edge) Counters
	// Edges lists every edge in a fixed order.
	Edges() []Edge
	// Features lists what the mechanism can do, and what that means in it.
	Features() []Support
}
