package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

const (
	killStart = "kill"
	killStop  = "start"
)

// stepStart says that Node, whose incarnation Target was killed, must run again.
const stepStart = "start"

// killGrace is how long a process may take to end by another signal than SIGKILL,
// before it is made to.
const killGrace = 5 * time.Second

// killFault ends nodes by a signal and starts them again on their old data.
type killFault struct {
	targets targets
	signal  string // "": SIGKILL
}

func killEntry() Entry {
	return Entry{
		Name: "kill", Doc: "SIGKILL nodes, or another deadly signal, and start them again on their old data", Specs: specs(new(killFault).params()...),
		Start: killStart, Stop: killStop, Color: "#E9A4A0", New: newKill,
	}
}

func (k *killFault) params() []param {
	return []param{k.targets.param(), oneOf(&k.signal, signalNames()...)}
}

// newKill reads the part of --nemesis after the colon.
func newKill(spec string) (Fault, error) {
	var f killFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (k killFault) Name() string { return "kill" + k.targets.suffix() + suffix(k.signal) }

func (killFault) Start() string { return killStart }
func (killFault) Stop() string  { return killStop }

func (k killFault) Explain() string {
	how := "Kills nodes with SIGKILL, so that nothing can be flushed"
	if k.signal != "" && k.signal != "SIGKILL" {
		how = fmt.Sprintf("Ends nodes with %s, which they may handle; one that does not end by it is no evidence, and gets SIGKILL after %v more", k.signal, killGrace)
	}
	return how + ", and starts them again on their old data directories. " +
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
	return &killing{lives: newLives(net, vs), name: k.signal, signal: signalNamed(k.signal)}, nil
}

// killing is one application of kill.
type killing struct {
	lives
	name   string // of the signal, "" unless asked for
	signal syscall.Signal
}

func (k *killing) Value() history.Value {
	if k.name == "" {
		return history.Vec(texts(names(k.victims))...)
	}
	return restartingValue(k.victims, history.Keyword("signal"), history.Text(k.name))
}

func (k *killing) UndoSteps() []Step { return steps(stepStart, k.victims) }

func (k *killing) Apply(context.Context) error { return k.tell(k.signal) }

func (k *killing) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		for _, v := range k.victims {
			if devnet.Alive(v.id) {
				return fmt.Sprintf("%s: still runs after %s", v, k.signalName()), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range k.victims {
		seen := append(identity(v.id), history.Keyword("gone"), history.Flag(true))
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(seen, k.ended(ctx, i)...)...))
	}
	return history.MapOf(kvs...), nil
}

func (k *killing) signalName() string {
	if k.name == "" {
		return "SIGKILL"
	}
	return k.name
}

// Undo starts all nodes at the same time: none of them may be able to catch up
// before the others are there.
func (k *killing) Undo(ctx context.Context) error {
	return each(len(k.victims), func(i int) error {
		if k.spared(i) {
			return nil
		}
		// What may end at any later moment is no state to leave a node in.
		if k.signal != syscall.SIGKILL {
			if err := k.end(ctx, i, killGrace); err != nil {
				return err
			}
		}
		return k.revive(ctx, i)
	})
}

func (k *killing) VerifyUndone(ctx context.Context) (history.Value, error) {
	return k.ready(ctx, nil)
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
