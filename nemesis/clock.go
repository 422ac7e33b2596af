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

// stepClock restores the vDSO of Target, and of whatever else process Was, the
// owner, has set off: a target that came back meanwhile.
const stepClock = "clock"

// clockSlack is how far a measured clock may be from what was asked for.
const clockSlack = time.Millisecond

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

// sighting is what was measured of one target while the fault was in force.
type sighting struct {
	first, last clock.Reading // the first one that showed something, and the newest
	asked       time.Duration // of last
	flips       int
}

// clockExplain is what all clock faults have to say.
const clockExplain = "Only the nodes that are hit see it, and of their clocks only the real-time one: it is changed in the process' own vDSO, " +
	"so that the host's clock, the other nodes' and durations by monotonic clocks stay right, and so do file times, timers that are armed and raw system calls. " +
	"A node that restarts meanwhile is right for some 100 ms and then off again. It is over at the latest 1.5 s after jepgo has died, in whatever way. "

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
	return &skewing{net: net, victims: vs, motion: f.draw(rng), skews: make([]*clock.Skew, len(vs)), ids: identities(vs)}, nil
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
	host    time.Duration // real-time clock - monotonic clock of this machine at the onset
	stop    func()        // the tending, and waits for it; nil: never begun

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
	return history.MapOf(append([]history.Value{history.Keyword("nodes"), history.Vec(texts(names(s.victims))...)}, s.motion.params...)...)
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

func (s *skewing) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]sighting, len(s.victims))
	err := each(len(s.victims), func(i int) error {
		return await(ctx, probeEvery, func() (string, error) {
			skew, v := s.present(i)
			if skew == nil {
				return fmt.Sprintf("%s: its clock was not set off", v), nil
			}
			r, err := skew.Read()
			if errors.Is(err, os.ErrProcessDone) {
				return fmt.Sprintf("%s: ended before its clock was seen to be off", v), nil
			}
			if err != nil {
				return "", err
			}
			missing := s.motion.bites(skew, r, &seen[i])
			if missing != "" {
				missing = fmt.Sprintf("%s: %s", v, missing)
			}
			return missing, nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i := range s.victims {
		_, v := s.present(i)
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(v.id), seen[i].values()...)...))
	}
	beside, err := s.beside()
	return history.MapOf(append(kvs, beside...)...), err
}

// probeEvery is how often a clock is looked at: not in step with any strobe.
const probeEvery = 7 * time.Millisecond

func (g sighting) values() []history.Value {
	kvs := []history.Value{
		history.Keyword("offset-ms"), milliseconds(g.asked),
		history.Keyword("measured-ms"), milliseconds(g.last.Offset),
		history.Keyword("bound-ms"), milliseconds(g.last.Bound),
	}
	if g.flips > 0 {
		kvs = append(kvs, history.Keyword("flips"), history.Int(int64(g.flips)))
	}
	if span := g.last.Host.Sub(g.first.Host); g.flips == 0 && span > 0 && !g.first.Host.IsZero() {
		kvs = append(kvs, history.Keyword("measured-ppm"), history.FloatOf(float64(g.last.Offset-g.first.Offset)/float64(span)*1e6))
	}
	return kvs
}

// milliseconds is a duration as a number, whole where it is.
func milliseconds(d time.Duration) history.Value {
	if d%time.Millisecond == 0 {
		return history.Int(int64(d / time.Millisecond))
	}
	return history.FloatOf(float64(d) / float64(time.Millisecond))
}

// beside measures what must not have moved: this machine's clock and the other
// nodes'. A node that is on its way down is left out.
func (s *skewing) beside() ([]history.Value, error) {
	now, err := hostClock()
	if err != nil {
		return nil, err
	}
	kvs := []history.Value{history.Keyword("host-moved-ms"), milliseconds(now - s.host)}
	var others []history.Value
	for _, v := range running(s.net) {
		if s.hits(v.node) {
			continue
		}
		r, err := clock.Read(v.id)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		others = append(others, history.Text(v.node), milliseconds(r.Offset))
	}
	return append(kvs, history.Keyword("others-ms"), history.MapOf(others...)), nil
}

func (s *skewing) hits(node string) bool {
	for _, v := range s.victims {
		if v.node == node {
			return true
		}
	}
	return false
}

