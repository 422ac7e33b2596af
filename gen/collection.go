package gen

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// set is a set of numbers that only grows.
type set struct {
	o     *Options
	r     *rand.Rand
	elems []int
	next  int
	read  bool // for the last time
	lost  fault
}

func newSet(o *Options, r *rand.Rand) system {
	return &set{o: o, r: r, lost: newFault(o, r, "lost")}
}

func (s *set) draw(a *actor) string {
	s.lost.count()
	if s.r.Float64() < s.o.Reads {
		return "read"
	}
	s.next++
	a.op.arg = s.next
	return "add"
}

func (s *set) step(a *actor) bool {
	switch {
	case a.f == "read":
		a.op.set = append(a.op.set[:0], s.elems...)
	case a.fate == fine && s.lost.strike():
	default:
		s.elems = append(s.elems, a.op.arg)
	}
	return true
}

func (s *set) value(dst []byte, a *actor, result bool) []byte {
	switch {
	case a.f == "add":
		return strconv.AppendInt(dst, int64(a.op.arg), 10)
	case result:
		return appendVector(dst, a.op.set)
	}
	return append(dst, "nil"...)
}

func (s *set) ended(*actor) {}

// last reads once more: what was added must be there.
func (s *set) last(a *actor) string {
	if s.read {
		return ""
	}
	s.read = true
	return "read"
}

// counter is a sum.
type counter struct {
	o     *Options
	r     *rand.Rand
	sum   int
	wrong fault
}

func newCounter(o *Options, r *rand.Rand) system {
	return &counter{o: o, r: r, wrong: newFault(o, r, "wrong-read")}
}

const largestAdd = 5

func (s *counter) draw(a *actor) string {
	s.wrong.count()
	if s.r.Float64() < s.o.Reads {
		return "read"
	}
	a.op.arg = 1 + s.r.IntN(largestAdd)
	return "add"
}

func (s *counter) step(a *actor) bool {
	if a.f == "add" {
		s.sum += a.op.arg
		return true
	}
	a.op.result = s.sum
	if a.fate == fine && s.wrong.strike() {
		// More than anybody ever asked for.
		a.op.result += largestAdd*s.o.Ops + 1
	}
	return true
}

func (s *counter) value(dst []byte, a *actor, result bool) []byte {
	switch {
	case a.f == "add":
		return strconv.AppendInt(dst, int64(a.op.arg), 10)
	case result:
		return strconv.AppendInt(dst, int64(a.op.result), 10)
	}
	return append(dst, "nil"...)
}

func (s *counter) ended(*actor) {}

// queue is first in, first out. A dequeue of the empty queue fails.
type queue struct {
	o                      *Options
	r                      *rand.Rand
	elems                  []int
	done                   []bool // by element: its enqueue has completed
	next                   int
	taken                  int // last
	lost, twice, reordered fault
}

func newQueue(o *Options, r *rand.Rand) system {
	return &queue{o: o, r: r, done: []bool{true}, lost: newFault(o, r, "lost"),
		twice: newFault(o, r, "duplicate"), reordered: newFault(o, r, "reordered")}
}

func (s *queue) draw(a *actor) string {
	s.lost.count()
	s.twice.count()
	s.reordered.count()
	if s.r.Float64() < s.o.Reads {
		return "dequeue"
	}
	s.next++
	a.op.arg = s.next
	s.done = append(s.done, false)
	return "enqueue"
}

func (s *queue) step(a *actor) bool {
	fair := a.fate == fine
	switch {
	case a.f == "enqueue" && fair && s.lost.strike():
	case a.f == "enqueue":
		s.elems = append(s.elems, a.op.arg)
	case s.taken != 0 && fair && s.twice.strike():
		a.op.result = s.taken
	case len(s.elems) == 0:
		a.failed = true
	default:
		at := 0
		// The newest overtakes one whose enqueue completed before the newest began.
		if n := len(s.elems) - 1; n > 0 && fair && s.done[s.elems[0]] && s.elems[n] > s.elems[0]+2*s.o.Clients && s.reordered.strike() {
			at = n
		}
		a.op.result = s.elems[at]
		s.elems = slices.Delete(s.elems, at, at+1)
		if fair {
			s.taken = a.op.result
		}
	}
	return true
}

func (s *queue) value(dst []byte, a *actor, result bool) []byte {
	switch {
	case a.f == "enqueue":
		return strconv.AppendInt(dst, int64(a.op.arg), 10)
	case result:
		return strconv.AppendInt(dst, int64(a.op.result), 10)
	}
	return append(dst, "nil"...)
}

// last empties the queue.
func (s *queue) last(*actor) string {
	if len(s.elems) == 0 {
		return ""
	}
	return "dequeue"
}

func (s *queue) ended(a *actor) {
	if a.f == "enqueue" {
		s.done[a.op.arg] = true
	}
}

// bank holds accounts whose sum stays.
type bank struct {
	o        *Options
	r        *rand.Rand
	balances []int
	wrong    fault
}

const (
	accounts = 8
	funds    = 100 // in all
)

func newBank(o *Options, r *rand.Rand) system {
	s := &bank{o: o, r: r, balances: make([]int, accounts), wrong: newFault(o, r, "wrong-total")}
	s.balances[0] = funds
	return s
}

func (s *bank) draw(a *actor) string {
	s.wrong.count()
	if s.r.Float64() < s.o.Reads {
		return "read"
	}
	a.op.key = s.r.IntN(accounts)
	a.op.old = (a.op.key + 1 + s.r.IntN(accounts-1)) % accounts
	a.op.arg = 1 + s.r.IntN(5)
	return "transfer"
}

func (s *bank) step(a *actor) bool {
	if a.f == "read" {
		a.op.set = append(a.op.set[:0], s.balances...)
		if a.fate == fine && s.wrong.strike() {
			a.op.set[0]++
		}
		return true
	}
	if a.failed = s.balances[a.op.key] < a.op.arg; !a.failed {
		s.balances[a.op.key] -= a.op.arg
		s.balances[a.op.old] += a.op.arg
	}
	return true
}

func (s *bank) value(dst []byte, a *actor, result bool) []byte {
	if a.f == "transfer" {
		dst = strconv.AppendInt(append(dst, "{:from "...), int64(a.op.key), 10)
		dst = strconv.AppendInt(append(dst, ", :to "...), int64(a.op.old), 10)
		return append(strconv.AppendInt(append(dst, ", :amount "...), int64(a.op.arg), 10), '}')
	}
	if !result {
		return append(dst, "nil"...)
	}
	dst = append(dst, '{')
	for i, b := range a.op.set {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendInt(dst, int64(i), 10)
		dst = strconv.AppendInt(append(dst, ' '), int64(b), 10)
	}
	return append(dst, '}')
}

func (s *bank) ended(*actor) {}
