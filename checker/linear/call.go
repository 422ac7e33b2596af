package linear

import (
	"cmp"
	"slices"
)

// call is one operation on one register, as the engines see it. Calls stand in
// the order of their beginnings. Values are numbers of the register's own.
type call struct {
	begin, end uint32 // positions; never ends what is in doubt
	told       uint32 // position of the completion, never without one
	value, old int32  // as in row
	action     action
	crashed    bool // in doubt: may happen at any time from begin on, or never
	lone       bool // a completion without an invocation
}

// sets reports whether the call can give the register a value.
func (c *call) sets() bool { return c.action == write || c.action == cas }

// writes reports whether the call can set the register to v.
func (c *call) writes(v int32) bool { return c.sets() && c.value == v }

// needs is the value that the register must have had; ok is false for a write,
// for a miss, and for a cas in doubt, which may have found another one.
func (c *call) needs() (v int32, ok bool) {
	switch {
	case c.action == read:
		return c.value, true
	case c.action == cas && !c.crashed:
		return c.old, true
	}
	return 0, false
}

// positions are those of the call's ops, -1 for what there is not.
func (c *call) positions() (invoke, done int) {
	invoke, done = int(c.begin), -1
	if c.told != never {
		done = int(c.told)
	}
	if c.lone {
		invoke = -1
	}
	return invoke, done
}

// register is the history of one key, decoded: what may have happened, without
// what says nothing.
type register struct {
	calls   []call
	initial int32
	values  []int32 // number → code
	certain int     // operations that certainly happened
	pruned  int     // operations in doubt left out because nobody saw them
}

