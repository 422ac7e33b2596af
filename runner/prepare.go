package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/workloads"
)

// prepare readies the workloads, all at the same time as each waits for a block
// or two, and makes up the threads of the main phase.
func (t *test) prepare(ctx context.Context, accounts *client.Accounts) error {
	fees, err := t.clients[0].Fees(ctx)
	if err != nil {
		return err
	}
	t.book = workloads.NewBook()
	env := workloads.Env{
		Nodes: t.clients, WS: t.streams(), Comet: t.comets, Accounts: accounts, Fees: fees, Book: t.book, Profile: t.profile,
		Rand: stream(t.o.Seed, streamClients), Concurrency: t.o.threads, OpTimeout: t.o.OpTimeout,
	}
	t.instances = make([]workloads.Instance, len(t.o.Workloads))
	errs := make([]error, len(t.o.Workloads))
	var wg sync.WaitGroup
	for i, name := range t.o.Workloads {
		w, err := workloads.Get(name)
		if err != nil {
			return err
		}
		own := env
		own.Rand = stream(t.o.Seed, streamWorkload+uint64(i))
		own.Concurrency = workloads.Share(t.o.threads, t.o.Workloads)
		if own.Deployer, err = accounts.Next(); err != nil {
			return fmt.Errorf("workload %s: %w", name, err)
		}
		wg.Go(func() {
			instance, err := w.New(ctx, own)
			if err != nil {
				errs[i] = fmt.Errorf("workload %s: %w", name, err)
			}
			t.instances[i] = instance
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if t.threads, err = workloads.Clients(env, t.instances); err != nil {
		return err
	}
	for _, instance := range t.instances {
		t.threads = append(t.threads, instance.Threads()...)
	}
	return nil
}

// streams lists the nodes' WebSockets; none when one of them has none.
func (t *test) streams() []string {
	var out []string
	for _, n := range t.net.Nodes() {
		if n.WS == "" {
			return nil
		}
		out = append(out, n.WS)
	}
	return out
}

// final lets every workload make its last operations, and then read the chain as
// it stands.
func (t *test) final(ctx context.Context) error {
	if err := t.journal.phase(phaseFinal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, finalBound)
	defer cancel()
	var last, closing []workloads.Thread
	for _, instance := range t.instances {
		last = append(last, instance.Final()...)
	}
	if err := t.crew().drive(ctx, ctx, last); err != nil {
		return err
	}
	for _, instance := range t.instances {
		closing = append(closing, instance.Closing()...)
	}
	closing = append(closing, t.book.Walk(t.clients, t.o.OpTimeout)...)
	if err := t.crew().drive(ctx, ctx, closing); err != nil {
		return err
	}
	if ctx.Err() != nil {
		t.log.Warn("final reads were cut off", "bound", finalBound)
	}
	return nil
}

// senders is how many accounts the run can need: each operation in doubt takes
// its client to a fresh one, and it is in doubt only after OpTimeout; and those
// of the final phase and of who deploys contracts.
func (t *test) senders() int {
	const spare = 8
	nodes := max(t.o.Nodes, len(t.o.RPC))
	return t.o.threads*(int(t.o.Time/t.o.OpTimeout)+spare) + workloads.Extra(nodes, t.o.Workloads)
}
