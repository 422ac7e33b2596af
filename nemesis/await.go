package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// look is how often a condition is looked at. Two looks of 50 ms span several
// clock ticks of 10 ms, so a running process that burns the processor shows it.
const look = 50 * time.Millisecond

// await looks at once and then every so often until done, an error that no
// further look can mend, or the end of ctx. missing says what was still missing
// at the last look.
func await(ctx context.Context, every time.Duration, at func() (missing string, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		missing, err := at()
		if err != nil {
			return err
		}
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return &inVain{missing, context.Cause(ctx)}
		case <-tick.C:
		}
	}
}

// inVain is a wait that ended before what it was for.
type inVain struct {
	missing string
	cause   error
}

// Error leaves out a cause that says no more than that the time was over.
func (e *inVain) Error() string {
	if errors.Is(e.cause, context.DeadlineExceeded) {
		return e.missing + ": gave up waiting"
	}
	return fmt.Sprintf("%s: gave up waiting: %v", e.missing, e.cause)
}

func (e *inVain) Unwrap() error { return e.cause }

// victim is one node as kill or pause found it.
type victim struct {
	node string
	id   devnet.Identity
}

func (v victim) String() string { return fmt.Sprintf("%s (process %s)", v.node, v.id) }

// runs reports whether the node's process runs and is not stopped; true where
// nobody can tell.
func (n Net) runs(node string) bool {
	if n.Processes == nil {
		return true
	}
	id, ok := n.Processes.Identity(node)
	if !ok {
		return false
	}
	state, _, err := devnet.State(id)
	return err == nil && devnet.Alive(id) && state != stopped
}

// running lists the nodes that run now, in the order of the network.
func running(net Net) []victim {
	var vs []victim
	for _, n := range net.Nodes {
		if id, ok := net.Processes.Identity(n); ok && devnet.Alive(id) {
			vs = append(vs, victim{n, id})
		}
	}
	return vs
}

func names(vs []victim) []string {
	ns := make([]string, len(vs))
	for i, v := range vs {
		ns[i] = v.node
	}
	return ns
}

// each calls do for every index at the same time and joins the errors in order.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