// ClockOffsets reads the clocks of all nodes that run, for the history: see Clocked.
func (s *skewing) ClockOffsets() history.Value {
	up := running(s.net)
	read := make([]history.Value, len(up))
	_ = each(len(up), func(i int) error {
		if r, err := clock.Read(up[i].id); err == nil { // else it has no point on the plot
			read[i] = history.FloatOf(r.Offset.Seconds())
		}
		return nil
	})
	var kvs []history.Value
	for i, v := range up {
		if !read[i].IsNil() {
			kvs = append(kvs, history.Text(v.node), read[i])
		}
	}
	return history.MapOf(kvs...)
}

func (s *skewing) Undo(context.Context) error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	return each(len(s.victims), func(i int) error {
		skew, v := s.present(i)
		if skew == nil {
			return nil
		}
		if err := skew.Remove(); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		return nil
	})
}

// VerifyUndone looks at the vDSO of each target, and reads its clock.
func (s *skewing) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(s.victims))
	err := each(len(s.victims), func(i int) error {
		_, v := s.present(i)
		if id, up := s.net.Processes.Identity(v.node); up {
			v.id = id
		}
		return await(ctx, look, func() (missing string, err error) {
			seen[i], missing, err = clean(v)
			return missing, err
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range s.victims {
		kvs = append(kvs, history.Text(v.node), seen[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lapses := s.lapses
	for _, skew := range s.skews {
		if skew != nil {
			lapses += skew.Lapses()
		}
	}
	if s.again > 0 {
		kvs = append(kvs, history.Keyword("set-again"), history.Int(int64(s.again)))
	}
	if lapses > 0 {
		kvs = append(kvs, history.Keyword("lapses"), history.Int(int64(lapses)))
	}
	for _, v := range s.victims {
		if err := s.failed[v.node]; err != nil {
			kvs = append(kvs, history.Keyword("not-set-again"), history.Text(fmt.Sprintf("%s: %v", v.node, err)))
		}
	}
	return history.MapOf(kvs...), nil
}

// clean is the evidence that a process' clock is right.
func clean(v victim) (evidence history.Value, missing string, err error) {
	gone := history.MapOf(append(identity(v.id), history.Keyword("gone"), history.Flag(true))...)
	patched, err := clock.Patched(v.id)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return gone, "", nil
	case err != nil:
		return history.Value{}, "", err
	case patched:
		return history.Value{}, "", fmt.Errorf("%s: its vDSO is still patched", v)
	}
	r, err := clock.Read(v.id)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return gone, "", nil
	case err != nil:
		return history.Value{}, "", fmt.Errorf("%s: %w", v, err)
	case !within(r, 0):
		return history.Value{}, fmt.Sprintf("%s: its clock is off by %v", v, r.Offset), nil
	}
	return history.MapOf(append(identity(v.id),
		history.Keyword("vdso"), history.Keyword("clean"),
		history.Keyword("measured-ms"), milliseconds(r.Offset),
		history.Keyword("bound-ms"), milliseconds(r.Bound))...), "", nil
}

// within reports whether a reading agrees with an offset.
func within(r clock.Reading, want time.Duration) bool {
	d := r.Offset - want
	return max(d, -d) <= clockSlack+r.Bound
}

// takeBackClock restores the target, and what else the owner of the step set off.
func takeBackClock(_ context.Context, s Step) (string, error) {
	v := victim{s.Node, s.Target}
	did := fmt.Sprintf("%s: its clock is right", v)
	if err := clock.Restore(v.id); errors.Is(err, os.ErrProcessDone) {
		did = fmt.Sprintf("%s is gone", v)
	} else if err != nil {
		return "nothing", fmt.Errorf("%s: %w", v, err)
	}
	found, err := clock.Sweep()
	errs := []error{err}
	for _, p := range found {
		if p.Owner.String() != s.Was {
			continue
		}
		if err := clock.Restore(p.Target); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
			continue
		}
		did += fmt.Sprintf(", and that of process %s", p.Target)
	}
	return did, errors.Join(errs...)
}

// clockMechanism is for doctor and for the sweep.
func clockMechanism() Mechanism {
	return Mechanism{
		Name: "clock", Doc: "the real-time clock of one process, through its vDSO, by ptrace",
		Probe: clock.Probe,
		Leftovers: func() ([]Leftover, error) {
			if clock.Probe() != nil {
				return nil, nil // nobody could have set one off
			}
			found, err := clock.Sweep()
			var left []Leftover
			for _, p := range found {
				if devnet.Alive(p.Owner) {
					continue
				}
				left = append(left, Leftover{
					What: fmt.Sprintf("process %s: a hook in its vDSO", p.Target),
					Remove: func(context.Context) error {
						if err := clock.Restore(p.Target); !errors.Is(err, os.ErrProcessDone) {
							return err
						}
						return nil
					},
				})
			}
			return left, err
		},
	}
}
