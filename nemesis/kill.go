package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

const (
	killStart = "kill"
	killStop  = "start"
)

// stepStart says that Node, whose incarnation Target was killed, must run again.
const stepStart = "start"

// killFault sends SIGKILL to nodes and starts them again on their old data.
type killFault struct{ targets targets }

func killEntry() Entry {
	return Entry{
		Name: "kill", Doc: "SIGKILL nodes, and start them again on their old data", Specs: specs(new(targets).param()),
		Start: killStart, Stop: killStop, Color: "#E9A4A0", New: newKill,
	}
}

// newKill reads the part of --nemesis after the colon.
func newKill(spec string) (Fault, error) {
	var f killFault
	err := parseSpec(spec, f.targets.param())
	return f, err
}

func (k killFault) Name() string { return "kill" + k.targets.suffix() }

func (killFault) Start() string { return killStart }
func (killFault) Stop() string  { return killStop }

func (k killFault) Explain() string {
	return "Kills nodes with SIGKILL, so that nothing can be flushed, and starts them again on their old data directories. " +
		"It bites when the very process that was named is seen gone. " +
		"It is undone when each node runs as a new process, answers RPC and has caught up with consensus. " +
		k.targets.explain()
}

func (k killFault) Possible(r Reach) error {
	return k.targets.possible(k.Name(), r)
}

func (k killFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := k.targets.plan(ctx, k.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	return &killing{net: net, victims: vs, sent: make([]bool, len(vs)), fresh: make([]devnet.Identity, len(vs))}, nil
}

// killing is one application of kill.
type killing struct {
	net     Net
	victims []victim
	sent    []bool            // SIGKILL was delivered
	fresh   []devnet.Identity // incarnation after Undo
}

func (k *killing) Value() history.Value { return history.Vec(texts(names(k.victims))...) }
func (k *killing) UndoSteps() []Step    { return steps(stepStart, k.victims) }

func (k *killing) Apply(context.Context) error {
	var errs []error
	for i, v := range k.victims {
		err := devnet.Signal(v.id, syscall.SIGKILL)
		k.sent[i] = err == nil
		if errors.Is(err, os.ErrProcessDone) {
			// Somebody else's work is not ours to claim.
			err = fmt.Errorf("%s: ended before it was killed", v)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (k *killing) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		for _, v := range k.victims {
			if devnet.Alive(v.id) {
				return fmt.Sprintf("%s: still runs after SIGKILL", v), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for _, v := range k.victims {
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(v.id),
			history.Keyword("gone"), history.Flag(true))...))
	}
	return history.MapOf(kvs...), nil
}

// Undo starts all nodes at the same time: none of them may be able to catch up
// before the others are there.
func (k *killing) Undo(ctx context.Context) error {
	return each(len(k.victims), func(i int) error {
		v := k.victims[i]
		if !k.sent[i] && devnet.Alive(v.id) {
			k.fresh[i] = v.id
			return nil
		}
		var id devnet.Identity
		var up bool
		err := await(ctx, look, func() (string, error) {
			id, up = k.net.Processes.Identity(v.node)
			if up && id == v.id {
				return fmt.Sprintf("%s: its end was not noticed", v), nil
			}
			return "", nil
		})
		if err != nil {
			return err
		}
		if !up {
			if id, err = k.net.Processes.Start(ctx, v.node); err != nil {
				return fmt.Errorf("node %q: start: %w", v.node, err)
			}
		}
		k.fresh[i] = id
		return nil
	})
}

func (k *killing) VerifyUndone(ctx context.Context) (history.Value, error) {
	err := each(len(k.victims), func(i int) error {
		node := k.victims[i].node
		if err := k.net.Processes.Ready(ctx, node); err != nil {
			return fmt.Errorf("node %q: not ready after its start: %w", node, err)
		}
		id, up := k.net.Processes.Identity(node)
		if !up || !devnet.Alive(id) || id != k.fresh[i] {
			return fmt.Errorf("node %q: process %s did not stay up", node, k.fresh[i])
		}
		return nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range k.victims {
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(k.fresh[i]),
			history.Keyword("was"), history.MapOf(identity(v.id)...),
			history.Keyword("ready"), history.Flag(true))...))
	}
	return history.MapOf(kvs...), nil
}

// takeBackKill waits, because the nodes of a run end with its owner. One that
// lives on was not killed, and that is all that a kill has to undo.
func takeBackKill(ctx context.Context, s Step) (string, error) {
	v := victim{s.Node, s.Target}
	if outlives(ctx, v.id, healWait) {
		return fmt.Sprintf("%s still runs: it was not killed", v), nil
	}
	return fmt.Sprintf("%s is gone, and its network with it", v), nil
}
