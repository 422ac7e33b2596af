package object

import (
	"fmt"
	"unsafe"
)

// machine is a model for one search: states and classes of operations are
// numbers. State 0 is the initial one.
type machine struct {
	// step appends to dst the states that an operation of the class leads to.
	step     func(dst []int32, state, class int32) []int32
	describe func(state int32) string
	why      func(state, class int32) string
	bytes    func() int64 // kept for states, roughly
	states   func() int
}

func newMachine[S any](m Model[S], ops []Op) *machine {
	var states []S
	bytes := int64(0)
	var number func(S) int32
	add := func(s S, extra int) int32 {
		states = append(states, s)
		bytes += int64(extra) + 2*int64(unsafe.Sizeof(s)) + 48
		return int32(len(states) - 1)
	}
	switch {
	case m.Key != nil:
		known := make(map[string]int32)
		number = func(s S) int32 {
			key := m.Key(s)
			id, ok := known[key]
			if !ok {
				id = add(s, 2*len(key))
				known[key] = id
			}
			return id
		}
	case m.equal != nil:
		known := make(map[uint64][]int32)
		number = func(s S) int32 {
			key := uint64(0)
			if m.hash != nil {
				key = m.hash(s)
			}
			for _, id := range known[key] {
				if m.equal(states[id], s) {
					return id
				}
			}
			id := add(s, 64)
			known[key] = append(known[key], id)
			return id
		}
	default:
		known := make(map[any]int32)
		number = func(s S) int32 {
			id, ok := known[s]
			if !ok {
				text, _ := any(s).(string)
				id = add(s, len(text))
				known[s] = id
			}
			return id
		}
	}
	number(m.Init)
	d := &machine{
		bytes:  func() int64 { return bytes },
		states: func() int { return len(states) },
	}
	if m.Branch != nil {
		d.step = func(dst []int32, state, class int32) []int32 {
			for _, next := range m.Branch(states[state], ops[class]) {
				dst = append(dst, number(next))
			}
			return dst
		}
	} else {
		d.step = func(dst []int32, state, class int32) []int32 {
			next, ok := m.Step(states[state], ops[class])
			if !ok {
				return dst
			}
			return append(dst, number(next))
		}
	}
	d.describe = func(state int32) string {
		if m.Describe != nil {
			return m.Describe(states[state])
		}
		return fmt.Sprintf("%v", states[state])
	}
	d.why = func(state, class int32) string {
		if m.Why != nil {
			if text := m.Why(states[state], ops[class]); text != "" {
				return text
			}
		}
		return fmt.Sprintf("%s is not possible when the %s is %s", ops[class], m.Name, d.describe(state))
	}
	return d
}

// String shows op to people: "enqueue 3", "dequeue → 3".
func (op Op) String() string {
	text := op.F
	if !op.Arg.IsNil() {
		text += " " + short(op.Arg.String())
	}
	switch {
	case op.Type == infoType:
		text += ", in doubt"
	case op.Type == failType:
		text += ", failed"
	case !op.Result.Equal(op.Arg) || op.Arg.IsNil():
		text += " → " + short(op.Result.String())
	}
	return text
}

// short cuts what a line has no room for.
func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most/2] + "…" + s[len(s)-most/3:]
}

// states and numbers of table entries.
const (
	illegal  int32 = -1
	unasked  int32 = -2
	branched int32 = -3 // and below: branches[-3-code]
)

// denseClasses is up to how many classes a row of answers is kept for each state.
const denseClasses = 128

// table remembers what a machine answered.
type table struct {
	m        *machine
	pure     []bool // by class
	classes  int
	dense    []int32
	keys     []uint64 // open addressing; 0 is free, else state<<32|class plus 1
	values   []int32
	used     int
	branches [][]int32
	scratch  []int32
	budget   *budget
	wrong    int32 // a class whose claim to be pure is wrong, or -1
}

func newTable(m *machine, pure []bool) *table {
	t := &table{m: m, pure: pure, classes: len(pure), wrong: -1}
	if t.classes > denseClasses {
		t.keys, t.values = make([]uint64, 256), make([]int32, 256)
	}
	return t
}

func (t *table) bytes() int64 {
	return t.m.bytes() + int64(4*cap(t.dense)+12*cap(t.keys)+32*len(t.branches))
}

// next returns the state that class leads to, or illegal; and all of them where
// there are several.
func (t *table) next(state, class int32) (first int32, all []int32) {
	code := unasked
	if t.keys == nil {
		at := int(state)*t.classes + int(class)
		if at < len(t.dense) {
			code = t.dense[at]
		}
	} else {
		code = t.find(uint64(state)<<32 | uint64(class) + 1)
	}
	if code >= illegal {
		return code, nil
	}
	if code == unasked {
		code = t.ask(state, class)
		if code >= illegal {
			return code, nil
		}
	}
	all = t.branches[branched-code]
	return all[0], all
}

// askSteps is how many steps it counts for to ask the model.
const askSteps = 10

func (t *table) ask(state, class int32) int32 {
	if t.budget != nil {
		t.budget.spend(askSteps, t.bytes)
	}
	t.scratch = t.m.step(t.scratch[:0], state, class)
	code := illegal
	switch len(t.scratch) {
	case 0:
	case 1:
		code = t.scratch[0]
	default:
		code = branched - int32(len(t.branches))
		t.branches = append(t.branches, append([]int32(nil), t.scratch...))
	}
	if t.pure[class] && code != illegal && code != state {
		t.wrong = class
	}
	if t.keys != nil {
		t.put(uint64(state)<<32|uint64(class)+1, code)
		return code
	}
	for need := t.m.states() * t.classes; len(t.dense) < need; {
		t.dense = append(t.dense, unasked)
	}
	t.dense[int(state)*t.classes+int(class)] = code
	return code
}

func (t *table) find(key uint64) int32 {
	mask := uint64(len(t.keys) - 1)
	for i := mix(key) & mask; t.keys[i] != 0; i = (i + 1) & mask {
		if t.keys[i] == key {
			return t.values[i]
		}
	}
	return unasked
}

func (t *table) put(key uint64, value int32) {
	if 4*(t.used+1) > 3*len(t.keys) {
		keys, values := t.keys, t.values
		t.keys, t.values = make([]uint64, 2*len(keys)), make([]int32, 2*len(keys))
		t.used = 0
		for i, k := range keys {
			if k != 0 {
				t.put(k, values[i])
			}
		}
	}
	mask := uint64(len(t.keys) - 1)
	i := mix(key) & mask
	for t.keys[i] != 0 {
		i = (i + 1) & mask
	}
	t.keys[i], t.values[i] = key, value
	t.used++
}

// mix spreads the bits of x: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
