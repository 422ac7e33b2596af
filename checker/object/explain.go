package object

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// shownCalls is how many calls a witness shows.
const shownCalls = 32

// story is what there is to tell of one part that is not linearizable.
type story struct {
	p       *part
	calls   []int32
	note    string
	culprit int32   // the call without a place, or -1
	order   []int32 // calls
	state   string
	blocked []blocked
	failed  int32 // a call that failed and would explain it, or -1
}

type blocked struct {
	call int32
	why  string
}

// explain tells why parts are not linearizable, and names the operation that the
// first one has no place for. It reads the history once.
func (r *recorder) explain(ctx context.Context, src history.Source, parts []*part, found []finding) ([]checker.Anomaly, string) {
	var stories []story
	for i, p := range parts {
		if found[i].verdict == checker.Invalid && len(stories) < maxAnomalies {
			stories = append(stories, r.tell(ctx, p, found[i]))
		}
	}
	var positions []int
	for i := range stories {
		positions = append(positions, stories[i].positions()...)
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	ops, err := src.Ops(positions)
	b := &book{r: r, ops: make(map[int]*history.Op), err: err}
	if err == nil {
		for i, at := range positions {
			b.ops[at] = &ops[i]
		}
	}
	anomalies := make([]checker.Anomaly, len(stories))
	for i := range stories {
		anomalies[i] = b.anomaly(&stories[i])
	}
	culprit := ""
	if c := stories[0].culprit; c >= 0 {
		culprit = b.describe(c)
	}
	return anomalies, culprit
}

// tell finds few calls, the longest order among them, and what stops it.
func (r *recorder) tell(ctx context.Context, p *part, f finding) story {
	s := story{p: p, note: f.note, culprit: -1, failed: -1}
	if f.proof {
		if p.operations() > 2*shownCalls {
			// The note and its calls are all that is needed.
			s.calls, s.culprit = f.calls, f.calls[len(f.calls)-1]
			for _, c := range f.calls {
				if r.call(c).end > r.call(s.culprit).end {
					s.culprit = c
				}
			}
			return s
		}
		if g := search(ctx, p, r.options); g.verdict == checker.Invalid {
			f = g
		}
	}
	s.calls = shrink(ctx, p, r.options, f)
	o := r.options
	o.Work = explainWork / 4
	l := longest(p.only(s.calls), newBudget(ctx, o))
	s.order, s.state, s.culprit, s.blocked = l.calls, l.machine.describe(l.state), l.stop, l.blocked()
	if s.culprit >= 0 {
		s.failed = r.failedSource(p, s.culprit)
	}
	return s
}

// failedSource finds a call that failed and that would have brought what the
// culprit saw.
func (r *recorder) failedSource(p *part, culprit int32) int32 {
	got := r.call(culprit)
	if got.res == 0 || got.res == got.arg || r.spec.fails {
		return -1
	}
	result := r.op(got).Result.String()
	for i := range int32(r.count) {
		c := r.call(i)
		if c.how != failType || c.key != p.key || c.arg == 0 || c.begin > got.end {
			continue
		}
		if c.arg == got.res {
			return i
		}
		for _, text := range brought(r.op(c)) {
			if text != "" && mentions(result, text) {
				return i
			}
		}
	}
	return -1
}

func (r *recorder) positions(call int32) []int {
	c := r.call(call)
	var out []int
	if c.begin >= 0 {
		out = append(out, int(c.begin))
	}
	if c.end != never {
		out = append(out, int(c.end))
	}
	if len(out) == 0 {
		out = append(out, int(r.doubts[call]))
	}
	return out
}

// witness returns the calls to show: where there are too many, those nearest to
// the culprit's end.
func (s *story) witness() []int32 {
	if len(s.calls) <= shownCalls {
		return s.calls
	}
	near := slices.Clone(s.calls)
	end := int32(never)
	if s.culprit >= 0 {
		end = s.p.r.call(s.culprit).end
	}
	distance := func(c int32) int32 { // from the begin of the last ones to that end
		if d := end - s.p.r.call(c).begin; d >= 0 {
			return d
		}
		return never
	}
	slices.SortStableFunc(near, func(a, b int32) int { return int(distance(a)) - int(distance(b)) })
	return near[:shownCalls]
}

func (s *story) positions() []int {
	var out []int
	all := slices.Concat(s.witness(), s.shownOrder())
	for _, b := range s.blocked {
		all = append(all, b.call)
	}
	if s.culprit >= 0 {
		all = append(all, s.culprit)
	}
	if s.failed >= 0 {
		all = append(all, s.failed)
	}
	for _, c := range all {
		out = append(out, s.p.r.positions(c)...)
	}
	return out
}

// shownOrder is the end of the order.
func (s *story) shownOrder() []int32 { return s.order[max(0, len(s.order)-shownCalls):] }

// book has the ops that stories need.
type book struct {
	r   *recorder
	ops map[int]*history.Op
	err error
}

func (b *book) ref(at int) checker.Ref {
	if op := b.ops[at]; op != nil {
		return checker.Ref{Index: at, Op: op.String()}
	}
	return checker.Ref{Index: at, Op: fmt.Sprintf("; this op could not be read again: %v", b.err)}
}

// last is the op that tells most of a call: its completion, if it has one.
func (b *book) last(call int32) checker.Ref {
	at := b.r.positions(call)
	return b.ref(at[len(at)-1])
}

func (b *book) anomaly(s *story) checker.Anomaly {
	a := checker.Anomaly{Name: "nonlinearizable", State: s.state}
	positions := make([]int, 0, 2*len(s.calls))
	for _, c := range s.witness() {
		positions = append(positions, b.r.positions(c)...)
	}
	text := &strings.Builder{}
	text.WriteString(s.p.title())
	text.WriteString(": ")
	if s.culprit >= 0 {
		fmt.Fprintf(text, "%s cannot be given a place in any order of the operations.", b.describe(s.culprit))
	} else {
		text.WriteString("no order of the operations works.")
	}
	if s.note != "" {
		text.WriteString(" " + s.note)
	}
	for _, x := range s.blocked {
		if x.call == s.culprit {
			fmt.Fprintf(text, " After the longest order that works it %s.", x.why)
		}
	}
	if s.failed >= 0 {
		fmt.Fprintf(text, " %s would explain it, but it failed.", b.describe(s.failed))
		positions = append(positions, b.r.positions(s.failed)...)
	}
	switch n := len(s.calls); {
	case n > shownCalls:
		fmt.Fprintf(text, " All %d operations up to there hang together; the witness shows the nearest %d.", n, shownCalls)
	case n > 1:
		fmt.Fprintf(text, " The %d operations of the witness are not linearizable by themselves.", n)
	}
	a.Message = text.String()
	slices.Sort(positions)
	for _, at := range slices.Compact(positions) {
		a.Witness = append(a.Witness, b.ref(at))
		if op := b.ops[at]; op != nil && op.Node != "" {
			a.Nodes = append(a.Nodes, op.Node)
		}
	}
	slices.Sort(a.Nodes)
	a.Nodes = slices.Compact(a.Nodes)
	for _, c := range s.shownOrder() {
		a.Order = append(a.Order, b.last(c))
	}
	for _, x := range s.blocked {
		a.Blocked = append(a.Blocked, checker.Blocked{Ref: b.last(x.call), Why: x.why})
	}
	return a
}

// describe names a call as a person would: what, by whom, where, which ops.
func (b *book) describe(call int32) string {
	c := b.r.call(call)
	text := b.r.op(c).String()
	at := b.r.positions(call)
	if op := b.ops[at[len(at)-1]]; op != nil {
		text += " by process " + op.Process.String()
		if op.Node != "" {
			text += " on " + op.Node
		}
	}
	if len(at) == 2 {
		return fmt.Sprintf("%s (ops %d and %d)", text, at[0], at[1])
	}
	return fmt.Sprintf("%s (op %d)", text, at[0])
}