// decode makes calls of the rows of a key. It fails when they cannot be read
// again.
func (c *columns) decode(k *key) (*register, error) {
	r := &register{}
	calls := sorter{calls: make([]call, 0, k.records)}
	err := c.each(k, func(row *row) bool {
		if row.fate == done {
			r.certain++
		}
		if now, ok := c.call(row); ok {
			calls.add(now)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	r.calls = calls.sorted()
	numbers := newNumbering(k)
	r.initial = numbers.of(c.initial)
	for i := range r.calls {
		numbers.number(&r.calls[i])
	}
	r.values = numbers.codes
	all := len(r.calls)
	r.calls = pruneInto(r.calls[:0], r.calls, len(r.values))
	r.pruned = all - len(r.calls)
	return r, nil
}

// call makes a call of a row, with codes for values. Left out are reads in doubt,
// reads of nil where nil agrees with everything, and what leaves the register as it
// is whether it happened or not; a cas from a value to itself is a read of it.
func (c *columns) call(row *row) (now call, ok bool) {
	if row.fate == failed {
		return call{}, false
	}
	now = call{begin: row.begin, end: row.end, told: row.end, value: row.value, old: row.old, action: row.action, lone: row.lone}
	if row.fate != done {
		now.crashed, now.end = true, never
	}
	switch {
	case now.action == read && (now.crashed || c.options.NilAny && row.value == nilCode):
		return call{}, false
	case now.action == cas && row.old == row.value:
		if now.crashed {
			return call{}, false
		}
		now.action = read
	}
	return now, true
}

// sorter puts calls that come in the order of their ends into that of their
// beginnings, in about linear time: few come later than soon.
type sorter struct {
	calls []call
	late  []call // those that came long after
}

// soon is how many calls are moved to make place for another.
const soon = 256

func (s *sorter) add(now call) {
	i := len(s.calls)
	for i > 0 && s.calls[i-1].begin > now.begin {
		if i--; len(s.calls)-i > soon {
			s.late = append(s.late, now)
			return
		}
	}
	s.calls = append(s.calls, call{})
	copy(s.calls[i+1:], s.calls[i:])
	s.calls[i] = now
}

func (s *sorter) sorted() []call {
	slices.SortFunc(s.late, func(a, b call) int { return cmp.Compare(a.begin, b.begin) })
	i, j := len(s.calls)-1, len(s.late)-1
	s.calls = append(s.calls, s.late...)
	for at := len(s.calls) - 1; j >= 0; at-- {
		if i >= 0 && s.calls[i].begin > s.late[j].begin {
			s.calls[at] = s.calls[i]
			i--
		} else {
			s.calls[at] = s.late[j]
			j--
		}
	}
	return s.calls
}

// numbering gives the codes of one key numbers from 0.
type numbering struct {
	low   int32   // the codes from low on have their numbers in near, less one
	near  []int32 // 0 for none
	far   map[int32]int32
	codes []int32
}

// newNumbering makes room for the values of a key: a run of integers that is not
// much longer than the key needs no map.
func newNumbering(k *key) *numbering {
	n := &numbering{far: make(map[int32]int32)}
	if span := k.span(); span > 0 {
		n.low, n.near = k.low, make([]int32, span)
		n.codes = make([]int32, 0, k.values())
	}
	return n
}

// span is how many integers there are from the least to the greatest of the
// values, 0 where they are too far apart to have a place for each.
func (k *key) span() int {
	if span := int64(k.high) - int64(k.low) + 1; 0 < span && span <= int64(4*k.records+64) {
		return int(span)
	}
	return 0
}

// values is how many different values may be set, or so.
func (k *key) values() int {
	if span := k.span(); span > 0 {
		return min(k.sets, span) + 2
	}
	return k.sets + 2
}

// number replaces the codes of a call by numbers, and what it has no value for by
// -1.
func (n *numbering) number(now *call) {
	now.value = n.of(now.value)
	switch now.action {
	case cas:
		now.old = n.of(now.old)
	case miss:
		now.value, now.old = -1, n.of(now.old)
	default:
		now.old = -1
	}
}

func (n *numbering) of(code int32) int32 {
	if at := int64(code) - int64(n.low); 0 <= at && at < int64(len(n.near)) {
		if n.near[at] == 0 {
			n.codes = append(n.codes, code)
			n.near[at] = int32(len(n.codes))
		}
		return n.near[at] - 1
	}
	number, ok := n.far[code]
	if !ok {
		number = int32(len(n.codes))
		n.far[code] = number
		n.codes = append(n.codes, code)
	}
	return number
}

// prune leaves out crashed calls whose value nobody observed. Observed are the
// values that a read saw or a cas that happened expected, and those that a
// crashed cas expects which sets an observed value.
//
// Without them the register is linearizable iff it is with them. If it is
// without: they never ended, so they may come last, where nothing looks. If it is
// with them: take the order and delete them. Let w, of an unobserved value, have
// set the register in it, and let x be the next call that is left and sets it. No
// read and no cas that is left looked in between, as each of them observes. x is
// a write, since a cas that is left expects an observed value; so what the
// register holds before x makes no difference after it, and a crashed cas between
// the two, which may find now what it expects, leaves no trace. If there is no x,
// only crashed calls follow.
//
// A miss looks at every value, by not finding another. So where there are misses
// nothing is left out, but unobserved values that no cas expects and no miss
// names are all the same to everybody, and become one.
//
// Nothing here asks who else wrote a value, so values need not be unique. The
// calls stay as they are.
func prune(calls []call, values int) []call { return pruneInto(nil, calls, values) }

// pruneInto is prune that appends to kept, which may be the beginning of calls.
func pruneInto(kept, calls []call, values int) []call {
	crashed, misses := false, false
	for i := range calls {
		crashed = crashed || calls[i].crashed
		misses = misses || calls[i].action == miss
	}
	if !crashed {
		return calls
	}
	w := watch{observed: make([]bool, values), misses: misses}
	for i := range calls {
		w.look(&calls[i])
	}
	w.close()
	if kept == nil {
		kept = make([]call, 0, len(calls))
	}
	one := int32(-1)
	for _, c := range calls {
		if w.unobserved(&c) {
			if !misses {
				continue
			}
			if one < 0 {
				one = c.value
			}
			c.value = one
		}
		kept = append(kept, c)
	}
	return kept
}

// watch finds the values that make a difference to somebody.
type watch struct {
	observed []bool
	misses   bool // there are any
	todo     []int32
	expects  map[int32][]int32 // values that crashed cas expect, by what they set
}

func (w *watch) see(v int32) {
	if int(v) >= len(w.observed) {
		w.observed = append(w.observed, make([]bool, int(v)+1-len(w.observed))...)
	}
	if !w.observed[v] {
		w.observed[v] = true
		w.todo = append(w.todo, v)
	}
}

func (w *watch) look(c *call) {
	if v, ok := c.needs(); ok {
		w.see(v)
	} else if w.misses && c.old >= 0 {
		w.see(c.old)
	} else if c.action == cas {
		if w.expects == nil {
			w.expects = make(map[int32][]int32)
		}
		w.expects[c.value] = append(w.expects[c.value], c.old)
	}
}

// close follows what crashed cas expect.
func (w *watch) close() {
	for len(w.todo) > 0 {
		v := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		for _, old := range w.expects[v] {
			w.see(old)
		}
	}
}

// unobserved reports whether a call is in doubt and its value was seen by nobody.
func (w *watch) unobserved(c *call) bool {
	return c.crashed && (int(c.value) >= len(w.observed) || !w.observed[c.value])
}
