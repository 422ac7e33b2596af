package linear

import (
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// explain tells why a key is not sequentially consistent.
func (d *contradiction) explain(src history.Source, c *columns, k *key) checker.Anomaly {
	n := &narrator{c: c, k: k, r: d.register, calls: d.proof}
	shown := d.proof[:min(len(d.proof), 2*shownCalls)]
	list := append([]call(nil), shown...)
	for _, h := range d.hops {
		list = append(list, d.register.calls[h.before], d.register.calls[h.after])
	}
	n.read(src, list)
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s: no one order of the operations keeps the order of each process.", c.title(k))
	a := checker.Anomaly{Name: "nonsequential"}
	for i, h := range d.hops {
		before, after := &d.register.calls[h.before], &d.register.calls[h.after]
		why := fmt.Sprintf("process %s did %s before %s", n.processOf(before), n.describe(before), n.describe(after))
		next := &d.register.calls[d.hops[(i+1)%len(d.hops)].before]
		fmt.Fprintf(text, " %s.", strings.ToUpper(why[:1])+why[1:])
		from, to := n.position(before), n.position(after)
		a.Steps = append(a.Steps, checker.Step{From: from, To: to, Rel: "process", Why: why})
		if then := n.position(next); then != to {
			a.Steps = append(a.Steps, checker.Step{From: to, To: then, Rel: n.relation(after, next, d.initial), Why: n.sayTogether(after, next, d.initial)})
		}
	}
	switch {
	case d.initial:
		text.WriteString(" But nothing can come before the initial value.")
	case len(d.hops) == 1:
		text.WriteString(" But the first of the two can only come after the second.")
	case len(d.hops) > 1:
		text.WriteString(" Operations of one value, and those that a cas joins to them, stand together in any order, so these lead in a circle.")
	case len(d.proof) > len(shown):
		fmt.Fprintf(text, " All %d operations hang together, so the witness shows the first only.", len(d.proof))
	case len(d.proof) > 1:
		fmt.Fprintf(text, " The %d operations of the witness are not sequentially consistent by themselves.", len(d.proof))
	}
	var positions []int
	for i := range shown {
		invoke, done := shown[i].positions()
		positions = append(positions, invoke, done)
	}
	a.Message, a.Witness, a.Nodes = text.String(), n.refs(positions), n.nodes(positions)
	return a
}

// position is the op that stands for a call.
func (n *narrator) position(c *call) int {
	invoke, done := c.positions()
	if done >= 0 {
		return done
	}
	return invoke
}

func (n *narrator) processOf(c *call) string { return n.ops[n.position(c)].Process.String() }

// relation is what holds between two calls that stand together.
func (n *narrator) relation(from, to *call, initial bool) string {
	switch {
	case initial || !from.sets() && to.sets():
		return "rw"
	case from.sets() && to.sets():
		return "ww"
	}
	return "wr"
}

func (n *narrator) sayTogether(from, to *call, initial bool) string {
	if initial {
		return fmt.Sprintf("%s saw the initial value, so it comes before %s", n.describe(from), n.describe(to))
	}
	return fmt.Sprintf("%s and %s stand together, and nothing of the others comes between", n.describe(from), n.describe(to))
}
