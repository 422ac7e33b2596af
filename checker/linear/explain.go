package linear

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// shownCalls is how many operations a witness may have; a cas or a lock can make
// a longer chain of which no part can go.
const shownCalls = 24

// explainWork bounds the steps of all searches for one explanation, about ten
// seconds' worth. It is work and not time, so that the same history always has
// the same witness.
const explainWork = 20_000_000

// explain says why the register is not linearizable, in the fewest operations,
// and describes the one that has no place among them.
func (r *register) explain(ctx context.Context, h *history.History, o Options, found outcome) (a checker.Anomaly, what string) {
	s := &searcher{ctx: ctx, r: r, nilAny: o.NilAny, memory: o.Memory, limited: true, work: explainWork}
	calls := s.shrink(s.firstFailure(found))
	last := lastEnding(calls)
	culprit := calls[last]
	text := &strings.Builder{}
	what = r.describe(h, &culprit)
	fmt.Fprintf(text, "%s: %s cannot be given a place in any order of the operations.", r.title(), what)
	if v, ok := culprit.needs(o.NilAny); ok && v != r.initial {
		r.sayWriters(text, h, calls, &culprit, v)
	}
	r.sayBefore(text, h, calls, &culprit)
	positions := []int{culprit.invoke, culprit.done}
	if len(calls) <= shownCalls {
		if len(calls) > 1 {
			fmt.Fprintf(text, " The %d operations of the witness are not linearizable by themselves.", len(calls))
		}
		for i := range calls {
			positions = append(positions, calls[i].invoke, calls[i].done)
		}
	} else {
		fmt.Fprintf(text, " All %d operations up to there hang together, so the witness shows the nearest only.", len(calls))
		for i := max(0, last-shownCalls/2); i < min(len(calls), last+shownCalls/2); i++ {
			positions = append(positions, calls[i].invoke, calls[i].done)
		}
	}
	if v, ok := culprit.needs(o.NilAny); ok {
		for i := range r.failed {
			if r.failed[i].writes(v) {
				positions = append(positions, r.failed[i].invoke, r.failed[i].done)
				break
			}
		}
	}
	return checker.Anomaly{
		Name:    "nonlinearizable",
		Message: text.String(),
		Witness: checker.Refs(h, positions...),
		Nodes:   nodesOf(h, positions),
	}, what
}

// lastEnding is the call that completed last, the one at which the history
// stopped to make sense.
func lastEnding(calls []call) int {
	last := 0
	for i := range calls {
		if end := calls[i].end; end != never && (calls[last].end == never || end > calls[last].end) {
			last = i
		}
	}
	return last
}

// sayWriters tells where the value that was seen comes from.
func (r *register) sayWriters(text *strings.Builder, h *history.History, calls []call, culprit *call, v int32) {
	value := r.values.Value(v)
	var from []string
	var later *call
	for i := range calls {
		switch c := &calls[i]; {
		case !c.writes(v) || c.invoke == culprit.invoke:
		case c.begin > culprit.end:
			later = c
		default:
			from = append(from, r.describe(h, c))
		}
	}
	switch {
	case len(from) > 1:
		fmt.Fprintf(text, " %s may come from %s.", value, strings.Join(from[:min(3, len(from))], " or "))
		return
	case len(from) == 1:
		fmt.Fprintf(text, " %s comes from %s.", value, from[0])
		return
	case later != nil:
		fmt.Fprintf(text, " %s was only written afterwards, by %s.", value, r.describe(h, later))
		return
	}
	fmt.Fprintf(text, " No operation that may have happened by then wrote %s", value)
	for i := range r.failed {
		if c := &r.failed[i]; c.writes(v) {
			fmt.Fprintf(text, "; %s would have, but it failed", r.describe(h, c))
			break
		}
	}
	text.WriteString(".")
}

// sayBefore lists the last operations that had ended when the culprit began.
func (r *register) sayBefore(text *strings.Builder, h *history.History, calls []call, culprit *call) {
	var before []*call
	for i := range calls {
		if calls[i].end < culprit.begin {
			before = append(before, &calls[i])
		}
	}
	slices.SortFunc(before, func(a, b *call) int { return b.end - a.end })
	if len(before) == 0 {
		return
	}
	var parts []string
	for _, c := range before[:min(3, len(before))] {
		parts = append(parts, r.describe(h, c))
	}
	fmt.Fprintf(text, " Ended before it began, latest first: %s.", strings.Join(parts, "; "))
}

// describe names a call as a person would: what, by whom, where, which ops.
func (r *register) describe(h *history.History, c *call) string {
	text := &strings.Builder{}
	switch c.action {
	case read:
		fmt.Fprintf(text, "read of %s", r.values.Value(c.value))
	case write:
		fmt.Fprintf(text, "write of %s", r.values.Value(c.value))
	case cas:
		op := &h.Ops[max(c.invoke, c.done)]
		if op.F == "cas" {
			fmt.Fprintf(text, "cas from %s to %s", r.values.Value(c.old), r.values.Value(c.value))
		} else {
			text.WriteString(op.F)
		}
	}
	op := &h.Ops[max(c.invoke, c.done)]
	fmt.Fprintf(text, " by process %s", op.Process)
	if op.Node != "" {
		fmt.Fprintf(text, " on %s", op.Node)
	}
	switch {
	case c.done < 0:
		fmt.Fprintf(text, " (op %d, never completed)", c.invoke)
	case c.invoke < 0:
		fmt.Fprintf(text, " (op %d)", c.done)
	case h.Ops[c.done].Type == history.Info:
		fmt.Fprintf(text, " (ops %d and %d, in doubt)", c.invoke, c.done)
	default:
		fmt.Fprintf(text, " (ops %d and %d)", c.invoke, c.done)
	}
	return text.String()
}

func nodesOf(h *history.History, positions []int) []string {
	var nodes []string
	for _, at := range positions {
		if at >= 0 && h.Ops[at].Node != "" {
			nodes = append(nodes, h.Ops[at].Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
