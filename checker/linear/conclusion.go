package linear

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/internal/reason"
	"github.com/jepgo/jepgo/history"
)

// stream is a checker at work.
type stream struct {
	name    string
	options Options
	columns *columns
	judge   judgement
}

// judgement judges all keys of a history.
type judgement func(ctx context.Context, src history.Source, c *columns) (checker.Result, conclusion)

// conclusion is what the keys of a history come to.
type conclusion struct {
	bad     string // what is not as it should be; "" when all is
	gaveUp  string // what was not decided, "" when all was
	verdict checker.Verdict
	why     string // of verdict, which holds if the others are empty
}

func (s *stream) Name() string { return s.name }

func (s *stream) Take(e *history.Event) { s.columns.take(e) }

func (s *stream) Finish(ctx context.Context, src history.Source) checker.Result {
	c := s.columns
	defer c.journal.close()
	ctx, cancel := s.options.bound(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return checker.Ended(ctx, s.name)
	}
	c.finish()
	if c.why != "" {
		return checker.Result{Checker: s.name, Reason: c.why}
	}
	r, end := s.judge(ctx, src, c)
	r.Checker = s.name
	oddText := c.sayOdd(src)
	if oddText != "" {
		r.Warnings = append(r.Warnings, oddText)
	}
	unpaired := c.sayUnpaired()
	if unpaired != "" {
		r.Warnings = append(r.Warnings, unpaired)
	}
	switch {
	case end.bad != "":
		r.Verdict, r.Reason = checker.Invalid, end.bad
	case end.gaveUp != "":
		r.Reason = end.gaveUp
	case oddText != "":
		r.Reason = oddText
	case unpaired != "":
		r.Reason = unpaired
	case r.Facts == 0 && s.options.EmptyValid && c.idle():
		r.Verdict, r.Facts, r.Reason = checker.Valid, 1, c.sayIdle()
	case r.Facts == 0:
		r.Reason = reason.Nothing(c.tried, c.others, c.model.ops)
	default:
		r.Verdict, r.Reason = end.verdict, end.why
	}
	return r
}

// giveUp notes that a key was not decided, and why.
func (end *conclusion) giveUp(r *checker.Result, c *columns, k *key, why string) {
	text := fmt.Sprintf("%s with %s was not decided: %s", c.title(k), count(k.rows, "operation"), why)
	if end.gaveUp == "" {
		end.gaveUp = text
	}
	r.Warnings = append(r.Warnings, text)
}
