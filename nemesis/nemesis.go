package nemesis

import (
	"context"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// Processes is the power over the nodes' processes that kill and pause need.
// Methods are safe for concurrent use.
type Processes interface {
	// Identity returns the node's present incarnation; ok is false when the node
	// is not running.
	Identity(node string) (id devnet.Identity, ok bool)
	// Start starts a node that is not running on its old data directory and
	// returns its new incarnation, before it is ready.
	Start(ctx context.Context, node string) (devnet.Identity, error)
	// Ready waits until a running node answers RPC and has caught up with
	// consensus, so that it votes again.
	Ready(ctx context.Context, node string) error
}

// Net is the network as the nemesis sees it.
type Net struct {
	Nodes     []string
	Processes Processes // nil when the nodes are out of reach
	Links     link.Link // nil when there are none
}

// Fault is one kind of fault. The nemesis drives it through its life: Apply,
// Probe while it is in force, Undo, VerifyUndone. One instance has at most one
// application in force.
type Fault interface {
	Name() string // partition, kill, pause
	// Plan draws targets from rng and returns the application, untouched yet.
	Plan(net Net, rng *rand.Rand) (Application, error)
}

// Application is one planned fault on chosen targets.
type Application interface {
	// Start and Stop name the :f of the nemesis ops: start-partition and
	// stop-partition, kill and start, pause and resume.
	Start() string
	Stop() string
	// Value describes the targets, as Jepsen's nemesis ops do.
	Value() history.Value
	// Undo lists the exact steps that take it back, for the ledger. They are on
	// disk before Apply is called.
	UndoSteps() []Step
	Apply(ctx context.Context) error
	// Probe waits until the fault is seen to bite and returns the evidence;
	// an error says that it could not be seen.
	Probe(ctx context.Context) (history.Value, error)
	Undo(ctx context.Context) error
	// VerifyUndone waits until the target is seen to be as before.
	VerifyUndone(ctx context.Context) error
}

// Step is one undo as the ledger keeps it: enough for another process to take
// it back, or to see that it is gone, after this one died.
type Step struct {
	Kind   string          `json:"kind"` // links, resume, start
	Node   string          `json:"node,omitempty"`
	Target devnet.Identity `json:"target,omitzero"`
	Edges  []link.Edge     `json:"edges,omitempty"`
}
