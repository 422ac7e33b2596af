package checker

import (
	"context"

	"github.com/jepgo/jepgo/history"
)

// Comments returns the checker comments: causal-reverse for each key. Values are
// [key v] where the first :write is a pair; where it is not, there is one key
// only. (Jepsen's test of that name always has keys, files that others wrote often
// have none.)
func Comments() Stream {
	return &comments{
		plain: newCausalReverse("comments"),
		keyed: Independent("comments", func() Stream { return newCausalReverse("comments") }),
	}
}

type comments struct{ plain, keyed Stream } // one is nil once it is known which it is

func (*comments) Name() string { return "comments" }

func (c *comments) Take(e *history.Event) {
	if c.plain != nil && c.keyed != nil && e.F == "write" && ofClient(e) {
		if _, _, pair := e.Value.Pair(); pair {
			c.plain = nil
		} else {
			c.keyed = nil
		}
	}
	if c.plain != nil {
		c.plain.Take(e)
	}
	if c.keyed != nil {
		c.keyed.Take(e)
	}
}

func (c *comments) Finish(ctx context.Context, src history.Source) Result {
	if c.plain != nil {
		return c.plain.Finish(ctx, src)
	}
	return c.keyed.Finish(ctx, src)
}
