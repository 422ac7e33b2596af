package workloads

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Workload is one entry of the registry: what is done to the network.
// Package claims has an entry of the same name.
type Workload struct {
	Name string
	Doc  string // one paragraph for jepgo explain and --help
	// New prepares the workload on a running network: it deploys contracts and
	// returns once they can be used.
	New func(ctx context.Context, env Env) (Instance, error)
}

// Env is what a workload is given.
type Env struct {
	Nodes       []*client.Client // one for each node, in the network's order; shared, safe for concurrent use
	Accounts    *client.Accounts // funded senders
	Profile     claims.Profile
	Rand        *rand.Rand    // this workload's share of the run's seed; split it further, never share it between threads
	Concurrency int           // client threads that submit transactions
	OpTimeout   time.Duration // how long one operation may take before it is in doubt
}

// Instance is a workload at work.
type Instance interface {
	// Threads are the clients of the main phase, Final those of the last phase,
	// after everything has healed; final threads end by themselves. Final is
	// called once, when the main threads have ended.
	Threads() []Thread
	Final() []Thread
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
