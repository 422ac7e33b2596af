package object

import (
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// The operations of a set, by their numbers.
const (
	setAdd = iota
	setRemove
	setContains
	setRead
)

func setOps() []string { return []string{"add", "remove", "contains", "read"} }

// about returns the element that an operation is about, and the boolean that it
// returned, if it did. That is true; or [x true], where the invocation said x or
// [x nil], or there was none. Elements may be pairs themselves: what is returned
// is an answer only if it begins with what was asked.
func about(op Op) (element history.Value, is, known bool) {
	element = op.Arg
	if op.Type != history.OK {
		return element, false, false
	}
	if is, ok := op.Result.Flag(); ok {
		return element, is, true
	}
	e := op.Result.Elems()
	if len(e) != 2 || !isSequence(op.Result) {
		return element, false, false
	}
	is, known = e[1].Flag()
	if !known {
		return element, false, false
	}
	if op.Arg.Equal(e[0]) {
		return element, is, true
	}
	asked := op.Arg.Elems()
	if op.F == "contains" && len(asked) == 2 && isSequence(op.Arg) && asked[0].Equal(e[0]) &&
		(asked[1].IsNil() || op.Arg.Equal(op.Result)) {
		return e[0], is, true
	}
	return element, false, false
}

func isSequence(v history.Value) bool { return v.Kind() == history.Vector || v.Kind() == history.List }

// answer is the boolean that an operation about an element returned.
func answer(op Op) (is, known bool) {
	_, is, known = about(op)
	return is, known
}

// element is what an operation about one is about.
func element(op Op) history.Value {
	e, _, _ := about(op)
	return e
}

// noAnswer rejects operations on a set whose results are none.
func noAnswer(op Op) string {
	if op.Type != history.OK {
		return ""
	}
	result := short(op.Result.String())
	switch op.F {
	case "read":
		if op.Result.IsNil() || op.Result.Kind() == history.Set || isSequence(op.Result) {
			return ""
		}
		return fmt.Sprintf("it returned %s, want a set or vector of elements", result)
	case "contains":
		if _, known := answer(op); !known {
			return fmt.Sprintf("it returned %s, want true, false or [%s true]", result, short(op.Arg.String()))
		}
		return ""
	}
	if _, known := answer(op); known {
		return ""
	}
	return notAcknowledged(op)
}

// setModel returns the model of a set: :add x and :remove x, which may return
// whether they changed it; :contains x, which returns true or [x true]; and :read,
// which returns all of it.
func setModel() Model[string] {
	elems := &numbers{}
	contents := func(v history.Value) (state string, ok bool) {
		ids := make([]int32, 0, len(v.Elems()))
		for _, e := range v.Elems() {
			ids = append(ids, elems.number(e))
		}
		slices.Sort(ids)
		for i, id := range ids {
			if i > 0 && id == ids[i-1] {
				return "", false
			}
			state += pack(id)
		}
		return state, true
	}
	return Model[string]{
		Name: "set", Ops: setOps(), Reject: noAnswer,
		Pure: func(op Op) bool {
			changed, known := answer(op)
			return op.F == "contains" || op.F == "read" || known && !changed
		},
		Step: func(state string, op Op) (string, bool) {
			if op.F == "read" {
				want, ok := contents(op.Result)
				return state, op.Type != history.OK || ok && want == state
			}
			about, said, known := about(op)
			id := elems.number(about)
			at, is := place(state, id)
			switch op.F {
			case "add":
				if !is {
					state = insert(state, at, id)
				}
				return state, !known || said != is
			case "remove":
				if is {
					state = cut(state, at)
				}
				return state, !known || said == is
			}
			return state, !known || said == is
		},
		Describe: func(state string) string { return elems.list(state, "#{", "}") },
		Why: func(state string, op Op) string {
			_, is := place(state, elems.number(element(op)))
			not := map[bool]string{true: "is", false: "is not"}[is]
			said, _ := answer(op)
			switch op.F {
			case "read":
				return sayDifference(elems, state, op.Result)
			case "contains":
				return fmt.Sprintf("says %v of %s, but that %s in the set", said, element(op), not)
			}
			return fmt.Sprintf("says %v to %s %s, but that %s in the set", said, op.F, element(op), not)
		},
		traits: traits{collects: "read", monitor: monitorSet, split: byMember, needless: unseen},
	}
}

// sayDifference says what a read of a whole set has or lacks.
func sayDifference(elems *numbers, state string, result history.Value) string {
	seen := make(map[int32]bool)
	for _, e := range result.Elems() {
		id := elems.number(e)
		if seen[id] {
			return fmt.Sprintf("has %s twice", e)
		}
		seen[id] = true
		if _, is := place(state, id); !is {
			return fmt.Sprintf("has %s, but that is not in the set", e)
		}
	}
	for i := range len(state) / 4 {
		if id := unpack(state, i); !seen[id] {
			return fmt.Sprintf("lacks %s, but that is in the set", elems.value(id))
		}
	}
	return ""
}

// byMember splits a set into its elements, which is right unless all of it is
// read at once.
func byMember(p *part) []*part {
	for _, ev := range p.events {
		if ev&1 == 1 && p.r.call(int32(ev>>1)).f == setRead {
			return []*part{p}
		}
	}
	return p.splitBy(p.members())
}

// members returns the function that numbers what element a call is about.
func (p *part) members() func(c *call) int32 {
	tape := &history.Tape{}
	return func(c *call) int32 {
		if _, isInt := p.r.values.int(c.arg); c.f != setContains || isInt {
			return c.arg
		}
		tape.Reset()
		return p.r.values.number(tape.Append(element(p.r.op(c))))
	}
}

// unseen finds the adds and removals in doubt that nobody can have noticed: adds
// of an element that no read has and no other operation is about, and removals of
// one that was never added.
func unseen(p *part) []bool {
	out := make([]bool, len(p.events))
	about, read := make(map[int32]int), make(map[int32]bool)
	member := p.members()
	doubts := 0
	for _, ev := range p.events {
		c := p.r.call(int32(ev >> 1))
		switch {
		case ev&1 == 0 && c.f != setRead:
			about[member(c)]++
			if c.end == never {
				doubts++
			}
		case ev&1 == 1 && c.res < 0:
			bag := &p.r.bags.all[-1-c.res]
			for _, d := range p.r.bags.deltas[bag.from:bag.to] {
				if d >= 0 {
					read[d] = true
				}
			}
		}
	}
	if doubts == 0 {
		return nil
	}
	for i, ev := range p.events {
		c := p.r.call(int32(ev >> 1))
		if ev&1 == 0 && c.end == never && (c.f == setAdd || c.f == setRemove) {
			out[i] = about[c.arg] == 1 && !read[c.arg]
		}
	}
	return out
}
