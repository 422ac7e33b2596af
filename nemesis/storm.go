package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

const (
	stormStart = "start-storm"
	stormStop  = "stop-storm"
	// stormPause is the longest time between a start and the next kill.
	stormPause = 2 * time.Second
	// stormKills is how many kills show that a storm rages.
	stormKills = 2
)

// stormFault kills and starts nodes again and again.
type stormFault struct {
	targets targets
	pause   time.Duration // 0: stormPause
}

func stormEntry() Entry {
	return Entry{
		Name: "storm", Doc: "kill and start nodes again and again, also while they start", Specs: specs(new(stormFault).params()...),
		Start: stormStart, Stop: stormStop, Color: "#D97B74", New: newStorm,
	}
}

func (f *stormFault) params() []param {
	return []param{f.targets.param(), duration(&f.pause, "the longest time from a start to the next kill, such as 2s", 10*time.Millisecond, time.Minute)}
}

func newStorm(spec string) (Fault, error) {
	var f stormFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f stormFault) Name() string {
	name := "storm" + f.targets.suffix()
	if f.pause > 0 {
		name += ":" + f.pause.String()
	}
	return name
}

func (stormFault) Start() string { return stormStart }
func (stormFault) Stop() string  { return stormStop }

// who is one node, unless asked for others.
func (f stormFault) who() targets {
	if f.targets.kind == nil && f.targets.node == "" {
		return targets{kind: &targetKinds()[0]}
	}
	return f.targets
}

func (f stormFault) most() time.Duration {
	if f.pause == 0 {
		return stormPause
	}
	return f.pause
}

func (f stormFault) Explain() string {
	return fmt.Sprintf("Kills nodes with SIGKILL and starts them at once on their old data directories, again and again while it is in force, "+
		"each time after a drawn pause of up to %v, half of the pauses a tenth of that, so that some kills hit a node that has not finished to start. "+
		"It bites when each node was killed %d times and each time its very process was seen gone. "+
		"It is undone when nobody kills any more and each node runs, answers RPC and has caught up with consensus. ", f.most(), stormKills) +
		f.who().explain()
}

func (f stormFault) Possible(r Reach) error { return f.who().possible(f.Name(), r) }

func (f stormFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.who().plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	s := &storming{lives: newLives(net, vs), most: f.most(), clouds: make([]cloud, len(vs))}
	for i := range s.clouds {
		s.clouds[i].rng = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	}
	return s, nil
}

// storming is one application of storm. Each victim has a goroutine, which ends
// with Undo.
type storming struct {
	lives
	most   time.Duration
	clouds []cloud

	cancel context.CancelFunc // nil before Apply
	wg     sync.WaitGroup
}

// cloud hangs over one victim.
type cloud struct {
	rng    *rand.Rand
	kills  atomic.Int64 // seen gone after our SIGKILL
	starts atomic.Int64 // incarnations that were started
	failed atomic.Int64 // starts that failed, as they may when a port is still taken
	stuck  atomic.Pointer[error]
	struck devnet.Identity // whom it sent the last SIGKILL
}

func (s *storming) Value() history.Value {
	return restartingValue(s.victims, history.Keyword("pause-ms"), history.Int(s.most.Milliseconds()))
}

func (s *storming) UndoSteps() []Step { return steps(stepStart, s.victims) }

func (s *storming) Apply(ctx context.Context) error {
	// It rages until Undo, longer than the context of Apply.
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i := range s.victims {
		s.wg.Go(func() { s.rage(ctx, i) })
	}
	return nil
}

// rage kills and starts one node until ctx ends.
func (s *storming) rage(ctx context.Context, i int) {
	c, v := &s.clouds[i], s.victims[i]
	fail := func(err error) {
		if ctx.Err() == nil {
			c.stuck.Store(&err)
		}
	}
	for first := true; ; first = false {
		pause := s.most
		if c.rng.IntN(2) == 0 {
			pause /= 10
		}
		pause = time.Duration(c.rng.Int64N(int64(pause)) + 1)
		if !first && !idle(ctx, pause) || ctx.Err() != nil {
			return
		}
		if id, up := s.net.Processes.Identity(v.node); up {
			switch err := devnet.Signal(id, syscall.SIGKILL); {
			case err == nil:
				c.struck = id
				if err := gone(ctx, victim{v.node, id}); err != nil {
					fail(err)
					return
				}
				c.kills.Add(1)
			case !errors.Is(err, os.ErrProcessDone):
				fail(err)
				return
			}
			v.id = id
		}
		switch _, err := revive(ctx, s.net, v); {
		case err == nil:
			c.starts.Add(1)
		case ctx.Err() == nil:
			c.failed.Add(1)
		}
	}
}

func gone(ctx context.Context, v victim) error {
	return await(ctx, glance, func() (string, error) {
		if devnet.Alive(v.id) {
			return fmt.Sprintf("%s: still runs after SIGKILL", v), nil
		}
		return "", nil
	})
}

func (s *storming) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		for i, v := range s.victims {
			c := &s.clouds[i]
			if err := c.stuck.Load(); err != nil {
				return "", *err
			}
			if kills, starts := c.kills.Load(), c.starts.Load(); kills < stormKills || starts < stormKills-1 {
				return fmt.Sprintf("node %q: %d kills and %d starts (%d failed), expected %d kills", v.node, kills, starts, c.failed.Load(), stormKills), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range s.victims {
		kvs = append(kvs, history.Text(v.node), history.MapOf(s.clouds[i].count()...))
	}
	return history.MapOf(kvs...), nil
}

func (c *cloud) count() []history.Value {
	return []history.Value{
		history.Keyword("kills"), history.Int(c.kills.Load()),
		history.Keyword("starts"), history.Int(c.starts.Load()),
		history.Keyword("failed-starts"), history.Int(c.failed.Load()),
	}
}

func (s *storming) Undo(ctx context.Context) error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	s.wg.Wait()
	return each(len(s.victims), func(i int) error {
		v := s.victims[i]
		if id, up := s.net.Processes.Identity(v.node); up {
			// One that is on its way out may still look alive.
			if id != s.clouds[i].struck && devnet.Alive(id) {
				s.fresh[i] = id
				return nil
			}
			v.id = id
		}
		var err error
		s.fresh[i], err = revive(ctx, s.net, v)
		return err
	})
}

func (s *storming) VerifyUndone(ctx context.Context) (history.Value, error) {
	if s.cancel == nil {
		return history.MapOf(), nil
	}
	return s.ready(ctx, func(i int) []history.Value { return s.clouds[i].count() })
}
