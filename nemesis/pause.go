package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/history"
)

const (
	pauseStart = "pause"
	pauseStop  = "resume"
)

// stepResume is a SIGCONT to Target.
const stepResume = "resume"

// stopped is the state letter of a process that was stopped by a signal. (A
// tracer's stop is t, which is not our doing.)
const stopped = 'T'

// freezer is the other way to pause.
const freezer = "freeze"

// pauseFault stops nodes with SIGSTOP, or by the freezer of their control groups,
// and lets them go on.
type pauseFault struct {
	targets targets
	by      string // "": SIGSTOP
}

func pauseEntry() Entry {
	return Entry{
		Name: "pause", Doc: "SIGSTOP nodes, and let them go on", Specs: specs(new(pauseFault).params()...),
		Start: pauseStart, Stop: pauseStop, Color: "#A0B1E9", New: newPause,
	}
}

func (p *pauseFault) params() []param {
	return []param{p.targets.param(), oneOf(&p.by, freezer)}
}

// newPause reads the part of --nemesis after the colon.
func newPause(spec string) (Fault, error) {
	var f pauseFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (p pauseFault) Name() string { return "pause" + p.targets.suffix() + suffix(p.by) }

func (pauseFault) Start() string { return pauseStart }
func (pauseFault) Stop() string  { return pauseStop }

func (p pauseFault) Explain() string {
	how, seen := "Stops nodes with SIGSTOP, as a long garbage collection or a frozen virtual machine would, and lets them go on with SIGCONT; ",
		"It bites when each process is seen stopped (state T) and uses no processor time between two looks. "
	if p.by == freezer {
		how, seen = "Freezes nodes with the freezer of a control group, which a process cannot notice as it can SIGSTOP, and thaws them; ",
			"It bites when the kernel says that all of each process is frozen and it uses no processor time between two looks. "
	}
	return how + "their connections stay open meanwhile. " + seen +
		"It is undone when each is no longer stopped and uses processor time again or is ready by RPC; " +
		"a process that ended meanwhile has nothing left to undo. " +
		p.targets.explain()
}

func (p pauseFault) Possible(r Reach) error {
	if err := p.targets.possible(p.Name(), r); err != nil || p.by != freezer {
		return err
	}
	return groupsMissing(p.Name(), cgroup.Freezer)
}

func (p pauseFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := p.targets.plan(ctx, p.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	app := &pausing{net: net, victims: vs, ticks: make([]uint64, len(vs))}
	if p.by == freezer {
		s, err := seat(net, vs, cgroup.Freezer)
		if err != nil {
			return nil, fmt.Errorf("nemesis %q: %w", p.Name(), err)
		}
		app.freezer = &s
	}
	return app, nil
}

// pausing is one application of pause.
type pausing struct {
	net     Net
	victims []victim
	ticks   []uint64 // processor time used when last seen stopped
	freezer *seats   // nil: by signals
}

func (p *pausing) Value() history.Value {
	if p.freezer != nil {
		return onNodes(p.victims, history.Keyword("by"), history.Keyword(freezer))
	}
	return history.Vec(texts(names(p.victims))...)
}

func (p *pausing) UndoSteps() []Step {
	if p.freezer != nil {
		return p.freezer.steps()
	}
	return steps(stepResume, p.victims)
}

func (p *pausing) Apply(ctx context.Context) error {
	if p.freezer != nil {
		if err := p.freezer.enter(); err != nil {
			return err
		}
		return each(len(p.victims), func(i int) error { return p.freezer.groups[i].Freeze(ctx) })
	}
	var errs []error
	for _, v := range p.victims {
		errs = append(errs, devnet.Signal(v.id, syscall.SIGSTOP))
	}
	return errors.Join(errs...)
}

// stands reports whether a victim in that state is paused by us.
func (p *pausing) stands(i int, state byte) (bool, error) {
	if p.freezer == nil {
		return state == stopped, nil
	}
	g := p.freezer.groups[i]
	if !g.Exists() {
		return false, nil
	}
	frozen, err := g.Frozen()
	return frozen && g.Has(p.victims[i].id), err
}

func (p *pausing) Probe(ctx context.Context) (history.Value, error) {
	err := each(len(p.victims), func(i int) error {
		v := p.victims[i]
		twice := false // the look before this one found it stopped with p.ticks[i]
		return await(ctx, look, func() (string, error) {
			state, ticks, err := devnet.State(v.id)
			if err != nil {
				return "", fmt.Errorf("%s: %w", v, err)
			}
			stands, err := p.stands(i, state)
			if err != nil {
				return "", err
			}
			still := stands && twice && ticks == p.ticks[i]
			twice, p.ticks[i] = stands, ticks
			if still {
				return "", nil
			}
			return fmt.Sprintf("%s: state %c, not seen standing still after %s", v, state, p.how()), nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range p.victims {
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(v.id),
			history.Keyword("state"), history.Text(p.state()),
			history.Keyword("cpu-ticks"), history.Int(int64(p.ticks[i])))...))
	}
	return history.MapOf(kvs...), nil
}

func (p *pausing) how() string {
	if p.freezer != nil {
		return "freezing"
	}
	return "SIGSTOP"
}

func (p *pausing) state() string {
	if p.freezer != nil {
		return "frozen"
	}
	return string(stopped)
}

// Stands finds out a SIGCONT of somebody else's, also one that was followed by
// another stop: then processor time was used.
func (p *pausing) Stands() error {
	var errs []error
	for i, v := range p.victims {
		state, ticks, err := devnet.State(v.id)
		if err != nil || !devnet.Alive(v.id) {
			continue // ended
		}
		stands, err := p.stands(i, state)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !stands:
			errs = append(errs, fmt.Errorf("%s: somebody let it go on: state %c", v, state))
		case ticks > p.ticks[i]+1: // one may be told late
			errs = append(errs, fmt.Errorf("%s: somebody let it go on: it used %d ticks of processor time while paused", v, ticks-p.ticks[i]))
		}
	}
	return errors.Join(errs...)
}

func (p *pausing) Undo(ctx context.Context) error {
	for i, v := range p.victims {
		if state, ticks, err := devnet.State(v.id); err == nil {
			if stands, err := p.stands(i, state); err == nil && stands {
				p.ticks[i] = ticks
			}
		}
	}
	if p.freezer != nil {
		return p.freezer.lift(ctx)
	}
	var errs []error
	for _, v := range p.victims {
		if err := devnet.Signal(v.id, syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *pausing) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(p.victims))
	err := each(len(p.victims), func(i int) (err error) {
		if p.freezer != nil {
			if err := p.freezer.groups[i].Lifted(); err != nil {
				return fmt.Errorf("%s: %w", p.victims[i], err)
			}
		}
		seen[i], err = p.verify(ctx, p.victims[i], p.ticks[i])
		return err
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range p.victims {
		kvs = append(kvs, history.Text(v.node), seen[i])
	}
	return history.MapOf(kvs...), nil
}

// verify takes the first of two proofs: processor time, or readiness by RPC for
// a node that idles.
func (p *pausing) verify(ctx context.Context, v victim, ticks uint64) (history.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- p.net.Processes.Ready(ctx, v.node) }()
	answered := false
	var evidence []history.Value
	err := await(ctx, look, func() (string, error) {
		select {
		case err := <-ready:
			answered = err == nil
		default:
		}
		state, now, err := devnet.State(v.id)
		switch {
		case errors.Is(err, os.ErrProcessDone) || err == nil && !devnet.Alive(v.id):
			evidence = []history.Value{history.Keyword("gone"), history.Flag(true)}
		case err != nil:
			return "", fmt.Errorf("%s: %w", v, err)
		case state == stopped:
			return fmt.Sprintf("%s: still stopped after SIGCONT", v), nil
		case now > ticks:
			evidence = []history.Value{history.Keyword("cpu-ticks"), history.Int(int64(now - ticks))}
		case answered:
			evidence = []history.Value{history.Keyword("ready"), history.Flag(true)}
		default:
			return fmt.Sprintf("%s: state %c, but it does nothing after SIGCONT", v, state), nil
		}
		return "", nil
	})
	return history.MapOf(append(identity(v.id), evidence...)...), err
}

func takeBackPause(ctx context.Context, s Step) (string, error) {
	v := victim{s.Node, s.Target}
	did := fmt.Sprintf("%s was let go on", v)
	err := await(ctx, look, func() (string, error) {
		err := devnet.Signal(v.id, syscall.SIGCONT)
		if errors.Is(err, os.ErrProcessDone) {
			did = fmt.Sprintf("%s is gone", v)
			return "", nil
		}
		if err != nil {
			return "", err
		}
		state, _, err := devnet.State(v.id)
		if err == nil && state == stopped {
			return fmt.Sprintf("%s: still stopped after SIGCONT", v), nil
		}
		return "", nil // not stopped, or gone meanwhile
	})
	if err != nil {
		return "nothing", err
	}
	return did, nil
}
