package history

import (
	"fmt"
	"iter"
)

// Event is one line of a history as it passes by: what a checker needs that
// keeps little. Value is valid until the next event only.
type Event struct {
	Position int   // place in the file, from 0: what History.Ops would have it at
	Index    int64 // the op's own :index, or Absent
	Time     int64 // nanoseconds, or Absent
	Type     Type
	Process  Process
	F        string // name of the operation without its colon; "" when the line has none
	Value    View
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
			op := &h.Ops[i]
			tape.Reset()
			e = Event{Position: i, Index: op.Index, Time: op.Time, Type: op.Type, Process: op.Process, F: op.F, Value: tape.Append(op.Value)}
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
