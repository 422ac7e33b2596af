package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

// input is a history, wherever it comes from.
type input interface {
	Each(ctx context.Context, take func(*history.Event) error) error
	History() (*history.History, error)
	Source() history.Source
	Cut() *history.CutError
	Skipped() *history.Skipped
}

// File judges the history at path: a file, a run directory, or "-" for standard
// input. What is wrong with the file or the options is a usage error.
func File(ctx context.Context, path string, o Options) (*report.Judgement, error) {
	ctx, stop := limitMemory(ctx, o.Memory)
	defer stop()
	return file(ctx, path, o, func(Progress) {})
}

func file(ctx context.Context, path string, o Options, watch func(Progress)) (*report.Judgement, error) {
	start := time.Now()
	if err := o.Check(); err != nil {
		return nil, err
	}
	inside, err := locate(path)
	if err != nil {
		return nil, err
	}
	f, err := format.Open(inside, o.Format)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	defer f.Close()
	o.adapt(f.Traits())
	j, err := judge(ctx, f, o, func(ops int, stage string) { watch(Progress{File: path, Ops: ops, Stage: stage}) })
	if err != nil {
		return nil, usage.Errorf("%s: %w", path, err)
	}
	j.File, j.Format, j.Elapsed = path, f.Format(), time.Since(start)
	return j, nil
}

// locate finds the history of a run directory.
func locate(path string) (string, error) {
	if path == "-" {
		return path, nil
	}
	fi, err := os.Stat(path)
	if err != nil || !fi.IsDir() {
		return path, nil // whoever opens it says what is wrong
	}
	inside := filepath.Join(path, store.HistoryFile)
	if _, err := os.Stat(inside); err != nil {
		return "", usage.Errorf("directory %q holds no %s: want a history file or a run of the store", path, store.HistoryFile)
	}
	return inside, nil
}

// adapt fills in what the format says about its histories, where the caller said
// nothing.
func (o *Options) adapt(t format.Traits) {
	if o.Model == "" {
		o.Model = t.Model
	}
	if o.Nil == "" && t.NilAbsent {
		o.Nil, o.nilOfFormat = "absent", true
	}
	if !o.Keyed && t.Keyed {
		o.Keyed, o.keyedByFormat = true, true
	}
	o.sessions, o.initialTxn = t.NoRealtime, t.InitialTxn
}

// History judges a history in memory, as File does the history of a file. The
// error is a *usage.Error about the options, or a *VagueError when the operations
// fit no model, or several.
func History(ctx context.Context, h *history.History, o Options) (*report.Judgement, error) {
	start := time.Now()
	if err := o.Check(); err != nil {
		return nil, err
	}
	ctx, stop := limitMemory(ctx, o.Memory)
	defer stop()
	j, err := judge(ctx, whole{h}, o, func(int, string) {})
	if err != nil {
		return nil, err
	}
	j.Elapsed = time.Since(start)
	return j, nil
}

// whole is a history in memory as an input.
type whole struct{ h *history.History }

func (w whole) Each(_ context.Context, take func(*history.Event) error) error {
	for e := range w.h.Events() {
		if err := take(e); err != nil {
			return err
		}
	}
	return nil
}

func (w whole) History() (*history.History, error) { return w.h, nil }
func (w whole) Source() history.Source             { return w.h.Source() }
func (w whole) Cut() *history.CutError             { return w.h.Cut }
func (w whole) Skipped() *history.Skipped          { return w.h.Skipped }

// watchEvery is how many ops pass between two words on the progress.
const watchEvery = 1 << 16

func judge(ctx context.Context, in input, o Options, watch func(ops int, stage string)) (*report.Judgement, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("time limit of %v reached", o.Timeout))
		defer cancel()
	}
	j := &report.Judgement{}
	p, err := choose(look(in, o.Keyed), &o, j)
	if err != nil {
		return nil, err
	}
	j.Main = p.foreign != nil
	pass := checker.NewPass(p.streams...)
	nameless := p.foreign == nil && len(p.ours.Nodes) > 1 // so far, what there is of client ops
	clients := 0
	err = in.Each(ctx, func(e *history.Event) error {
		if nameless && e.Process.IsClient() {
			clients++
			node, _ := e.Rest.Field("node")
			nameless = len(node.Bytes()) == 0
		}
		if j.Ops++; j.Ops%watchEvery == 0 {
			watch(j.Ops, Reading)
		}
		pass.Take(e)
		if p.foreign != nil {
			p.foreign.take(e)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	watch(j.Ops, Searching)
	j.Cut = in.Cut()
	j.Results, j.Verdict = pass.Finish(ctx, in.Source())
	leaveOut(j)
	if j.Verdict != checker.Valid {
		j.Hint = p.hint
	}
	if p.foreign == nil {
		j.Blind = claims.Blind(p.ours, j.Results)
		if nameless && clients > 0 {
			// All nodes would pass for one, which contradicts itself.
			j.Undecided = "no op says which node it asked, as history.txt leaves it out: check the run's history.edn"
			j.Verdict = checker.Unknown
		}
		doubt(j, in.Skipped())
		return j, nil
	}
	if text := p.foreign.String(); text != "" {
		withdraw(j, text)
	}
	doubt(j, in.Skipped())
	return j, nil
}

// leaveOut lists the checkers that had too little to judge under what is not
// claimed.
func leaveOut(j *report.Judgement) {
	j.Results = slices.DeleteFunc(j.Results, func(r checker.Result) bool {
		if r.LeftOut {
			j.NotClaimed = append(j.NotClaimed, r.Checker+": "+r.Reason)
		}
		return r.LeftOut
	})
}

// withdraw takes back the verdict about a history of which something is not known.
func withdraw(j *report.Judgement, why string) {
	j.Undecided = fmt.Sprintf("%s; without them the history would be %s", why, j.Verdict)
	j.Verdict = checker.Unknown
}

// doubt withdraws the verdict about a history from which ops are missing: what
// they did may explain what looks wrong, or be what is wrong.
func doubt(j *report.Judgement, skipped *history.Skipped) {
	if skipped != nil {
		withdraw(j, skipped.String())
	}
}
