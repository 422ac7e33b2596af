package nemesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/history"
)

// Options say how Run breaks a network. All fields without a default are
// required.
type Options struct {
	Net    Net
	Faults []Fault // none: Run returns at once
	// Interval is how long a fault stays in force once it was seen to bite, and
	// how long the network is left alone after it was undone.
	Interval time.Duration
	Rand     *rand.Rand
	Ledger   *Ledger
	Guardian *Guardian // nil: nobody undoes the faults when this process dies
	// Record appends an op to the history, which numbers and times it.
	Record func(history.Op) error
	// Now is the clock of the history's :time, in nanoseconds.
	Now    func() int64
	Logger *slog.Logger // nil: silent
	// ProbeTimeout bounds applying a fault and seeing that it bites; 0 is 20 s.
	ProbeTimeout time.Duration
	// UndoTimeout bounds undoing a fault and seeing that it is undone, all
	// attempts together; 0 is two minutes.
	UndoTimeout time.Duration
}

const (
	defaultProbeTimeout = 20 * time.Second
	defaultUndoTimeout  = 2 * time.Minute
	undoAttempts        = 3
	// firstShare is the part of a run of known length after which the first
	// fault starts at the latest, so that short runs see a whole one.
	firstShare = 6
)

// Outcome is what became of the faults of a run.
type Outcome struct {
	Faults          int // requested
	WithoutEvidence int // of those, not seen to bite: the run proves nothing
	NotUndone       int // of those, not seen to be undone: the run is dirty
	Problems        []string
}

// Run applies faults until ctx ends, then undoes what is in force and returns.
//
// One fault is in force at a time, so that the undo of one never meets the
// effects of another. Faults take turns in rounds, each round in an order drawn
// from Rand, so that a run of several intervals sees all of them; targets are
// drawn anew for each application. The first fault starts after the Interval, or
// after a sixth of the time that is left until the deadline of ctx, when it has
// one and that comes earlier.
//
// The end of ctx cuts short only the waits between the actions. A fault that was
// applied still gets its ProbeTimeout to bite and its UndoTimeout to be undone,
// so Run may return that much later. After a fault that could not be undone, or
// an error of Record or of the Ledger, it applies no further one and returns.
//
// The error is one of Record, of the Ledger or of the options; what went wrong
// with the faults is in the Outcome.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if len(o.Faults) == 0 {
		return Outcome{}, nil
	}
	r, err := newRun(o)
	if err != nil {
		return Outcome{}, err
	}
	wait := r.Interval
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/firstShare)
	}
	var round []int
	for idle(ctx, wait) && r.err == nil && r.out.NotUndone == 0 {
		if len(round) == 0 {
			round = r.Rand.Perm(len(r.Faults))
		}
		// Its own generator for each application: how much one draws does not
		// shift what the next one gets.
		rng := rand.New(rand.NewPCG(r.Rand.Uint64(), r.Rand.Uint64()))
		r.apply(ctx, r.Faults[round[0]], rng)
		round = round[1:]
		wait = r.Interval
	}
	return r.out, r.err
}

// idle waits until the time has passed; it returns false when ctx ends first.
func idle(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

// run is the state of Run.
type run struct {
	Options
	out Outcome
	err error // first error of Record or Ledger
}

func newRun(o Options) (*run, error) {
	switch {
	case o.Interval <= 0:
		return nil, fmt.Errorf("nemesis interval %v: expected more than 0", o.Interval)
	case o.Rand == nil || o.Ledger == nil || o.Record == nil || o.Now == nil:
		return nil, errors.New("nemesis options: Rand, Ledger, Record and Now are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbeTimeout
	}
	if o.UndoTimeout <= 0 {
		o.UndoTimeout = defaultUndoTimeout
	}
	for _, f := range o.Faults {
		if err := f.Possible(o.Net.reach()); err != nil {
			return nil, err
		}
	}
	return &run{Options: o}, nil
}

// apply takes one fault through its whole life.
func (r *run) apply(ctx context.Context, f Fault, rng *rand.Rand) {
	r.out.Faults++
	app, err := r.plan(ctx, f, rng)
	if err != nil {
		requested := r.request(f.Start(), history.Value{})
		r.bitten(f, history.Value{}, requested, history.Value{}, err)
		return
	}
	targets := app.Value()
	log := r.Logger.With("fault", f.Name(), "targets", brief(app))
	requested := r.request(f.Start(), targets)
	if r.err != nil {
		return
	}
	id, err := r.Ledger.Add(f.Name(), app.UndoSteps())
	if err != nil {
		r.fail(err)
		r.bitten(f, targets, requested, history.Value{}, err)
		return
	}
	evidence, err := r.probe(ctx, app)
	r.bitten(f, targets, requested, evidence, err)
	if err == nil && r.err == nil {
		log.Info("fault in force")
		log.Debug("evidence that it bites", "evidence", evidence.String())
		idle(ctx, r.Interval)
	}
	requested = r.request(f.Stop(), targets)
	evidence, err = r.undo(ctx, f, app)
	if err == nil {
		log.Info("fault undone")
		log.Debug("evidence that it is undone", "evidence", evidence.String())
		if err := r.Ledger.Done(id); err != nil {
			r.fail(err)
		}
	}
	r.undone(f, targets, requested, evidence, err)
}

func (r *run) plan(ctx context.Context, f Fault, rng *rand.Rand) (Application, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.ProbeTimeout)
	defer cancel()
	return f.Plan(ctx, r.Net, rng)
}

func (r *run) probe(ctx context.Context, app Application) (history.Value, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.ProbeTimeout)
	defer cancel()
	if err := app.Apply(ctx); err != nil {
		return history.Value{}, err
	}
	return app.Probe(ctx)
}

