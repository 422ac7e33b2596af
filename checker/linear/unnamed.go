package linear

import (
	"context"
	"fmt"
	"math"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// unnamed is what clients did of whom the history does not say which: ops
// without a process.
type unnamed struct {
	count    int32 // operations of the model, each of a caller of its own
	unpaired int   // invocations and ops in doubt, which nobody can pair
	first    int   // the first of those
}

// caller is a number of a process that nobody else has.
func (u *unnamed) caller() int32 { return math.MaxInt32 - u.count }

// takeUnnamed adds an op that has no process. One that is ok, while nothing but
// such ops came before, is all of an operation, at that moment. Of an invocation
// nobody knows when it completed, so it is in doubt; of a completion after it,
// nobody knows when it began, so it may have happened in the course of the
// invocation, or by itself, or (for all we can hold it to) not at all. That keeps
// whatever is Invalid right, and leaves nothing else to be sure of.
func (c *columns) takeUnnamed(e *history.Event) {
	now := underWay{action: c.model.action(e.F), take: e.F == "acquire"}
	if now.action == other {
		c.note(e.F)
		return
	}
	c.tried = true
	u := &c.unnamed
	u.count++
	if e.Type == history.Invoke || e.Type == history.Info {
		if u.unpaired == 0 {
			u.first = e.Position
		}
		u.unpaired++
	}
	if e.Type == history.Fail || e.Type == history.OK && u.unpaired == 0 {
		c.complete(e, u.caller(), &now)
		return
	}
	doubtful := *e
	doubtful.Type = history.Info
	c.complete(&doubtful, u.caller(), &now)
}

// sayUnpaired tells of ops that nobody can pair, "" when there are none.
func (c *columns) sayUnpaired() string {
	if c.unnamed.unpaired == 0 {
		return ""
	}
	return fmt.Sprintf("%s without a :process cannot be paired with a completion or an invocation, the first is %s",
		count(c.unnamed.unpaired, "op"), sayOp(c.unnamed.first))
}

// settleUnnamed looks again at a key that is sequentially consistent if every
// operation of an unknown caller has a caller of its own: that counts only if it
// holds whoever called, as it does where real time is kept too.
func (c *columns) settleUnnamed(ctx context.Context, k *key, found *outcome, work int64) {
	if found.verdict != checker.Valid || c.unnamed.count == 0 {
		return
	}
	again := c.decide(ctx, k, work, c.room())
	found.work += again.work
	if again.verdict != checker.Valid {
		found.verdict = checker.Unknown
		found.why = "operations without a :process may be anybody's, and so may have an order to keep"
	}
}
