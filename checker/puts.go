package checker

import (
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// puts tells of each event of an operation that puts an element somewhere, such as
// :add 3, which element that is. What completes goes by its invocation, unless an
// ok names another element: nil and, where the element is none, a boolean are
// answers and no elements.
type puts struct {
	open       opened[put]
	nameless   int // ok completions of nobody knows what
	namelessAt int // the first of them
}

// put is an open operation.
type put struct {
	elem int32
	at   int
	flag bool // the element is a boolean
}

// of returns the number of the element and, of a completion whose element is only
// known by the invocation, the position of that, else nowhere. ok is false where
// nobody knows what the event is of.
func (p *puts) of(in *interner, e *history.Event) (elem int32, call int, ok bool) {
	switch e.Type {
	case 0:
		return none, nowhere, false
	case history.Invoke:
		_, flag := e.Value.Flag()
		elem = in.number(e.Value)
		p.open.begin(e.Process, put{elem, e.Position, flag})
		return elem, nowhere, true
	}
	before, open := p.open.end(e.Process)
	return p.completed(in, e, before, open)
}

// completed is of for the completion of before, if that is open.
func (p *puts) completed(in *interner, e *history.Event, before put, open bool) (elem int32, call int, ok bool) {
	_, flag := e.Value.Flag()
	if open && before.elem != none && (e.Type != history.OK || e.Value.IsNil() || flag && !before.flag) {
		return before.elem, before.at, true
	}
	if e.Value.IsNil() {
		if e.Type == history.OK {
			if p.nameless++; p.nameless == 1 {
				p.namelessAt = e.Position
			}
		}
		return none, nowhere, false
	}
	return in.number(e.Value), nowhere, true
}

// odd says what is wrong with a history that has ok completions of nobody knows
// what, or nothing.
func (p *puts) odd(f string) string {
	if p.nameless == 0 {
		return ""
	}
	return fmt.Sprintf("%s with neither a value nor an invocation, such as op %d", plural(p.nameless, "ok "+f), p.namelessAt)
}
