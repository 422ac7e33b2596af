package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// Causal returns the checker causal, for one causal order of operations on a
// register that begins at 0: Jepsen's clients issue :read-init, :write 1, :read,
// :write 2, :read, each with a :position and a :link to the position of the
// operation before. The ok operations must form that chain: each links to the one
// before (or to :init), the n-th write is of n, the first read-init sees 0, and
// each read sees what was written last, or nil. Keys are for Independent.
//
// As Jepsen's, except that a history without ok operations is Unknown. Position
// and link are keys of the op that no Event has, so Finish reads the ok operations
// again: O(n) time, 8 bytes for each.
func Causal() Stream { return &causal{} }

type causal struct {
	oks    []int
	open   opened[history.Value] // writes
	silent map[int]history.Value // what ok writes without a value wrote
}

func (*causal) Name() string { return "causal" }

func (c *causal) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	if e.Type == history.Invoke {
		if e.F == "write" {
			c.open.begin(e.Process, e.Value.Value())
		}
		return
	}
	wrote, open := c.open.end(e.Process)
	if e.Type != history.OK {
		return
	}
	if open && e.F == "write" && e.Value.IsNil() {
		if c.silent == nil {
			c.silent = make(map[int]history.Value)
		}
		c.silent[e.Position] = wrote
	}
	switch e.F {
	case "read-init", "write", "read":
		c.oks = append(c.oks, e.Position)
	}
}

func (c *causal) asks() []int { return c.oks }

// longChain is how many operations of a chain a witness shows; Jepsen's have 5.
const longChain = 32

// chain is the state of the register and of the order.
type chain struct {
	value  history.Value
	writes int64
	last   history.Value // position of the operation before
}

// step returns what is wrong with the next operation: the name of the anomaly and
// a sentence, or nothing.
func (c *chain) step(op *history.Op) (name, why string) {
	link, _ := op.Lookup("link")
	position, _ := op.Lookup("position")
	if init := link.Kind() == history.KeywordKind || link.Kind() == history.String; !(init && link.Text() == "init") && !link.Equal(c.last) {
		return "causal-order", fmt.Sprintf("It links to position %s, but the operation before is at %s.", link, c.last)
	}
	switch {
	case op.F == "write":
		if !op.Value.Equal(history.Int(c.writes + 1)) {
			return "unexpected-write", fmt.Sprintf("It writes %s where %d is to be written.", op.Value, c.writes+1)
		}
		c.writes++
		c.value = op.Value
	case op.F == "read-init" && c.writes == 0 && !op.Value.Equal(history.Int(0)):
		return "unexpected-read", fmt.Sprintf("It reads %s from a register that begins at 0.", op.Value)
	case !op.Value.IsNil() && !op.Value.Equal(c.value):
		return "unexpected-read", fmt.Sprintf("It reads %s from a register that holds %s.", op.Value, c.value)
	}
	c.last = position
	return "", ""
}

func (c *causal) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: c.Name(), Facts: len(c.oks)}
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	state := chain{value: history.Int(0)}
	var found findings
	next := 0
	err := eachOp(ctx, src, c.oks, func(op *history.Op) {
		at := c.oks[next]
		next++
		if found.total() > 0 {
			return
		}
		if wrote, ok := c.silent[at]; ok {
			op.Value = wrote
		}
		if name, why := state.step(op); name != "" {
			found.room(name)
			found.explain(name, c.oks[max(0, next-longChain):next], "Operation %d (:%s) breaks the causal order. %s", at, op.F, why)
		}
	})
	if err != nil {
		r.Reason = fmt.Sprintf("operations could not be looked at again: %v", err)
		return r
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = "the operations are not in their causal order" + such(r.Anomalies)
	case len(c.oks) == 0:
		r.Reason = "no operation is ok"
	default:
		r.Verdict = Valid
		r.Reason = plural(len(c.oks), "operation") + " in causal order"
	}
	return r
}
