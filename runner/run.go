package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/judge"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

// Outcome is what is left of a test that got as far as having a history.
type Outcome struct {
	Run         *store.Run
	Judgement   *report.Judgement // nil when nothing could be judged
	Kept        string            // directory of the devnet that was left up, "" for none
	Dirty       []string          // faults that could not be undone, or not be seen undone
	Interrupted bool              // stopped before its time
}

// Run performs one test. The end of stop ends the load early: the run still
// heals, makes its final reads, and is judged. The end of ctx means leave:
// heal, write what there is, return.
//
// The outcome is not nil whenever a run directory exists, also beside an error.
func Run(ctx context.Context, stop <-chan struct{}, o Options) (*Outcome, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := healLeftovers(ctx, o.Store, o.Log); err != nil {
		return nil, err
	}
	attached, err := o.attach(ctx) // before there is a run: of a wrong URL nothing is to be kept
	if err != nil {
		return nil, err
	}
	run, err := store.Create(o.Store, o.Name, time.Now())
	if err != nil {
		return nil, usage.Errorf("--store: %w", err)
	}
	out := &Outcome{Run: run}
	logFile, err := os.OpenFile(run.Path(store.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return out, err
	}
	defer logFile.Close()
	file := slog.NewTextHandler(logFile, nil)
	o.Log = slog.New(tee{o.Log.Handler(), file})
	o.Log.Info("run starts", "dir", run.Dir, "seed", o.Seed, "version", o.Version, "command", o.Command)

	for _, doubt := range o.doubts() {
		o.Log.Warn(doubt)
	}
	rec, err := history.Create(run.Path(store.HistoryFile))
	if err != nil {
		return out, err
	}
	t := &test{o: o, run: run, attached: attached, log: o.Log, journal: &journal{rec: rec, meter: newMeter()}}
	lived := t.live(ctx, stop)
	out.Dirty, out.Kept = t.dirty, t.kept
	out.Interrupted = t.interrupted || ctx.Err() != nil // also where the load was over by then
	// The person at the terminal is told of these in other words.
	if lived != nil {
		slog.New(file).Error("run failed", "err", lived)
	}
	if out.Interrupted {
		slog.New(file).Warn("run was interrupted before its time")
	}
	if err := rec.Close(); err != nil {
		lived = errors.Join(lived, fmt.Errorf("history %q is not complete: %w", run.Path(store.HistoryFile), err))
	}
	if err := t.writeFaults(); err != nil {
		lived = errors.Join(lived, err)
	}
	if ctx.Err() != nil || !t.begun {
		return out, lived
	}
	// What was recorded before a failure is judged all the same.
	return out, errors.Join(lived, out.judge(ctx))
}

// judge judges the run from its files alone, and stores what was found beside
// them.
func (out *Outcome) judge(ctx context.Context) error {
	start := time.Now()
	h, err := history.ReadFile(out.Run.Path(store.HistoryFile))
	if err != nil {
		return err
	}
	j, err := judge.History(ctx, h, judge.Options{})
	if err != nil {
		return err
	}
	j.File, j.Elapsed = out.Run.Dir, time.Since(start)
	out.Judgement = j
	var text bytes.Buffer
	if err := report.HistoryText(&text, h); err != nil {
		return err
	}
	return errors.Join(
		out.Run.Write(store.ResultsJSON, j.JSON()),
		out.Run.Write(store.ResultsEDN, j.EDN()),
		out.Run.Write(store.TextFile, text.Bytes()))
}

// writeTest stores the whole resolved configuration of the run.
func (t *test) writeTest() error {
	data, err := json.MarshalIndent(t.record(), "", "  ")
	if err != nil {
		return err
	}
	return t.run.Write(store.TestFile, append(data, '\n'))
}

// tee hands each record to both handlers.
type tee struct{ a, b slog.Handler }

func (t tee) Enabled(ctx context.Context, l slog.Level) bool {
	return t.a.Enabled(ctx, l) || t.b.Enabled(ctx, l)
}

func (t tee) Handle(ctx context.Context, r slog.Record) error {
	var errs [2]error
	for i, h := range []slog.Handler{t.a, t.b} {
		if h.Enabled(ctx, r.Level) {
			errs[i] = h.Handle(ctx, r.Clone())
		}
	}
	return errors.Join(errs[:]...)
}

func (t tee) WithAttrs(as []slog.Attr) slog.Handler {
	return tee{t.a.WithAttrs(as), t.b.WithAttrs(as)}
}

func (t tee) WithGroup(name string) slog.Handler {
	return tee{t.a.WithGroup(name), t.b.WithGroup(name)}
}
