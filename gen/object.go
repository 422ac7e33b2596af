package gen

import (
	"math/rand/v2"
	"strconv"
)

func objects() []workload {
	register := func(cas bool) func(o *Options, r *rand.Rand) system {
		return func(o *Options, r *rand.Rand) system { return newRegisters(o, r, cas) }
	}
	return []workload{
		{name: "register", doc: "reads and writes; values are [key value] where there are several keys",
			begin: register(false), faults: []string{"stale-read"}},
		{name: "cas-register", doc: "the same with compare-and-set",
			begin: register(true), faults: []string{"stale-read"}},
		{name: "set", doc: "adds, and reads of all elements", begin: newSet, faults: []string{"lost"}},
		{name: "counter", doc: "adds, and reads of the sum", begin: newCounter, faults: []string{"wrong-read"}},
		{name: "queue", doc: "a first-in first-out queue", begin: newQueue, faults: []string{"lost", "duplicate", "reordered"}},
		{name: "bank", doc: "transfers, and reads of all balances", begin: newBank, faults: []string{"wrong-total"}},
		{name: "unique-ids", doc: "requests for new numbers", begin: newIDs, faults: []string{"duplicate"}},
		{name: "mutex", doc: "a lock that clients acquire and release", begin: newMutex, faults: []string{"taken-twice"}},
	}
}

// fault plants an anomaly once, at an operation drawn when the run begins; it
// waits there for the first occasion.
type fault struct {
	left int // operations before it; negative: never, or done
}

func newFault(o *Options, r *rand.Rand, name string) fault {
	for _, p := range o.Plant {
		if p == name {
			return fault{left: o.Ops/4 + r.IntN(max(1, o.Ops/2))}
		}
	}
	return fault{left: -1}
}

// count tells that another operation was drawn.
func (f *fault) count() {
	if f.left > 0 {
		f.left--
	}
}

// strike reports whether the anomaly is due, once.
func (f *fault) strike() bool {
	if f.left != 0 {
		return false
	}
	f.left = -1
	return true
}

// cell is one register.
type cell struct {
	v         int // 0 for nil
	completed int // some value whose write has completed
	overtaken int // a value whose write completed before another completed write began
}

type registers struct {
	o     *Options
	r     *rand.Rand
	cas   bool
	cells []cell
	next  int
	stale fault
}

func newRegisters(o *Options, r *rand.Rand, cas bool) system {
	return &registers{o: o, r: r, cas: cas, cells: make([]cell, o.Keys), stale: newFault(o, r, "stale-read")}
}

func (s *registers) draw(a *actor) string {
	s.stale.count()
	o := &a.op
	o.key, o.flag = s.r.IntN(len(s.cells)), false
	c := &s.cells[o.key]
	o.before = c.completed
	if s.r.Float64() < s.o.Reads {
		// The value is stale whatever happens from here on.
		if o.result = 0; a.fate == fine && c.overtaken != 0 && s.stale.strike() {
			o.result, o.flag = c.overtaken, true
		}
		return "read"
	}
	s.next++
	o.arg = s.next
	if s.o.Values > 0 {
		o.arg = 1 + s.r.IntN(s.o.Values)
	}
	if s.cas && s.r.IntN(2) == 0 {
		o.old = c.v
		if s.o.Values > 0 {
			o.old = 1 + s.r.IntN(s.o.Values)
		}
		return "cas"
	}
	return "write"
}

func (s *registers) step(a *actor) bool {
	o := &a.op
	c := &s.cells[o.key]
	switch a.f {
	case "read":
		if !o.flag {
			o.result = c.v
		}
	case "write":
		c.v = o.arg
	case "cas":
		if a.failed = c.v != o.old; !a.failed {
			c.v = o.arg
		}
	}
	return true
}

func (s *registers) value(dst []byte, a *actor, result bool) []byte {
	o := &a.op
	keyed := len(s.cells) > 1
	if keyed {
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(o.key), 10)
		dst = append(dst, ' ')
	}
	switch {
	case a.f == "read" && !result:
		dst = append(dst, "nil"...)
	case a.f == "read":
		dst = appendValue(dst, o.result)
	case a.f == "cas":
		dst = appendValue(append(dst, '['), o.old)
		dst = append(appendValue(append(dst, ' '), o.arg), ']')
	default:
		dst = appendValue(dst, o.arg)
	}
	if keyed {
		dst = append(dst, ']')
	}
	return dst
}

func (s *registers) ended(a *actor) {
	if a.f == "read" {
		return
	}
	c := &s.cells[a.op.key]
	if a.op.before != 0 && a.op.before != a.op.arg {
		c.overtaken = a.op.before
	}
	c.completed = a.op.arg
}

func appendValue(dst []byte, v int) []byte {
	if v == 0 {
		return append(dst, "nil"...)
	}
	return strconv.AppendInt(dst, int64(v), 10)
}

// ids hands out numbers.
type ids struct {
	next  int
	twice fault
}

func newIDs(o *Options, r *rand.Rand) system { return &ids{twice: newFault(o, r, "duplicate")} }

func (s *ids) draw(*actor) string {
	s.twice.count()
	return "generate"
}

func (s *ids) step(a *actor) bool {
	if s.next == 0 || a.fate != fine || !s.twice.strike() {
		s.next++
	}
	a.op.result = s.next
	return true
}

func (s *ids) value(dst []byte, a *actor, result bool) []byte {
	if !result {
		return append(dst, "nil"...)
	}
	return appendValue(dst, a.op.result)
}

func (s *ids) ended(*actor) {}

// mutex is a lock. A client acquires and releases in turn, and what it cannot
// have fails.
type mutex struct {
	taken bool
	holds []bool
	twice fault
}

func newMutex(o *Options, r *rand.Rand) system {
	return &mutex{holds: make([]bool, o.Clients), twice: newFault(o, r, "taken-twice")}
}

func (s *mutex) draw(a *actor) string {
	s.twice.count()
	if s.holds[a.slot] {
		return "release"
	}
	return "acquire"
}

func (s *mutex) step(a *actor) bool {
	switch {
	case a.f == "release":
		s.taken = false
	case s.taken && (a.fate != fine || !s.twice.strike()):
		a.failed = true
		return true
	default:
		s.taken = true
	}
	// A holder that crashed never comes back, so the lock is given back for it.
	if a.fate == fine {
		s.holds[a.slot] = a.f == "acquire"
	} else {
		s.taken = false
		s.holds[a.slot] = false
	}
	return true
}

func (s *mutex) value(dst []byte, _ *actor, _ bool) []byte { return append(dst, "nil"...) }

func (s *mutex) ended(*actor) {}
