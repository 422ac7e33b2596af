package history

import (
	"fmt"
	"iter"
)

// Event is one line of a history as it passes by: what a checker needs that
// keeps little. Value and Rest are valid until the next event only.
type Event struct {
	Position int   // place in the file, from 0: what History.Ops would have it at
	Index    int64 // the op's own :index, or Absent
	Time     int64 // nanoseconds, or Absent
	Type     Type
	Process  Process
	F        string // name of the operation without its colon; "" when the line has none
	Value    View
	// Rest is a map of the line's other keys, :node, :tag and :error among them, in
	// file order; nil where there are none.
	Rest View
}

// Op copies the event off its tape: the op that ReadAll would give. O(its size).
func (e *Event) Op() Op {
	op := Op{Index: e.Index, Time: e.Time, Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()}
	n := e.Rest.Len() / 2
	if n == 0 {
		return op
	}
	for key := e.Rest.First(); n > 0; n-- {
		v := key.Next()
		value := v.Value()
		name := string(key.Bytes())
		if known, fits := op.take(name, &value); !known || !fits {
			op.Set(name, value)
		}
		if n > 1 {
			key = v.Next()
		}
	}
	return op
}

// event puts o on tapes, its value on one and the rest on the other, which may be
// the same: an event without a position.
func (o *Op) event(value, rest *Tape) Event {
	e := Event{Index: o.Index, Time: o.Time, Type: o.Type, Process: o.Process, F: o.F, Value: value.Append(o.Value)}
	if o.Node == "" && o.Tag == "" && o.Error.kind == Nil && len(o.Extra) == 0 {
		return e
	}
	e.Rest = View{tape: rest, at: len(rest.words)}
	head, n := rest.open(), 0
	put := func(key string, v Value) {
		rest.append(Keyword(key))
		rest.append(v)
		n += 2
	}
	if o.Node != "" {
		put(nodeName, Text(o.Node))
	}
	if o.Tag != "" {
		put(tagName, Keyword(o.Tag))
	}
	if o.Error.kind != Nil {
		put(errorName, o.Error)
	}
	for i := range o.Extra {
		put(o.Extra[i].Key, o.Extra[i].Value)
	}
	rest.close(head, Map, n)
	return e
}

// EventOf is the op at that position as an event, on tape.
func EventOf(position int, o *Op, tape *Tape) Event {
	e := o.event(tape, tape)
	e.Position = position
	return e
}

// Source gives back the ops at some positions of a history, for explanations.
type Source interface {
	// Ops returns the ops at those positions, in the order asked for. A position
	// outside the history is an error. It may read the file again: ask once for all.
	Ops(positions []int) ([]Op, error)
}

// Events yields the ops of h as events.
func (h *History) Events() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		var tape Tape
		var e Event
		for i := range h.Ops {
			tape.Reset()
			e = EventOf(i, &h.Ops[i], &tape)
			if !yield(&e) {
				return
			}
		}
	}
}

// Source returns h as a Source.
func (h *History) Source() Source { return inMemory{h} }

type inMemory struct{ h *History }

func (m inMemory) Ops(positions []int) ([]Op, error) {
	ops := make([]Op, len(positions))
	for i, at := range positions {
		if at < 0 || at >= len(m.h.Ops) {
			return nil, fmt.Errorf("position %d is outside the history of %d ops", at, len(m.h.Ops))
		}
		ops[i] = m.h.Ops[at]
	}
	return ops, nil
}
