package checker

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/jepgo/jepgo/history"
)

// CheckEvery is how many ops a checker may look at before it looks at its
// context again.
const CheckEvery = 4096

// Compose runs the checkers on h, at most GOMAXPROCS at once, and returns their
// results in the order of the checkers with the worst of their verdicts. A
// checker that panics, that ctx ended before it began, or that claims valid with
// no facts, is Unknown with the reason. No checkers at all is Unknown.
func Compose(ctx context.Context, h *history.History, checkers ...Checker) ([]Result, Verdict) {
	results := make([]Result, len(checkers))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, c := range checkers {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = safely(ctx, h, c)
		})
	}
	wait.Wait()
	return results, worstOf(results)
}

// worstOf is the worst of the verdicts that were not left out, Unknown for none.
func worstOf(results []Result) Verdict {
	worst, some := Valid, false
	for _, r := range results {
		if !r.LeftOut {
			worst, some = Worst(worst, r.Verdict), true
		}
	}
	if !some {
		return Unknown
	}
	return worst
}

// safely holds one checker to its contract.
func safely(ctx context.Context, h *history.History, c Checker) (r Result) {
	name := "unnamed checker"
	defer func() {
		if p := recover(); p != nil {
			r = Result{Checker: name, Reason: fmt.Sprintf("checker panicked: %v", p)}
		}
	}()
	name = c.Name()
	return guard(ctx, name, func() Result { return c.Check(ctx, h) })
}

// guard runs what judges under that name: it is not begun when ctx has ended, a
// panic is Unknown, and so is valid without facts.
func guard(ctx context.Context, name string, judge func() Result) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Checker: name, Reason: fmt.Sprintf("checker panicked: %v", p)}
		}
	}()
	if ctx.Err() != nil {
		return Ended(ctx, name)
	}
	r = judge()
	if r.Checker == "" {
		r.Checker = name
	}
	if r.Verdict == Valid && r.Facts == 0 {
		r.Verdict = Unknown
		if r.Reason == "" {
			r.Reason = "nothing was compared"
		}
	}
	return r
}

// Ended is the result of a checker whose context ended before it was done.
func Ended(ctx context.Context, name string) Result {
	return Result{Checker: name, Reason: fmt.Sprintf("check ended early: %v", context.Cause(ctx))}
}
