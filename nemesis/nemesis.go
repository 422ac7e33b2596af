package nemesis

import (
	"context"
	"math/rand/v2"
	"time"

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

// Chain is what the nemesis may know of the chain, for triggers and for choosing
// nodes by their role. Methods are safe for concurrent use.
type Chain interface {
	// Height returns the node's latest block number.
	Height(ctx context.Context, node string) (uint64, error)
	// Power returns the voting power of each node.
	Power(ctx context.Context) (map[string]int64, error)
}

// Proposers is a chain that tells who proposes next.
type Proposers interface {
	// Proposer returns the node that proposes the next block.
	Proposer(ctx context.Context) (string, error)
}

// Net is the network as the nemesis sees it. What is nil is out of reach: see
// Reach.
type Net struct {
	Nodes     []string
	Processes Processes
	Links     link.Link
	Chain     Chain
	Proposers Proposers
	Configs   Configs
	Peers     Peers
	RPC       RPC
	Disks     Disks
	Quorum    Quorum
	// Ops returns how many operations a client process has completed since the
	// main phase began; of all processes where process is below 0. A client that
	// goes on under another number after an operation in doubt counts as the
	// process that it was at the start.
	Ops func(process int64) int64
	// Metrics lists each node's Prometheus endpoints, as URLs.
	Metrics map[string][]string
	// Only names the nodes that a fault must be planned on, whatever it would
	// draw: how a composite fault keeps its parts together, and how a replay finds
	// its targets. Empty: the fault draws.
	Only []string
}

// Quorum limits whom faults may hit together.
type Quorum string

// The limits of Quorum.
const (
	// QuorumAny sets no limit: a fault may stop the chain, which is worth testing.
	QuorumAny Quorum = "any"
	// QuorumSafe hits less than a third of the voting power at a time, so that a
	// BFT chain must go on: nodes that are hit, nodes that are cut off from the
	// rest, and nodes that do not run anyway, together. One fault is in force at a
	// time, and the parts of a composite one are on the same nodes, so no two
	// faults can exceed it together.
	QuorumSafe Quorum = "safe"
)

// Reach says, before there is a network, what the nemesis will have power over.
// The machine itself is asked by each fault: whether the kernel lets it.
type Reach struct {
	Nodes        int
	Processes    bool           // jepgo starts the nodes on this machine
	Links        []link.Support // what the links will be able to do; nil: they are out of reach
	Chain        bool           // heights and voting power can be read
	Proposers    bool           // the chain tells who proposes next
	Configs      bool           // nodes can be started with other flags
	Peers        bool           // hostile peers can be set on nodes
	Disks        bool           // the nodes' data directories can be put on disks of ours
	RPC          bool           // clients can be sent through RPC proxies of ours
	Irreversible bool           // --allow-irreversible, on nodes that are jepgo's to destroy
	Ops          bool           // the clients' operations are counted
	Metrics      bool           // the nodes' Prometheus endpoints are known
	Quorum       Quorum         // whom faults may hit together
	Time         time.Duration  // of the main phase, 0 where it is not known
}

// reach is what there is once the network is: what Parse was asked for has been
// granted by then.
func (n Net) reach() Reach {
	r := Reach{Nodes: len(n.Nodes), Processes: n.Processes != nil, Chain: n.Chain != nil,
		Proposers: n.Proposers != nil, Configs: n.Configs != nil, Peers: n.Peers != nil, Disks: true, RPC: n.RPC != nil, Irreversible: true,
		Ops: n.Ops != nil, Metrics: n.Metrics != nil, Quorum: n.Quorum}
	if n.Links != nil {
		r.Links = n.Links.Features()
	}
	return r
}

// Needs is what a fault needs to be there before the nodes start.
type Needs struct {
	Disks   bool // each node's data directory on a disk of package devnet/disk
	RPC     bool // a proxy of package devnet/rpc before each node's RPC
	Cgroups bool // each node in a control group of its own: see devnet/cgroup
}

// Needy is what a Fault may have beside its own methods.
type Needy interface{ Needs() Needs }

// NeedsOf joins what the faults need.
func NeedsOf(faults []Fault) Needs {
	var all Needs
	for _, f := range faults {
		if n, ok := f.(Needy); ok {
			needs := n.Needs()
			all.Disks = all.Disks || needs.Disks
			all.RPC = all.RPC || needs.RPC
			all.Cgroups = all.Cgroups || needs.Cgroups
		}
	}
	return all
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
	// Possible returns why the fault cannot work with that reach, or not on this
	// machine, and what would help; else nil. It leaves no trace.
	Possible(r Reach) error
	// Plan draws targets from rng and returns the application, untouched yet. ctx
	// bounds the questions that it asks the chain.
	Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error)
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

// Standing is what an Application may have beside its own methods when it can tell
// whether it was in force to the end: what somebody else took off, or what fell off
// by itself, tested less than it says.
type Standing interface {
	// Stands is asked right before Undo, of a fault that was seen to bite. It says
	// why the fault is in force no more, nil where it is. A target that has ended is
	// no reason. It looks once and waits for nothing.
	Stands() error
}

// Clocked is what an Application may have beside its own methods when it moves
// clocks.
type Clocked interface {
	// ClockOffsets reads how many seconds the clock of each node is ahead now, as
	// the node itself sees it: node -> seconds. It is the :clock-offsets of the
	// fault's ops, as in Jepsen.
	ClockOffsets() history.Value
}
