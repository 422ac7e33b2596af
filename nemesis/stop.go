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
	stopStart = "start-stop"
	stopStop  = "stop-stop"
	// stopGrace is how long a node may take to end in order.
	stopGrace = 10 * time.Second
)

// stopFault ends nodes in order and starts them again on their old data.
type stopFault struct {
	targets targets
	grace   time.Duration // 0: stopGrace
}

func stopEntry() Entry {
	return Entry{
		Name: "stop", Doc: "stop nodes in order with SIGTERM, and start them again", Specs: specs(new(stopFault).params()...),
		Start: stopStart, Stop: stopStop, Color: "#E9C2A0", New: newStop,
	}
}

func (f *stopFault) params() []param {
	return []param{f.targets.param(), duration(&f.grace, "the time to end in, such as 10s", 100*time.Millisecond, 15*time.Second)}
}

func newStop(spec string) (Fault, error) {
	var f stopFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f stopFault) Name() string {
	name := "stop" + f.targets.suffix()
	if f.grace > 0 {
		name += ":" + f.grace.String()
	}
	return name
}

func (stopFault) Start() string { return stopStart }
func (stopFault) Stop() string  { return stopStop }

func (f stopFault) within() time.Duration {
	if f.grace == 0 {
		return stopGrace
	}
	return f.grace
}

func (f stopFault) Explain() string {
	return fmt.Sprintf("Stops nodes with SIGTERM, as an operator does, and starts them again on their old data directories. "+
		"It bites when each process has ended within %v; how it ended, where the network tells, and the time that it took are the evidence. "+
		"One that has not ended by then is no evidence, and gets SIGKILL. "+
		"It is undone when each node runs as a new process, answers RPC and has caught up with consensus. ", f.within()) +
		f.targets.explain()
}

func (f stopFault) Possible(r Reach) error { return f.targets.possible(f.Name(), r) }

func (f stopFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	return &stopping{lives: newLives(net, vs), grace: f.within(), took: make([]time.Duration, len(vs))}, nil
}

// stopping is one application of stop.
type stopping struct {
	lives
	grace time.Duration
	began time.Time
	took  []time.Duration // to end
}

func (s *stopping) Value() history.Value {
	return restartingValue(s.victims, history.Keyword("signal"), history.Text("SIGTERM"), history.Keyword("grace-ms"), history.Int(s.grace.Milliseconds()))
}

func (s *stopping) UndoSteps() []Step { return steps(stepStart, s.victims) }

func (s *stopping) Apply(context.Context) error {
	s.began = time.Now()
	return s.tell(syscall.SIGTERM)
}

func (s *stopping) Probe(ctx context.Context) (history.Value, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, s.began.Add(s.grace), fmt.Errorf("expected it to end within %v", s.grace))
	defer cancel()
	err := each(len(s.victims), func(i int) error {
		return await(ctx, glance, func() (string, error) {
			if devnet.Alive(s.victims[i].id) {
				return fmt.Sprintf("%s: still runs after SIGTERM", s.victims[i]), nil
			}
			s.took[i] = time.Since(s.began)
			return "", nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range s.victims {
		seen := append(identity(v.id), history.Keyword("gone"), history.Flag(true), history.Keyword("took-ms"), history.Int(s.took[i].Milliseconds()))
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(seen, s.ended(ctx, i)...)...))
	}
	return history.MapOf(kvs...), nil
}

func (s *stopping) Undo(ctx context.Context) error {
	return each(len(s.victims), func(i int) error {
		if s.spared(i) {
			return nil
		}
		if err := s.end(ctx, i, time.Until(s.began.Add(s.grace))); err != nil {
			return err
		}
		return s.revive(ctx, i)
	})
}

func (s *stopping) VerifyUndone(ctx context.Context) (history.Value, error) { return s.ready(ctx, nil) }
