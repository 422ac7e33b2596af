// Package nemesis breaks a network on purpose and takes every break back.
//
// A fault is four verbs and a proof: apply, probe that it bites, undo, verify
// that it is undone. The exact undo is on disk, fsynced, before the fault is
// applied (see Ledger), so that Heal can finish in another process whatever
// ended this one. Every random choice comes from one *rand.Rand: the same seed
// and the same nodes give the same faults on the same targets.
//
// Guarantees: a signal reaches only the very incarnation that it was meant for;
// a fault that was not seen to bite is reported as one without evidence; a fault
// whose undoing was not seen is reported as not undone; nothing is undone that
// this ledger did not add. Bounds: one fault is in force at a time, and every
// wait for a condition has a limit.
//
// It is not for judging: what a fault did to the chain is for the checkers.
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

// Fault is one kind of fault. The nemesis drives it through its life: Plan,
// then Apply, Probe while it is in force, Undo, VerifyUndone.
type Fault interface {
	// Name is what --nemesis takes: partition, kill:one, …
	Name() string
	// Start and Stop are the :f of its ops: start-partition and stop-partition,
	// kill and start, pause and resume.
	Start() string
	Stop() string
	// Explain says in one paragraph what the fault does, how it is seen to bite
	// and how it is seen to be undone.
	Explain() string
	// Possible returns why the fault cannot work on that many nodes, or on nodes
	// whose processes and links are out of reach (control is false); else nil.
	Possible(nodes int, control bool) error
	// Plan draws targets from rng and returns the application, untouched yet.
	Plan(net Net, rng *rand.Rand) (Application, error)
}

// Application is one planned fault on chosen targets. It is used by one
// goroutine. Each wait in it ends with its context.
type Application interface {
	// Value describes the targets, as Jepsen's nemesis ops do.
	Value() history.Value
	// UndoSteps lists the exact steps that take it back, for the ledger. They are on
	// disk before Apply is called.
	UndoSteps() []Step
	Apply(ctx context.Context) error
	// Probe waits until the fault is seen to bite and returns the evidence;
	// an error says that it could not be seen.
	Probe(ctx context.Context) (history.Value, error)
	// Undo takes it back, also when Apply failed half-way. It is idempotent.
	Undo(ctx context.Context) error
	// VerifyUndone waits until the targets are seen to be as before and returns
	// the evidence; an error says what is still broken.
	VerifyUndone(ctx context.Context) (history.Value, error)
}

// Step is one undo as the ledger keeps it: enough for another process to take
// it back, or to see that it is gone, after this one died.
type Step struct {
	Kind   string          `json:"kind"` // links, resume, start
	Node   string          `json:"node,omitempty"`
	Target devnet.Identity `json:"target,omitzero"`
	Edges  []link.Edge     `json:"edges,omitempty"`
}

// Kinds of steps.
const (
	stepLinks  = "links"  // heal Edges; they are gone with the process that owns them
	stepResume = "resume" // SIGCONT to Target
	stepStart  = "start"  // start Node again, whose incarnation Target was killed
)