// undo tries more than once, because what is in the way, such as a port that is
// still taken, may go away; undoing is idempotent.
func (r *run) undo(ctx context.Context, f Fault, app Application) (history.Value, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.UndoTimeout)
	defer cancel()
	var evidence history.Value
	var err error
	for attempt := 1; ; attempt++ {
		evidence, err = r.undoOnce(ctx, app)
		if err == nil || attempt == undoAttempts || !idle(ctx, time.Second) {
			return evidence, err
		}
		r.Logger.Warn("undo failed, trying again", "fault", f.Name(), "attempt", attempt, "err", err)
	}
}

func (r *run) undoOnce(ctx context.Context, app Application) (history.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, r.UndoTimeout/undoAttempts)
	defer cancel()
	if err := app.Undo(ctx); err != nil {
		return history.Value{}, err
	}
	return app.VerifyUndone(ctx)
}

func (r *run) bitten(f Fault, targets history.Value, requested int64, evidence history.Value, err error) {
	if err != nil {
		r.out.WithoutEvidence++
		r.problem(fmt.Sprintf("%s of %s was not seen to bite", f.Name(), targets), err)
	}
	r.outcome(f.Start(), targets, requested, evidence, "no-evidence", err)
}

func (r *run) undone(f Fault, targets history.Value, requested int64, evidence history.Value, err error) {
	if err != nil {
		r.out.NotUndone++
		r.problem(fmt.Sprintf("%s of %s was not seen to be undone", f.Name(), targets), err)
	}
	class := "not-undone"
	if early := r.lapsed(); err == nil && early != nil {
		r.out.WithoutEvidence++
		r.problem(fmt.Sprintf("%s of %s did not stay in force", f.Name(), targets), early)
		class, err = "lapsed", early
	}
	r.outcome(f.Stop(), targets, requested, evidence, class, err)
}

// lapsed is the error of a fault that may have been taken back before its time.
func (r *run) lapsed() error {
	if r.Guardian == nil || !r.Guardian.Lapsed() {
		return nil
	}
	return errors.New("this process stood still so long that its guardian took the fault back, or the guardian is gone")
}

func (r *run) problem(what string, err error) {
	r.out.Problems = append(r.out.Problems, fmt.Sprintf("%s: %v", what, err))
	r.Logger.Error(what, "err", err)
}

// request records what is about to be done and returns when.
func (r *run) request(f string, targets history.Value) int64 {
	now := r.Now()
	r.record(history.Op{F: f, Value: targets})
	return now
}

// outcome records what was measured.
func (r *run) outcome(f string, targets history.Value, requested int64, evidence history.Value, class string, err error) {
	kvs := []history.Value{
		history.Keyword("targets"), targets,
		history.Keyword("requested"), history.Int(requested),
		history.Keyword("measured"), history.Int(r.Now()),
	}
	op := history.Op{F: f}
	if err != nil {
		op.Error = history.Vec(history.Keyword(class), history.Text(err.Error()))
	} else {
		kvs = append(kvs, history.Keyword("evidence"), evidence)
	}
	op.Value = history.MapOf(kvs...)
	r.record(op)
}

func (r *run) record(op history.Op) {
	op.Index, op.Time = history.Absent, history.Absent
	op.Type, op.Process = history.Info, history.Nemesis()
	if err := r.Record(op); err != nil {
		r.fail(fmt.Errorf("nemesis op %q: record: %w", op.F, err))
	}
}

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
