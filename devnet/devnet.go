// Package devnet says what a network under test is: nodes with endpoints, and,
// where jepgo started them, processes that can be named without doubt. The
// providers are packages below it: embedded starts validators of its own, attach
// joins a network that runs already; link is the network between the nodes.
//
// Bounds: an Identity holds for one boot of one machine, because start times
// count from the boot. It is not for containers that hide /proc.
package devnet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Node is one node of a network as everybody else sees it. It never changes
// during a run: a restarted node comes back under the same endpoints.
type Node struct {
	Name    string            `json:"name"`
	Role    string            `json:"role,omitempty"`    // what it is in the network, for people
	HTTP    string            `json:"http"`              // JSON-RPC over HTTP, a URL
	WS      string            `json:"ws,omitempty"`      // JSON-RPC over WebSocket, a URL
	Metrics map[string]string `json:"metrics,omitempty"` // Prometheus endpoints: geth, cometbft → URL
	Comet   string            `json:"comet,omitempty"`   // CometBFT's own RPC, a URL
	P2P     map[string]string `json:"p2p,omitempty"`     // protocol → host:port it listens on
	Dir     string            `json:"dir,omitempty"`     // data directory
	Log     string            `json:"log,omitempty"`     // log file
}

// Identity names one incarnation of an operating system process, so that a
// signal never reaches a stranger that was given the same pid.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // start time in clock ticks since boot: field 22 of /proc/PID/stat
}

// String renders the identity as pid@start.
func (id Identity) String() string { return fmt.Sprintf("%d@%d", id.PID, id.Start) }

// Network is a running network of nodes.
type Network interface {
	// Nodes lists the nodes in a fixed order.
	Nodes() []Node
	// Close stops what the network owns; it is idempotent.
	Close(ctx context.Context) error
}

// Running is what a node that runs shows of the flags that it was started with.
type Running struct {
	APIs      []string      // JSON-RPC namespaces that it serves, sorted
	Peers     int           // devp2p peers, at the last look
	MostPeers int           // the most at any look
	Others    int           // nodes that it could have as peers
	Watched   time.Duration // from the first look at its peers to the last
}

// Hostility is what a hostile peer has done and met so far.
type Hostility struct {
	Connections int64            // that got through both handshakes of devp2p
	Sent        int64            // messages that break the rules
	HungUp      int64            // times that the target ended the connection
	Reasons     map[string]int64 // why, in devp2p's words
}

// ErrNoControl is returned for process and link faults on a network whose
// nodes jepgo did not start.
var ErrNoControl = errors.New("network was not started by jepgo, so its processes and links are out of reach")
