package judge

import (
	"context"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// collect makes a stream of a checker that needs the whole history.
func collect(c checker.Checker) checker.Stream { return &collector{c: c, h: &history.History{}} }

type collector struct {
	c checker.Checker
	h *history.History
}

func (c *collector) Name() string { return c.c.Name() }

func (c *collector) Take(e *history.Event) {
	c.h.Ops = append(c.h.Ops, history.Op{Index: e.Index, Time: e.Time, Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()})
}

func (c *collector) Finish(ctx context.Context, _ history.Source) checker.Result {
	return c.c.Check(ctx, c.h)
}
