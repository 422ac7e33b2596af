package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Shared is a workload at work that leaves its operations to the clients that
// all workloads of a run share. Its methods are safe for concurrent use.
type Shared interface {
	Instance
	// Strong draws the next transaction.
	Strong(rng *rand.Rand) history.Op
	// Kinds is how many kinds of transactions there are: the workload's share of all
	// transactions goes by it, so that each kind comes as often as any other.
	Kinds() int
	// Local draws the next local read; ok is false where the workload has none.
	Local(rng *rand.Rand) (o history.Op, ok bool)
	// Invoke performs an operation of the workload's for a client and returns its
	// completion. ctx ends with the operation timeout.
	Invoke(ctx context.Context, s *Sender, o history.Op) history.Op
}

// readerInterval is the pace of the clients that only read locally, where one
// workload needs them; several have it together, but not more than twice as much.
const readerInterval = 100 * time.Millisecond

// Clients returns the clients of the main phase that the shared workloads among
// these have together: env.Concurrency that submit transactions and read locally,
// spread over the nodes, and for each node one that only reads locally, ten times
// a second for one workload and up to twenty for several. The others read right
// after a block, when their transaction is done, and hardly while a fault keeps
// them waiting. Which workload is next is drawn: all have the same share of the
// local reads, and of the transactions one for each kind that they have.
func Clients(env Env, instances []Instance) ([]Thread, error) {
	var all, local []Shared
	for _, i := range instances {
		s, ok := i.(Shared)
		if !ok {
			continue
		}
		for range s.Kinds() {
			all = append(all, s)
		}
		if _, ok := s.Local(env.split()); ok {
			local = append(local, s)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if left := env.Accounts.Left(); left < env.Concurrency {
		return nil, fmt.Errorf("%d funded accounts are left, want one for each of %d clients, and more for clients that crash", left, env.Concurrency)
	}
	var out []Thread
	for i := range env.Concurrency {
		rng := env.split()
		out = append(out, &shareThread{Sender: Sender{env: env, node: env.Nodes[i%len(env.Nodes)]}, draw: func() (Shared, history.Op, bool) {
			// Local reads are the more frequent ones: a transaction takes a block's
			// time, they take none.
			if len(local) > 0 && rng.IntN(5) >= 2 {
				w := local[rng.IntN(len(local))]
				o, ok := w.Local(rng)
				return w, o, ok
			}
			w := all[rng.IntN(len(all))]
			return w, w.Strong(rng), true
		}})
	}
	if len(local) == 0 {
		return out, nil
	}
	for _, n := range env.Nodes {
		rng := env.split()
		out = append(out, &shareThread{
			Sender: Sender{env: env, node: n}, interval: readerInterval / time.Duration(min(2, len(local))),
			draw: func() (Shared, history.Op, bool) {
				w := local[rng.IntN(len(local))]
				o, ok := w.Local(rng)
				return w, o, ok
			},
		})
	}
	return out, nil
}

// finalClients is how many clients of each node share the final reads, so that
// they take a few blocks' time and not one for each.
const finalClients = 5

// finalReads returns the clients that perform a workload's last operations
// through every node. Each element of ops is for one client, in that order.
func finalReads(env Env, w Shared, ops [][]history.Op) []Thread {
	var out []Thread
	for _, n := range env.Nodes {
		for c := range min(finalClients, len(ops)) {
			var queue []history.Op
			for i := c; i < len(ops); i += finalClients {
				queue = append(queue, ops[i]...)
			}
			out = append(out, &shareThread{Sender: Sender{env: env, node: n}, draw: func() (Shared, history.Op, bool) {
				if len(queue) == 0 {
					return nil, history.Op{}, false
				}
				next := queue[0]
				queue = queue[1:]
				return w, next, true
			}})
		}
	}
	return out
}

// shareThread is one client that performs the operations of several workloads.
type shareThread struct {
	Sender
	interval time.Duration
	draw     func() (Shared, history.Op, bool)
	of       Shared // whose operation was drawn last
}

// Interval leaves the pace to the run's --rate, but for clients that only read
// locally.
func (t *shareThread) Interval() time.Duration { return t.interval }

// Next returns the client's next operation.
func (t *shareThread) Next() (history.Op, bool) {
	of, o, ok := t.draw()
	t.of, o.Node = of, t.node.Name()
	return o, ok
}

// Crash takes a new account.
func (t *shareThread) Crash() error { return t.crash() }

// Invoke lets the workload perform the operation that Next drew.
func (t *shareThread) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, t.env.OpTimeout)
	defer cancel()
	done := t.of.Invoke(ctx, &t.Sender, o)
	if isRefused(done) {
		// Nobody listens there: asking again at once would only fill the history.
		rest(ctx, refusedRest)
	}
	return done
}

// isRefused reports whether an op certainly never left this machine.
func isRefused(o history.Op) bool {
	class := o.Error.Elems()
	return len(class) > 0 && class[0].Text() == client.Refused
}

// refusedRest is how long a client leaves a node alone that refused it.
const refusedRest = 200 * time.Millisecond

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// shareOnly is what a workload has of its own when all it does is left to the
// shared clients: nothing; and one kind of transactions. Embed it.
type shareOnly struct{}

func (shareOnly) Kinds() int        { return 1 }
func (shareOnly) Threads() []Thread { return nil }
func (shareOnly) Final() []Thread   { return nil }
func (shareOnly) Closing() []Thread { return nil }

// split returns a source of randomness for one thread.
func (e Env) split() *rand.Rand { return rand.New(rand.NewPCG(e.Rand.Uint64(), e.Rand.Uint64())) }

// tag draws the tag of a local read: latest, or one that the profile serves.
func (e Env) tag(rng *rand.Rand) string {
	if e.Profile.FinalTag == "" {
		return client.Latest
	}
	switch rng.IntN(5) {
	case 0:
		return client.Safe
	case 1:
		return client.Finalized
	}
	return client.Latest
}

// finalTags lists the tags that the final local reads ask for.
func (e Env) finalTags() []string {
	if tag := e.Profile.FinalTag; tag != "" && tag != client.Latest {
		return []string{client.Latest, tag}
	}
	return []string{client.Latest}
}
