package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

const (
	restartStart = "start-restart"
	restartStop  = "stop-restart"
)

// The orders of a restart.
const (
	atOnce  = "at-once"
	rolling = "rolling"
)

// restartFault restarts nodes, all at once or one after the other.
type restartFault struct {
	targets targets
	order   string // "": at once
	signal  string // "": SIGTERM
}

func restartEntry() Entry {
	return Entry{
		Name: "restart", Doc: "restart nodes, all at once or one after the other", Specs: specs(new(restartFault).params()...),
		Start: restartStart, Stop: restartStop, Color: "#E9D3A0", New: newRestart,
	}
}

func (f *restartFault) params() []param {
	return []param{f.targets.param(), oneOf(&f.order, atOnce, rolling), oneOf(&f.signal, signalNames()...)}
}

func newRestart(spec string) (Fault, error) {
	var f restartFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f restartFault) Name() string {
	return "restart" + f.targets.suffix() + suffix(f.order) + suffix(f.signal)
}

func (restartFault) Start() string { return restartStart }
func (restartFault) Stop() string  { return restartStop }

// who is every node, unless asked for others: that is what a restart is for.
func (f restartFault) who() targets {
	if f.targets.kind == nil && f.targets.node == "" {
		for _, k := range targetKinds() {
			if k.name == "all" {
				return targets{kind: &k}
			}
		}
	}
	return f.targets
}

func (f restartFault) how() (name string, signal syscall.Signal) {
	if f.signal == "" {
		return "SIGTERM", syscall.SIGTERM
	}
	return f.signal, signalNamed(f.signal)
}

func (f restartFault) Explain() string {
	order := "all at once: none starts before all have ended. It bites when each runs as a new process. "
	if f.order == rolling {
		order = "one after the other, each when the one before it votes again, also beyond the interval. It bites when the first of them runs as a new process and is ready. "
	}
	name, _ := f.how()
	return fmt.Sprintf("Restarts nodes on their old data directories with %s, or SIGKILL for one that takes longer than %v, %s"+
		"It is undone when all have been restarted, answer RPC and have caught up with consensus. ", name, killGrace, order) +
		f.who().explain()
}

func (f restartFault) Possible(r Reach) error { return f.who().possible(f.Name(), r) }

func (f restartFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.who().plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	r := &restarting{lives: newLives(net, vs), rolling: f.order == rolling, took: make([]time.Duration, len(vs)), done: make(chan struct{})}
	r.name, r.signal = f.how()
	return r, nil
}

// restarting is one application of restart. Its work is done by one goroutine,
// which ends with Undo at the latest.
type restarting struct {
	lives
	rolling bool
	name    string
	signal  syscall.Signal

	cancel context.CancelFunc // nil before Apply
	done   chan struct{}      // closed when the work has ended; what follows is read after that
	took   []time.Duration    // from the signal to the end
	err    error
	count  atomic.Int64 // nodes that were restarted
}

func (r *restarting) Value() history.Value {
	order := atOnce
	if r.rolling {
		order = rolling
	}
	return restartingValue(r.victims, history.Keyword("order"), history.Keyword(order), history.Keyword("signal"), history.Text(r.name))
}

func (r *restarting) UndoSteps() []Step { return steps(stepStart, r.victims) }

func (r *restarting) Apply(ctx context.Context) error {
	// It goes on until Undo, longer than the context of Apply.
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	work := r.atOnce
	if r.rolling {
		work = r.roll
	}
	go func() {
		defer close(r.done)
		r.err = work(ctx)
	}()
	return nil
}

func (r *restarting) atOnce(ctx context.Context) error {
	err := each(len(r.victims), func(i int) error { return r.down(ctx, i) })
	if err != nil {
		return err
	}
	return each(len(r.victims), func(i int) error { return r.up(ctx, i) })
}

func (r *restarting) roll(ctx context.Context) error {
	for i, v := range r.victims {
		if err := r.down(ctx, i); err != nil {
			return err
		}
		if err := r.up(ctx, i); err != nil {
			return err
		}
		if err := r.net.Processes.Ready(ctx, v.node); err != nil {
			return fmt.Errorf("node %q: not ready after its start: %w", v.node, err)
		}
	}
	return nil
}

func (r *restarting) down(ctx context.Context, i int) error {
	v, began := r.victims[i], time.Now()
	if err := devnet.Signal(v.id, r.signal); errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: ended before it was restarted", v)
	} else if err != nil {
		return err
	}
	err := r.end(ctx, i, killGrace)
	r.took[i] = time.Since(began)
	return err
}

func (r *restarting) up(ctx context.Context, i int) error {
	if err := r.revive(ctx, i); err != nil {
		return err
	}
	r.count.Add(1)
	return nil
}

// Probe waits for the first node of a rolling restart, else for all.
func (r *restarting) Probe(ctx context.Context) (history.Value, error) {
	least := len(r.victims)
	if r.rolling {
		least = 1
	}
	err := await(ctx, glance, func() (string, error) {
		select {
		case <-r.done:
			if r.err != nil {
				return "", r.err
			}
		default:
		}
		if n := int(r.count.Load()); n < least {
			return fmt.Sprintf("%d of %d nodes were restarted", n, len(r.victims)), nil
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range r.victims {
		if i >= least {
			break
		}
		if devnet.Alive(v.id) {
			return history.Value{}, fmt.Errorf("%s: still runs after its restart", v)
		}
		seen := append(identity(v.id), history.Keyword("gone"), history.Flag(true), history.Keyword("took-ms"), history.Int(r.took[i].Milliseconds()))
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(seen, r.ended(ctx, i)...)...))
	}
	return history.MapOf(kvs...), nil
}

// Undo lets the restart come to its end, and starts whoever it left down.
func (r *restarting) Undo(ctx context.Context) error {
	if r.cancel == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	r.cancel()
	<-r.done
	return each(len(r.victims), func(i int) error {
		v := r.victims[i]
		if r.took[i] == 0 && devnet.Alive(v.id) { // its turn never came
			r.fresh[i] = v.id
			return nil
		}
		if err := r.end(ctx, i, killGrace); err != nil {
			return err
		}
		return r.revive(ctx, i)
	})
}

func (r *restarting) VerifyUndone(ctx context.Context) (history.Value, error) {
	if r.cancel == nil {
		return history.MapOf(), nil
	}
	return r.ready(ctx, func(i int) []history.Value {
		return []history.Value{history.Keyword("restarted"), history.Flag(r.fresh[i] != r.victims[i].id)}
	})
}
