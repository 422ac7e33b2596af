package linear

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

const (
	// shownCalls is how many operations a witness may have; a cas or a lock can
	// make a longer chain of which no part can go.
	shownCalls = 24
	// shownOrder is how many operations of an order are shown, the last ones.
	shownOrder = 12
	// explainWork bounds the steps of all searches for one explanation, about a
	// second's worth. It is work and not time, so that the same history always has
	// the same witness.
	explainWork = 5_000_000
	// orderSteps bounds how many calls the search for the longest order looks at.
	orderSteps = 5_000_000
)

// narrator tells about one key.
type narrator struct {
	c     *columns
	k     *key
	r     *register
	calls []call // the witness
	ops   map[int]history.Op
	err   error
}

// explain says why a key is not linearizable, in the fewest operations, and
// describes the one that has no place among them.
func explain(ctx context.Context, src history.Source, c *columns, k *key, found outcome) (a checker.Anomaly, what string) {
	r := found.numbers
	if r == nil {
		var err error
		if r, err = c.decode(k); err != nil {
			text := fmt.Sprintf("%s is not linearizable, but its %v.", c.title(k), err)
			return checker.Anomaly{Name: "nonlinearizable", Message: text}, "operations"
		}
	}
	s := &searcher{ctx: ctx, initial: r.initial, values: len(r.values), memory: c.options.Memory / shares, work: explainWork}
	calls := found.proof
	if calls == nil {
		calls = s.nearest(r.calls, found.cut)
	}
	calls = s.shrink(calls)
	anywhere := false
	if len(calls) > shownCalls {
		if part := s.stretchAlone(r.calls, calls[lastEnding(calls)].begin); part != nil {
			calls, anywhere = part, true
		}
	}
	n := &narrator{c: c, k: k, r: r, calls: calls}
	last := lastEnding(calls)
	culprit := calls[last]
	best := longest(calls, r.initial, orderSteps)
	shown := calls
	if len(calls) > shownCalls {
		shown = calls[max(0, last-shownCalls/2):min(len(calls), last+shownCalls/2)]
	}
	vain := n.inVain(&culprit)
	n.load(src, shown, &culprit, &best, vain)

	text := &strings.Builder{}
	what = n.describe(&culprit)
	fmt.Fprintf(text, "%s: %s cannot be given a place in any order of the operations.", c.title(k), what)
	if v, ok := culprit.needs(); ok && v != r.initial {
		n.sayWriters(text, &culprit, v, vain)
	}
	n.sayBefore(text, &culprit)
	if anywhere {
		fmt.Fprintf(text, " Whatever %s held before, the %d operations of the witness are not linearizable.", c.title(k), len(calls))
	} else if len(calls) > shownCalls {
		fmt.Fprintf(text, " All %d operations up to there hang together, so the witness shows the nearest only.", len(calls))
	} else if len(calls) > 1 {
		fmt.Fprintf(text, " The %d operations of the witness are not linearizable by themselves.", len(calls))
	}
	var positions []int
	for _, list := range [][]call{{culprit}, shown, vain} {
		for i := range list {
			invoke, done := list[i].positions()
			positions = append(positions, invoke, done)
		}
	}
	a = checker.Anomaly{
		Name:    "nonlinearizable",
		Message: text.String(),
		Witness: n.refs(positions),
		Nodes:   n.nodes(positions),
	}
	if best.partial {
		return a, what // nobody knows what would work
	}
	a.State = n.value(best.state)
	for _, i := range best.placed[max(0, len(best.placed)-shownOrder):] {
		a.Order = append(a.Order, n.ref(&calls[i]))
	}
	for _, i := range best.blocked[:min(len(best.blocked), shownCalls)] {
		a.Blocked = append(a.Blocked, checker.Blocked{Ref: n.ref(&calls[i]), Why: n.whyNot(&calls[i], best, i)})
	}
	return a, what
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

// inVain is a failed operation that would have set the value that c needs.
func (n *narrator) inVain(c *call) []call {
	v, ok := c.needs()
	if !ok {
		return nil
	}
	code := n.r.values[v]
	var vain []call
	n.err = n.c.each(n.k, func(row *row) bool {
		if row.fate == failed && row.value == code && (len(vain) == 0 || row.begin < vain[0].begin) {
			now := call{begin: row.begin, end: row.end, told: row.end, action: row.action, value: v, old: -1, lone: row.lone}
			if row.action == cas {
				now.old = int32(slices.Index(n.r.values, row.old))
			}
			vain = []call{now}
		}
		return true
	})
	return vain
}

// load reads again the ops that are told of.
func (n *narrator) load(src history.Source, shown []call, culprit *call, best *order, vain []call) {
	list := append(append([]call{*culprit}, shown...), vain...)
	for _, i := range best.placed[max(0, len(best.placed)-shownOrder):] {
		list = append(list, n.calls[i])
	}
	for _, i := range best.blocked[:min(len(best.blocked), shownCalls)] {
		list = append(list, n.calls[i])
	}
	if best.stuck >= 0 {
		list = append(list, n.calls[best.stuck])
	}
	if v, ok := culprit.needs(); ok {
		for i, told := 0, 0; i < len(n.calls) && told < 2*shownWriters; i++ {
			if n.calls[i].writes(v) {
				list = append(list, n.calls[i])
				told++
			}
		}
	}
	for _, c := range n.before(culprit) {
		list = append(list, *c)
	}
	n.read(src, list)
}

// read reads the ops of calls again, all at once.
func (n *narrator) read(src history.Source, list []call) {
	var positions []int
	for i := range list {
		invoke, done := list[i].positions()
		for _, at := range []int{invoke, done} {
			if at >= 0 {
				positions = append(positions, at)
			}
		}
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	n.ops = make(map[int]history.Op, len(positions))
	ops, err := src.Ops(positions)
	n.err = err
	for i := range ops {
		n.ops[positions[i]] = ops[i]
	}
}

// value is a value as it is written in the history.
func (n *narrator) value(v int32) string {
	code := n.r.values[v]
	switch {
	case n.c.model.lock && code == n.c.free:
		return "free"
	case n.c.model.lock:
		return "taken"
	}
	return n.c.codes.value(code).String()
}

const shownWriters = 3

// sayWriters tells where the value that was seen comes from.
func (n *narrator) sayWriters(text *strings.Builder, culprit *call, v int32, vain []call) {
	value := n.value(v)
	var from []string
	var later *call
	for i := range n.calls {
		switch c := &n.calls[i]; {
		case !c.writes(v) || c.begin == culprit.begin || len(from) >= shownWriters:
		case c.begin > culprit.end:
			later = c
		default:
			from = append(from, n.describe(c))
		}
	}
	switch {
	case len(from) > 1:
		fmt.Fprintf(text, " %s may come from %s.", value, strings.Join(from, " or "))
		return
	case len(from) == 1:
		fmt.Fprintf(text, " %s comes from %s.", value, from[0])
		return
	case later != nil:
		fmt.Fprintf(text, " %s was only written afterwards, by %s.", value, n.describe(later))
		return
	}
	fmt.Fprintf(text, " No operation that may have happened by then wrote %s (if it was there from the start, say so as the initial value)", value)
	for i := range vain {
		fmt.Fprintf(text, "; %s would have, but it failed", n.describe(&vain[i]))
	}
	text.WriteString(".")
}

// before lists the last calls that had ended when c began, the latest first.
func (n *narrator) before(c *call) []*call {
	var list []*call
	for i := range n.calls {
		if n.calls[i].end < c.begin {
			list = append(list, &n.calls[i])
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return int(int64(b.end) - int64(a.end)) })
	return list[:min(3, len(list))]
}

func (n *narrator) sayBefore(text *strings.Builder, culprit *call) {
	var parts []string
	for _, c := range n.before(culprit) {
		parts = append(parts, n.describe(c))
	}
	if len(parts) > 0 {
		fmt.Fprintf(text, " Ended before it began, latest first: %s.", strings.Join(parts, "; "))
	}
}

// whyNot says why a call cannot come next after the longest order.
func (n *narrator) whyNot(c *call, best order, i int32) string {
	thing := "the register holds"
	if n.c.model.lock {
		thing = "the lock is"
	}
	after, ok := c.step(best.state)
	switch {
	case ok && i == best.stuck:
		return "could come next, but the operations that are left could not"
	case ok && after != best.state:
		return fmt.Sprintf("would leave %s behind, and %s would still have no place", n.value(after), n.describe(&n.calls[best.stuck]))
	case ok:
		return fmt.Sprintf("would change nothing, and %s would still have no place", n.describe(&n.calls[best.stuck]))
	case c.action == read:
		return fmt.Sprintf("reads %s, but %s %s", n.value(c.value), thing, n.value(best.state))
	case c.action == miss:
		return fmt.Sprintf("found another value than %s, but %s %s", n.value(c.old), thing, n.value(best.state))
	}
	return fmt.Sprintf("needs %s, but %s %s", n.value(c.old), thing, n.value(best.state))
}

// describe names a call as a person would: what, by whom, where, which ops.
func (n *narrator) describe(c *call) string {
	text := &strings.Builder{}
	invoke, done := c.positions()
	op := n.ops[max(invoke, done)]
	switch {
	case n.c.model.lock:
		text.WriteString(n.ops[max(invoke, done)].F)
	case c.action == read && op.F == "cas":
		fmt.Fprintf(text, "cas from %[1]s to %[1]s", n.value(c.value))
	case c.action == read:
		fmt.Fprintf(text, "read of %s", n.value(c.value))
	case c.action == write:
		fmt.Fprintf(text, "write of %s", n.value(c.value))
	case c.action == miss:
		fmt.Fprintf(text, "cas that did not find %s", n.value(c.old))
	case c.old < 0:
		fmt.Fprintf(text, "cas to %s", n.value(c.value))
	default:
		fmt.Fprintf(text, "cas from %s to %s", n.value(c.old), n.value(c.value))
	}
	if op.Process.IsZero() {
		text.WriteString(" by an unknown process")
	} else {
		fmt.Fprintf(text, " by process %s", op.Process)
	}
	if op.Node != "" {
		fmt.Fprintf(text, " on %s", op.Node)
	}
	switch {
	case done < 0:
		fmt.Fprintf(text, " (op %d, never completed)", invoke)
	case invoke < 0:
		fmt.Fprintf(text, " (op %d)", done)
	case op.Type == history.Info:
		fmt.Fprintf(text, " (ops %d and %d, in doubt)", invoke, done)
	default:
		fmt.Fprintf(text, " (ops %d and %d)", invoke, done)
	}
	return text.String()
}

// ref points at the op that says most of a call.
func (n *narrator) ref(c *call) checker.Ref {
	invoke, done := c.positions()
	return n.refs([]int{max(invoke, done)})[0]
}

func (n *narrator) refs(positions []int) []checker.Ref {
	positions = slices.DeleteFunc(slices.Clone(positions), func(at int) bool { return at < 0 })
	slices.Sort(positions)
	positions = slices.Compact(positions)
	refs := make([]checker.Ref, len(positions))
	for i, at := range positions {
		refs[i].Index = at
		if op, ok := n.ops[at]; ok {
			refs[i].Op = op.String()
		} else {
			refs[i].Op = fmt.Sprintf("; this op could not be read again: %v", n.err)
		}
	}
	return refs
}

func (n *narrator) nodes(positions []int) []string {
	var nodes []string
	for _, at := range positions {
		if op, ok := n.ops[at]; ok && op.Node != "" {
			nodes = append(nodes, op.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
