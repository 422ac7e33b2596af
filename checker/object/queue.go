package object

import (
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// queueOps are the operations of queues; :dequeue returns an element, or nil when
// there is none.
func queueOps() []string { return []string{"enqueue", "dequeue"} }

// foundNone reports whether an op that takes an element was told that there is none.
func foundNone(op Op) bool { return op.Type == history.OK && op.Result.IsNil() }

// noElement rejects nil as an element of a queue or stack, since a removal that
// returns nil found none, and insertions that return something else.
func noElement(op Op) string {
	switch {
	case op.F == "dequeue" || op.F == "pop":
		return ""
	case op.Arg.IsNil():
		return "its value is nil, want an element"
	}
	return notAcknowledged(op)
}

// whyNotTaken says why op cannot take what it took from a state whose next
// element is at place next.
func whyNotTaken(elems *numbers, state string, op Op, next int, where string) string {
	size := len(state) / 4
	if op.Result.IsNil() {
		return fmt.Sprintf("finds nothing, but there are %d elements: %s", size, elems.list(state, "[", "]"))
	}
	if size == 0 {
		return fmt.Sprintf("takes %s, but there is nothing", op.Result)
	}
	for i := range size {
		if unpack(state, i) == elems.number(op.Result) {
			return fmt.Sprintf("takes %s, but %s is %s", op.Result, elems.value(unpack(state, next)), where)
		}
	}
	return fmt.Sprintf("takes %s, but that is not in %s", op.Result, elems.list(state, "[", "]"))
}

// bag returns the model of a queue without order: :dequeue returns any element.
func bag() Model[string] {
	elems := &numbers{}
	return Model[string]{
		Name: "unordered-queue", Ops: queueOps(), Reject: noElement,
		Pure: func(op Op) bool { return op.F == "dequeue" && foundNone(op) },
		Branch: func(state string, op Op) []string {
			switch {
			case op.F == "enqueue":
				id := elems.number(op.Arg)
				at, _ := place(state, id)
				return []string{insert(state, at, id)}
			case op.Type == history.Info:
				var all []string
				for i := range len(state) / 4 {
					if i == 0 || unpack(state, i) != unpack(state, i-1) {
						all = append(all, cut(state, i))
					}
				}
				return all
			case op.Result.IsNil():
				if state == "" {
					return []string{state}
				}
				return nil
			}
			if at, ok := place(state, elems.number(op.Result)); ok {
				return []string{cut(state, at)}
			}
			return nil
		},
		Describe: func(state string) string { return elems.list(state, "#{", "}") },
		Why: func(state string, op Op) string {
			return whyNotTaken(elems, state, op, 0, "there")
		},
		traits: traits{elements: true, monitor: monitorBag, split: byElement, needless: untaken("enqueue", "dequeue")},
	}
}

// byElement splits a bag into one for each element, which is right unless an
// operation found all of it empty. Removals in doubt harm nobody then.
func byElement(p *part) []*part {
	enqueue := uint16(0)
	kept := p.choose(func(id int32) bool {
		c := p.r.call(id)
		return c.f == enqueue || c.end != never
	})
	for _, ev := range kept.events {
		if c := p.r.call(int32(ev >> 1)); c.f != enqueue && c.res == 0 {
			return []*part{p}
		}
	}
	if p.distinct(enqueue) {
		return []*part{p} // the monitor is faster with all of it
	}
	return kept.splitBy(func(c *call) int32 {
		if c.f == enqueue {
			return c.arg
		}
		return c.res
	})
}

// distinct reports whether no two calls of f have the same argument.
func (p *part) distinct(f uint16) bool {
	seen := make(map[int32]bool)
	for _, ev := range p.events {
		c := p.r.call(int32(ev >> 1))
		if ev&1 == 1 || c.f != f {
			continue
		}
		if seen[c.arg] {
			return false
		}
		seen[c.arg] = true
	}
	return true
}

// untaken finds the insertions in doubt of elements that no operation is known to
// have taken. They may be left out: without the element everything that took
// another, or found nothing, still could.
func untaken(put, take string) func(p *part) []bool {
	return func(p *part) []bool {
		var out []bool
		taken := make(map[int32]bool)
		for i, ev := range p.events {
			c := p.r.call(int32(ev >> 1))
			if ev&1 == 1 || c.end != never || p.r.names[c.f] != put {
				continue
			}
			if out == nil {
				out = make([]bool, len(p.events))
				for _, ev := range p.events {
					if d := p.r.call(int32(ev >> 1)); ev&1 == 1 && p.r.names[d.f] == take {
						taken[d.res] = true
					}
				}
			}
			out[i] = !taken[c.arg]
		}
		return out
	}
}
