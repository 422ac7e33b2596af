package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// motion is what the clocks of the targets do.
type motion struct {
	params []history.Value // for Value
	// offsets are taken in turn, each for every; one of them for good when every
	// is 0.
	offsets []time.Duration
	every   time.Duration
	once    bool    // the last one stays
	ppm     float64 // what the offset grows by, µs/s
	// bites looks at a target once and says what is missing; seen keeps, for that
	// target, what it was measured at.
	bites func(s *clock.Skew, r clock.Reading, seen *sighting) (missing string)
}

// clockExplain is what all clock faults have to say.
const clockExplain = "Only the nodes that are hit see it, and of their clocks only the real-time one: it is changed in the process' own vDSO, " +
	"so that the host's clock, the other nodes' and durations by monotonic clocks stay right, and so do file times, timers that are armed and raw system calls. " +
	"A node that restarts meanwhile is right for some 100 ms and then off again; one that ends, as some do by their own rules (CometBFT does when two thirds accept a block that it finds too far in the future), is started again when its clock is right. " +
	"It is over at the latest 1.5 s after jepgo has died, in whatever way. "

// clockFault is one of the faults that set clocks off.
type clockFault struct {
	kind    string
	asked   string // what --nemesis said beside the targets, with its colons
	targets targets
	explain string
	draw    func(rng *rand.Rand) motion
}

func (f clockFault) Name() string  { return f.kind + f.targets.suffix() + f.asked }
func (f clockFault) Start() string { return "start-" + f.kind }
func (f clockFault) Stop() string  { return "stop-" + f.kind }

func (f clockFault) Explain() string { return f.explain + " " + clockExplain + f.targets.explain() }

func (f clockFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	if err := clock.Probe(); err != nil {
		return fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	return nil
}

func (f clockFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	return &skewing{net: net, victims: vs, motion: f.draw(rng), skews: make([]*clock.Skew, len(vs)), ids: identities(vs), fresh: make([]devnet.Identity, len(vs))}, nil
}

func identities(vs []victim) []devnet.Identity {
	ids := make([]devnet.Identity, len(vs))
	for i, v := range vs {
		ids[i] = v.id
	}
	return ids
}

// skewing is one application of a clock fault.
type skewing struct {
	net     Net
	victims []victim
	motion  motion
	host    time.Duration     // real-time clock - monotonic clock of this machine at the onset
	stop    func()            // the tending, and waits for it; nil: never begun
	fresh   []devnet.Identity // of each victim that had ended and was started by Undo

	mu     sync.Mutex
	onset  time.Time
	turn   int               // index in motion.offsets
	skews  []*clock.Skew     // of each victim's present incarnation; nil: not set off
	ids    []devnet.Identity // present incarnations
	again  int               // incarnations that were set off anew
	failed map[string]error  // why one was not, by node
	lapses int               // of the leases of incarnations that are gone
}

func (s *skewing) Value() history.Value {
	return restartingValue(s.victims, s.motion.params...) // a node may not survive it
}

func (s *skewing) UndoSteps() []Step {
	ss := steps(stepClock, s.victims)
	self, err := devnet.Lookup(os.Getpid())
	for i := range ss {
		if err == nil {
			ss[i].Was = self.String()
		}
	}
	return ss
}

func (s *skewing) Apply(context.Context) error {
	var err error
	if s.host, err = hostClock(); err != nil {
		return err
	}
	s.mu.Lock()
	s.onset, s.failed = time.Now(), map[string]error{}
	s.mu.Unlock()
	err = each(len(s.victims), func(i int) error {
		if err := s.set(i, s.victims[i].id); err != nil {
			return fmt.Errorf("%s: %w", s.victims[i], err)
		}
		return nil
	})
	stop, done := make(chan struct{}), make(chan struct{})
	s.stop = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	go func() {
		defer close(done)
		s.tend(stop)
	}()
	return err
}

// set sets the clock of one victim's incarnation off.
func (s *skewing) set(i int, id devnet.Identity) error {
	skew, err := clock.Install(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skews[i], s.ids[i] = skew, id
	return s.ask(skew)
}

// ask lets a clock be what it shall be now. The caller has the lock.
func (s *skewing) ask(skew *clock.Skew) error {
	return skew.SetSince(s.motion.offsets[s.turn], s.motion.ppm, s.onset)
}

// tend takes the turns of the motion, and sets off what comes back.
func (s *skewing) tend(stop <-chan struct{}) {
	watch := time.NewTicker(look)
	defer watch.Stop()
	var turns <-chan time.Time
	if s.motion.every > 0 {
		t := time.NewTicker(s.motion.every)
		defer t.Stop()
		turns = t.C
	}
	for {
		select {
		case <-stop:
			return
		case <-turns:
			s.next()
		case <-watch.C:
			s.follow()
		}
	}
}

// next takes the next turn.
func (s *skewing) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.turn + 1
	if next == len(s.motion.offsets) {
		if s.motion.once {
			return
		}
		next = 0
	}
	s.turn = next
	for i, skew := range s.skews {
		if skew == nil {
			continue
		}
		if err := s.ask(skew); err != nil {
			s.failed[s.victims[i].node] = err
		}
	}
}

// follow sets off victims that came back as another process.
func (s *skewing) follow() {
	for i, v := range s.victims {
		id, up := s.net.Processes.Identity(v.node)
		s.mu.Lock()
		was, old := s.ids[i], s.skews[i]
		s.mu.Unlock()
		if !up || id == was || devnet.Alive(was) || !devnet.Alive(id) {
			continue
		}
		if old != nil {
			_ = old.Remove() // there is nothing left to restore
		}
		err := s.set(i, id)
		s.mu.Lock()
		if old != nil {
			s.lapses += old.Lapses()
		}
		switch {
		case err == nil:
			s.again++
			delete(s.failed, v.node)
		case devnet.Alive(id): // else it is no more
			s.failed[v.node] = err
			if s.skews[i] == old {
				s.skews[i] = nil
			}
		}
		s.mu.Unlock()
	}
}

// present returns what is known of a victim now.
func (s *skewing) present(i int) (*clock.Skew, victim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skews[i], victim{s.victims[i].node, s.ids[i]}
}

// Undo sets the clocks right, and starts the nodes that did not survive it.
func (s *skewing) Undo(ctx context.Context) error {
	if s.stop != nil {
		s.stop()
	}
	err := each(len(s.victims), func(i int) error {
		skew, v := s.present(i)
		if skew == nil {
			return nil
		}
		if err := skew.Remove(); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		return nil
	})
	return errors.Join(err, each(len(s.victims), func(i int) (err error) {
		_, v := s.present(i)
		if devnet.Alive(v.id) {
			return nil
		}
		s.fresh[i], err = revive(ctx, s.net, v)
		return err
	}))
}
