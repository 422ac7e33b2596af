package linear

import "math"

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

// decode makes calls of the rows of a key. Left out are reads in doubt, reads of
// nil where nil agrees with everything, and what leaves the register as it is
// whether it happened or not; a cas from a value to itself is a read of it.
func (c *columns) decode(k *key) *register {
	r := &register{}
	numbers := newNumbering(k, c.initial)
	r.initial = numbers.of(c.initial)
	usable := 0
	for _, block := range k.blocks {
		for i := range block {
			if row := &block[i]; row.action != other && row.fate != failed {
				usable++
			}
		}
	}
	r.calls = make([]call, 0, usable)
	for _, block := range k.blocks {
		for i := range block {
			row := &block[i]
			if row.action == other || row.fate == failed {
				continue
			}
			now := call{begin: row.begin, end: row.end, told: row.end, action: row.action, lone: row.lone}
			if row.fate == done {
				r.certain++
			} else {
				now.crashed, now.end = true, never
			}
			switch {
			case now.action == read && (now.crashed || c.options.NilAny && row.value == nilCode):
				continue
			case now.action == cas && row.old == row.value:
				if now.crashed {
					continue
				}
				now.action = read
			}
			now.value, now.old = numbers.of(row.value), -1
			switch now.action {
			case cas:
				now.old = numbers.of(row.old)
			case miss:
				now.value, now.old = -1, numbers.of(row.old)
			}
			r.calls = append(r.calls, now)
		}
	}
	r.values = numbers.codes
	all := len(r.calls)
	r.calls = pruneInto(r.calls[:0], r.calls, len(r.values))
	r.pruned = all - len(r.calls)
	return r
}

// numbering gives the codes of one key numbers from 0.
type numbering struct {
	low   int32   // the codes from low on have their numbers in near, less one
	near  []int32 // 0 for none
	far   map[int32]int32
	codes []int32
}

// newNumbering looks where the integers of a key lie; a run of them that is not
// much longer than the key needs no map.
func newNumbering(k *key, initial int32) *numbering {
	n := &numbering{far: make(map[int32]int32)}
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	note := func(code int32) {
		if code < firstText {
			low, high = min(low, code), max(high, code)
		}
	}
	note(initial)
	for _, block := range k.blocks {
		for i := range block {
			if row := &block[i]; row.action != other && row.fate != failed {
				note(row.value)
				if row.action == cas || row.action == miss {
					note(row.old)
				}
			}
		}
	}
	if span := int64(high) - int64(low) + 1; span > 0 && span <= int64(4*k.rows+64) {
		n.low, n.near = low, make([]int32, span)
		n.codes = make([]int32, 0, min(span, int64(2*k.rows))+1)
	}
	return n
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
	observed := make([]bool, values)
	var todo []int32
	see := func(v int32) {
		if !observed[v] {
			observed[v] = true
			todo = append(todo, v)
		}
	}
	expects := make(map[int32][]int32) // values that crashed cas expect, by what they set
	for i := range calls {
		c := &calls[i]
		if v, ok := c.needs(); ok {
			see(v)
		} else if misses && c.old >= 0 {
			see(c.old)
		} else if c.action == cas {
			expects[c.value] = append(expects[c.value], c.old)
		}
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, old := range expects[v] {
			see(old)
		}
	}
	if kept == nil {
		kept = make([]call, 0, len(calls))
	}
	one := int32(-1)
	for _, c := range calls {
		if c.crashed && !observed[c.value] {
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
