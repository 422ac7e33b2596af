package workloads

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Workload is one entry of the registry: what is done to the network.
// Package claims has an entry of the same name.
type Workload struct {
	Name string
	Ops  []string // the :f of its operations, which no other workload has
	// Submits says that it is Shared: it submits transactions, and leaves that to
	// the clients of the run.
	Submits bool
	Needs   Offers // what every node has to offer beside JSON-RPC over HTTP
	Doc     string // one paragraph for jepgo explain and --help
	// New prepares the workload on a running network: it deploys contracts and
	// returns once they can be used. Workloads are prepared at the same time.
	New func(ctx context.Context, env Env) (Instance, error)
}

// Offers is what every node of a network offers beside JSON-RPC over HTTP.
type Offers struct {
	WS    bool // JSON-RPC over WebSocket
	Comet bool // CometBFT's own RPC
}

// Lacks says, in words, what the workload needs and the network does not offer; ""
// when it can run there.
func (w Workload) Lacks(o Offers) string {
	var lacks []string
	if w.Needs.WS && !o.WS {
		lacks = append(lacks, "JSON-RPC over WebSocket")
	}
	if w.Needs.Comet && !o.Comet {
		lacks = append(lacks, "CometBFT's own RPC")
	}
	return strings.Join(lacks, " and ")
}

// Env is what a workload is given.
type Env struct {
	Nodes    []*client.Client // one for each node, in the network's order; shared, safe for concurrent use
	WS       []string         // the nodes' WebSocket URLs in the same order; none where some node has none
	Comet    []*client.Comet  // the nodes' CometBFT, likewise
	Accounts *client.Accounts // funded senders
	Deployer *client.Account  // funded, this workload's own
	Fees     client.Fees
	Book     *Book // shared by all workloads of the run
	Profile  claims.Profile
	Rand     *rand.Rand // this workload's share of the run's seed; split it further, never share it between threads
	// Concurrency is how many clients that submit transactions are about this
	// workload at a time: its share of those that all workloads have together.
	Concurrency int
	OpTimeout   time.Duration // how long one operation may take before it is in doubt
}

// Instance is a workload at work. One that submits transactions is Shared, too:
// it leaves them to the clients of the run, so that the load stays the same
// however many workloads run together.
type Instance interface {
	// Threads are clients of its own in the main phase: watchers and readers.
	Threads() []Thread
	// Final are the clients of its last operations, after everything has healed;
	// they may submit transactions. It is called once, when the main threads have
	// ended. Those of all workloads run together, and end by themselves.
	Final() []Thread
	// Closing are the clients that read the chain as it stands in the end. It is
	// called once, when the final threads of all workloads have ended, and nothing
	// is submitted any more. They end by themselves.
	Closing() []Thread
}

// Thread is one sequential client. The runner calls Next, journals the
// invocation, calls Invoke, journals the completion, and so on; never two calls
// at once.
type Thread interface {
	// Interval is the time from one invocation to the next; 0 leaves the pace to
	// the run's --rate.
	Interval() time.Duration
	// Next returns the next invocation (F, Value, Node, Tag; the runner fills in
	// the rest); ok is false when the thread has nothing more to do.
	Next() (op history.Op, ok bool)
	// Invoke performs op and returns its completion: Type, Value, Error and
	// extra fields. It returns by itself within the environment's OpTimeout and
	// a little more, also when ctx has not ended.
	Invoke(ctx context.Context, op history.Op) history.Op
	// Crash tells the thread that its last op is in doubt: it continues as a new
	// process, with a new sender account. It returns an error when it cannot.
	Crash() error
}
