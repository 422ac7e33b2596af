package checker

import (
	"slices"

	"github.com/jepgo/jepgo/history"
)

// ours keeps the ops of a history that no client did: what jepgo and its nemesis
// wrote of a run, which is little. The zero value is ready for use.
type ours struct {
	at     []int // positions, rising
	ops    []history.Op
	count  int // ops of the history, of clients too
	client int // position of the first op of a client plus 1, 0 for none
}

func (o *ours) take(e *history.Event) {
	o.count++
	if e.Process.IsClient() {
		if o.client == 0 {
			o.client = e.Position + 1
		}
		return
	}
	if !e.Process.IsZero() {
		o.at = append(o.at, e.Position)
		o.ops = append(o.ops, e.Op())
	}
}

// oursOf gathers them from a history in memory.
func oursOf(h *history.History) *ours {
	o := &ours{count: len(h.Ops)}
	for i := range h.Ops {
		op := &h.Ops[i]
		switch {
		case op.Process.IsClient():
			if o.client == 0 {
				o.client = i + 1
			}
		case !op.Process.IsZero():
			o.at = append(o.at, i)
			o.ops = append(o.ops, *op)
		}
	}
	return o
}

// op is the op at a position that o has.
func (o *ours) op(position int) *history.Op {
	i, ok := slices.BinarySearch(o.at, position)
	if !ok {
		return &history.Op{Index: history.Absent, Time: history.Absent}
	}
	return &o.ops[i]
}
