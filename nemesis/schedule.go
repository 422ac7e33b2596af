package nemesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
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
	// Schedule is the file that says what was done and when, kept up to date while
	// the run goes on, see Schedule; "" for none.
	Schedule string
	// Replay repeats the faults of an earlier run in place of Faults; nil for none.
	Replay *Schedule
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
	Faults          int // requested: applications, not kinds
	WithoutEvidence int // of those, not seen to bite: the run proves nothing
	NotUndone       int // of those, not seen to be undone: the run is dirty
	NotInjected     int // faults whose moment never came: the run proves nothing about them
	Problems        []string
}

// Run applies faults until ctx ends, then undoes what is in force and returns.
//
// One fault is in force at a time, so that the undo of one never meets the
// effects of another. Faults without a trigger take turns in rounds, each round
// in an order drawn from Rand, so that a run of several intervals sees all of
// them; targets are drawn anew for each application. The first of them starts
// after the Interval, or after a sixth of the time that is left until the
// deadline of ctx, when it has one and that comes earlier.
//
// A fault with a trigger starts when its moment has come, which is looked at
// several times a block, and before those that take turns. A moment that comes
// while another fault is in force counts as soon as that one is undone, except
// for those that come again and again: of these, what was missed is left out. A
// fault whose moment never came is counted and recorded as not injected. When
// there are only such faults and all have had their moment, Run returns.
//
// The end of ctx cuts short only the waits between the actions. A fault that was
// applied still gets its ProbeTimeout to bite and its UndoTimeout to be undone,
// so Run may return that much later. After a fault that could not be undone, or
// an error of Record or of the Ledger, it applies no further one and returns.
//
// The error is one of Record, of the Ledger, of writing the Schedule or of the
// options; what went wrong with the faults is in the Outcome.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if len(o.Faults) == 0 && o.Replay == nil {
		return Outcome{}, nil
	}
	r, err := newRun(o)
	if err != nil {
		return Outcome{}, err
	}
	t := r.newTurns(ctx)
	warn := func(it *item, err error) {
		r.Logger.Warn("trigger cannot tell whether its moment has come", "fault", it.name, "err", err)
	}
	r.save()
	for r.err == nil && r.out.NotUndone == 0 {
		it, m, ok := t.next(ctx, warn)
		if !ok {
			break
		}
		r.apply(ctx, t, it, m)
		t.over(it)
	}
	r.unfired(t)
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
	out   Outcome
	began time.Time // of the application under way
	err   error     // first error of Record, Ledger or Schedule

	schedule *Schedule // as it happened so far
	clocked  Clocked   // the application in force, when it moves clocks
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
	if o.Replay != nil {
		faults, err := o.Replay.Parse(o.Net.reach())
		if err != nil {
			return nil, err
		}
		o.Faults = faults
	}
	for _, f := range o.Faults {
		if err := f.Possible(o.Net.reach()); err != nil {
			return nil, err
		}
	}
	return &run{Options: o, schedule: newSchedule(o)}, nil
}

