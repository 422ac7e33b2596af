package object

import (
	"context"

	"github.com/anishathalye/porcupine"

	"github.com/jepgo/jepgo/history"
)

// FromPorcupine makes a Model of one written for Porcupine, so that it is judged
// by this package: with what memory the open operations need, crashed operations
// that may never have happened, and limits.
//
// decode turns an operation into the model's input and output. It returns ok
// false for one that the model knows nothing of, which is then left out. Of an
// operation in doubt (Type Info) the output must say that it is not known, and
// Step accept it. Equal, Hash, DescribeState and the partition functions are used
// where they are given. Set Name, and Pure for speed, on what is returned.
func FromPorcupine(m porcupine.Model, decode func(Op) (input, output any, ok bool)) Model[any] {
	step := m.Step
	if step == nil {
		step = func(state, input, output any) (bool, any) {
			return m.StepContext(context.Background(), state, input, output)
		}
	}
	out := Model[any]{
		Name: "object",
		Init: m.Init(),
		Step: func(state any, op Op) (any, bool) {
			input, output, ok := decode(op)
			if !ok {
				return state, true
			}
			ok, next := step(state, input, output)
			return next, ok
		},
		Describe: m.DescribeState,
		equal:    m.Equal,
		hash:     m.Hash,
	}
	switch {
	case m.PartitionEvent != nil:
		out.traits.split = func(p *part) []*part { return p.byEvents(m, decode) }
	case m.Partition != nil:
		out.traits.split = func(p *part) []*part { return p.byOperations(m, decode) }
	}
	return out
}

// byEvents splits p as the model splits events; calls in doubt return at the end.
func (p *part) byEvents(m porcupine.Model, decode func(Op) (any, any, bool)) []*part {
	var events []porcupine.Event
	add := func(id int32, kind porcupine.EventKind) {
		input, output, ok := decode(p.r.op(p.r.call(id)))
		switch {
		case !ok:
		case kind == porcupine.CallEvent:
			events = append(events, porcupine.Event{Kind: kind, Value: input, Id: int(id)})
		default:
			events = append(events, porcupine.Event{Kind: kind, Value: output, Id: int(id)})
		}
	}
	for _, ev := range p.events {
		add(int32(ev>>1), porcupine.EventKind(ev&1 == 1))
	}
	for _, ev := range p.events {
		if p.r.call(int32(ev>>1)).end == never {
			add(int32(ev>>1), porcupine.ReturnEvent)
		}
	}
	var groups [][]int32
	for _, group := range m.PartitionEvent(events) {
		var ids []int32
		for _, e := range group {
			ids = append(ids, int32(e.Id))
		}
		groups = append(groups, ids)
	}
	return p.groups(groups)
}

// byOperations splits p as the model splits operations, which it tells by when
// they were called: no two at once.
func (p *part) byOperations(m porcupine.Model, decode func(Op) (any, any, bool)) []*part {
	var ops []porcupine.Operation
	byCall := make(map[int64]int32)
	for _, s := range p.moments() {
		if input, output, ok := decode(p.r.op(p.r.call(s.call))); ok {
			ops = append(ops, porcupine.Operation{Input: input, Call: int64(s.begin), Output: output, Return: int64(s.end)})
			byCall[int64(s.begin)] = s.call
		}
	}
	var groups [][]int32
	for _, group := range m.Partition(ops) {
		var ids []int32
		for _, op := range group {
			ids = append(ids, byCall[op.Call])
		}
		groups = append(groups, ids)
	}
	return p.groups(groups)
}

// groups splits p into groups of its calls.
func (p *part) groups(groups [][]int32) []*part {
	of := make(map[int32]int32)
	for i, ids := range groups {
		for _, id := range ids {
			of[id] = int32(i)
		}
	}
	parts := make([]*part, len(groups))
	var tape history.Tape
	for i := range parts {
		tape.Reset()
		parts[i] = &part{r: p.r, key: p.key, sub: p.r.values.number(tape.Append(history.Int(int64(i))))}
	}
	for _, ev := range p.events {
		if i, ok := of[int32(ev>>1)]; ok {
			parts[i].events = append(parts[i].events, ev)
		}
	}
	if len(parts) == 1 {
		parts[0].sub = -1
	}
	return parts
}
