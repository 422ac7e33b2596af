package object

import (
	"slices"

	"github.com/jepgo/jepgo/history"
)

// problem is a part in the terms of the search: calls are numbered in the order
// of their invocations, and each has a slot, a bit of its own for as long as it
// is open. Slots are used again, except those of calls in doubt.
type problem struct {
	events []uint32
	calls  []int32 // index of each among the recorder's
	class  []int32
	end    []int32 // index of the event at which it ends, or never
	spare  []bool  // nil, or whether each may as well not have happened
	slot   []int32
	words  int // of 64 bits, for all slots
	ops    []Op
	table  *table
}

// compile makes the problem of p. Spare calls, where some are named, need not have
// happened; only the frontier can do that.
func compile(p *part, spare map[int32]bool) *problem {
	type shape struct {
		arg, res int32
		f        uint16
		how      history.Type
	}
	q := &problem{}
	number := make(map[int32]int32, len(p.events)/2)
	classes := make(map[shape]int32)
	var pure []bool
	needless := map[int32]bool{}
	if f := p.r.spec.needless; f != nil {
		for i, drop := range f(p) {
			if drop {
				needless[int32(p.events[i]>>1)] = true
			}
		}
	}
	var free []int32
	slots := int32(0)
	for _, ev := range p.events {
		id := int32(ev >> 1)
		c := p.r.call(id)
		if ev&1 == 1 {
			n, ok := number[id]
			if ok && q.end[n] != never {
				q.end[n] = int32(len(q.events))
				q.events = append(q.events, uint32(n)<<1|1)
				free = append(free, q.slot[n])
			}
			continue
		}
		open := c.end == never
		s := shape{c.arg, c.res, c.f, c.how}
		class, ok := classes[s]
		if !ok {
			op := p.r.op(c)
			class = int32(len(q.ops))
			classes[s] = class
			q.ops = append(q.ops, op)
			pure = append(pure, p.r.spec.pure != nil && p.r.spec.pure(op))
		}
		if open && (pure[class] || needless[id]) {
			continue // it says nothing, and nothing comes of it
		}
		n := int32(len(q.calls))
		number[id] = n
		q.calls = append(q.calls, id)
		q.class = append(q.class, class)
		end := int32(never)
		if !open {
			end = 0 // until it is known
		}
		q.end = append(q.end, end)
		if spare != nil {
			q.spare = append(q.spare, spare[id])
		}
		slot := slots
		if last := len(free) - 1; last >= 0 {
			slot, free = free[last], free[:last]
		} else {
			slots++
		}
		q.slot = append(q.slot, slot)
		q.events = append(q.events, uint32(n)<<1)
	}
	q.words = max(1, int(slots+63)/64)
	build := p.r.spec.machine
	if tailor := p.r.spec.tailor; tailor != nil {
		build = tailor
	}
	q.table = newTable(build(q.ops), pure)
	if p.r.spec.pure == nil && !p.r.options.blind {
		q.table.inferPure()
	}
	return q
}

// smallMachine is how many states times classes inferPure looks at.
const smallMachine = 4096

// inferPure finds out which classes are pure, where all states can be walked.
func (t *table) inferPure() {
	states := int32(1)
	pure := slices.Repeat([]bool{true}, t.classes)
	for s := int32(0); s < states; s++ {
		if int(states)*t.classes > smallMachine {
			return
		}
		for class := range int32(t.classes) {
			next, all := t.next(s, class)
			if next >= 0 && (next != s || all != nil) {
				pure[class] = false
			}
			states = int32(t.m.states())
		}
	}
	copy(t.pure, pure)
}

// pending are the calls that are open at a place in the events. It can go both
// ways.
type pending struct {
	q     *problem
	real  []int32 // those that will end, the first to end first
	doubt []int32 // those that will not, the first to begin first
}

// pass goes over an event.
func (p *pending) pass(ev uint32) {
	n := int32(ev >> 1)
	switch end := p.q.end[n]; {
	case ev&1 == 1:
		p.real = p.real[:copy(p.real, p.real[1:])]
	case end == never:
		p.doubt = append(p.doubt, n)
	default:
		i := len(p.real)
		p.real = append(p.real, n)
		for i > 0 && p.q.end[p.real[i-1]] > end {
			p.real[i] = p.real[i-1]
			i--
		}
		p.real[i] = n
	}
}

// back goes back over an event.
func (p *pending) back(ev uint32) {
	n := int32(ev >> 1)
	switch {
	case ev&1 == 1:
		p.real = append(p.real, 0)
		copy(p.real[1:], p.real)
		p.real[0] = n
	case p.q.end[n] == never:
		p.doubt = p.doubt[:len(p.doubt)-1]
	default:
		i := len(p.real) - 1
		for p.real[i] != n {
			i--
		}
		p.real = append(p.real[:i], p.real[i+1:]...)
	}
}

func (q *problem) has(set []uint64, n int32) bool {
	slot := q.slot[n]
	return set[slot>>6]>>(slot&63)&1 == 1
}

func (q *problem) put(set []uint64, n int32) {
	slot := q.slot[n]
	set[slot>>6] |= 1 << (slot & 63)
}

func (q *problem) drop(set []uint64, n int32) {
	slot := q.slot[n]
	set[slot>>6] &^= 1 << (slot & 63)
}

// holds reports whether the class may happen in the state and leave it as it is.
func (t *table) holds(state, class int32) bool {
	next, all := t.next(state, class)
	return next == state || all != nil && slices.Contains(all, state)
}