// apply takes one fault through its whole life.
func (r *run) apply(ctx context.Context, t *turns, it *item, m moment) {
	r.began = time.Now()
	r.out.Faults++
	f := it.fault
	s := it.application(m)
	app, err := r.plan(ctx, f, s)
	if err == nil && it.repeat != nil {
		err = it.repeat.same(app.Value())
	}
	if err != nil {
		requested := r.request(f.Start(), history.Value{})
		r.bitten(f, history.Value{}, requested, history.Value{}, err)
		return
	}
	targets := r.describe(it, m, app)
	s.note(app.Value())
	r.schedule.Faults = append(r.schedule.Faults, s)
	r.save()
	log := r.Logger.With("fault", it.name, "targets", brief(app))
	r.clocked, _ = app.(Clocked)
	defer func() { r.clocked = nil }()
	requested := r.request(f.Start(), targets)
	if r.err != nil {
		return
	}
	id, err := r.Ledger.Add(it.name, app.UndoSteps())
	if err != nil {
		r.fail(err)
		r.bitten(f, targets, requested, history.Value{}, err)
		return
	}
	evidence, err := r.probe(ctx, app)
	r.bitten(f, targets, requested, evidence, err)
	var fell error
	if err == nil && r.err == nil {
		log.Info("fault in force")
		log.Debug("evidence that it bites", "evidence", evidence.String())
		begun := time.Now()
		t.hold(ctx, it)
		s.Stay = time.Since(begun)
		if standing, ok := app.(Standing); ok {
			fell = standing.Stands()
		}
	}
	requested = r.request(f.Stop(), targets)
	evidence, err = r.undo(ctx, f, app)
	if err == nil {
		log.Info("fault undone")
		log.Debug("evidence that it is undone", "evidence", evidence.String())
		for _, seen := range evidence.Elems() {
			if finding, _ := seen.Field("finding"); finding.Text() != "" {
				text, _, _ := strings.Cut(finding.Text(), "; the end of ")
				log.Warn("a finding", "finding", text)
			}
		}
		if err := r.Ledger.Done(id); err != nil {
			r.fail(err)
		}
	}
	r.undone(f, targets, requested, evidence, err, fell)
	r.save()
}

// describe is the value of the request: the targets, and beside them what limits
// their choice and which moment it was.
func (r *run) describe(it *item, m moment, app Application) history.Value {
	v := app.Value()
	var more []history.Value
	if r.Net.Quorum == QuorumSafe {
		more = append(more, history.Keyword("quorum"), history.Keyword(string(QuorumSafe)))
	}
	if it.when != nil {
		more = append(more, history.Keyword("trigger"), history.Text(it.when.String()))
		if m.height > 0 {
			more = append(more, history.Keyword("head"), history.Int(int64(m.height)))
		}
	}
	switch {
	case len(more) == 0:
		return v
	case v.Kind() == history.Map:
		return history.MapOf(append(v.Elems(), more...)...)
	}
	return history.MapOf(append([]history.Value{history.Keyword("nodes"), v}, more...)...)
}

// plan draws the targets with a generator of its own: how much one application
// draws does not shift what the next one gets.
func (r *run) plan(ctx context.Context, f Fault, s *Scheduled) (Application, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.ProbeTimeout)
	defer cancel()
	net := r.Net
	net.Only = s.Nodes
	return f.Plan(ctx, net, rand.New(rand.NewPCG(s.Seed[0], s.Seed[1])))
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
		what := fmt.Sprintf("%s of %s was not seen to bite", f.Name(), targets)
		if targets.IsNil() {
			what = f.Name() + " was not applied"
		}
		r.problem(what, err)
	}
	r.outcome(f.Start(), targets, requested, evidence, "no-evidence", err)
}

func (r *run) undone(f Fault, targets history.Value, requested int64, evidence history.Value, err, fell error) {
	if err != nil {
		r.out.NotUndone++
		r.problem(fmt.Sprintf("%s of %s was not seen to be undone", f.Name(), targets), err)
	}
	class := "not-undone"
	if early := errors.Join(r.lapsed(), fell); err == nil && early != nil {
		r.out.WithoutEvidence++
		r.problem(fmt.Sprintf("%s of %s did not stay in force", f.Name(), targets), early)
		class, err = "lapsed", early
	}
	r.outcome(f.Stop(), targets, requested, evidence, class, err)
}

// lapsed is the error of a fault that may have been taken back before its time.
func (r *run) lapsed() error {
	if r.Guardian == nil {
		return nil
	}
	return r.Guardian.Lapsed(r.began)
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
	if r.clocked != nil {
		op.Extra = append(op.Extra, history.Field{Key: "clock-offsets", Value: r.clocked.ClockOffsets()})
	}
	if err := r.Record(op); err != nil {
		r.fail(fmt.Errorf("nemesis op %q: record: %w", op.F, err))
	}
}

// save keeps the file of the schedule up to date.
func (r *run) save() {
	if r.Options.Schedule == "" {
		return
	}
	if err := r.schedule.write(r.Options.Schedule); err != nil {
		r.fail(err)
	}
}

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
