package linear

import (
	"context"
	"math"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// action is what an operation does to a register.
type action uint8

const (
	read action = iota + 1
	write
	cas
)

// call is one operation on one register, decoded: values are numbers of the
// register's own checker.Values, whose 0 is nil.
type call struct {
	action  action
	crashed bool  // in doubt: may happen at any time from begin on, or never
	failed  bool  // certainly did not happen; kept aside for explanations only
	value   int32 // read: what was seen; write: what was written; cas: the new value
	old     int32 // cas: what was expected
	begin   int   // position of the invocation
	end     int   // position of the completion, never when there is none
	invoke  int   // positions for the witness, -1 where the history lacks one
	done    int
}

const never = math.MaxInt

// writes reports whether the call can set the register to v.
func (c *call) writes(v int32) bool { return c.action != read && c.value == v }

// needs is the value that the register must have had; ok is false for a write
// and for a cas in doubt, which may have found another one.
func (c *call) needs(nilAny bool) (v int32, ok bool) {
	switch {
	case c.crashed || c.action == write:
		return 0, false
	case c.action == cas:
		return c.old, true
	}
	return c.value, c.value != 0 || !nilAny
}

// register is the history of one key.
type register struct {
	name    string // the key as EDN, "" without keys
	kind    string // what it is called without a key
	values  checker.Values
	initial int32
	calls   []call // in the order of their invocations; what may have happened
	failed  []call // what certainly did not
	certain int    // calls that are not crashed
	pruned  int    // crashed calls left out because nobody saw them
}

func (r *register) title() string {
	if r.name == "" {
		return r.kind
	}
	return "key " + r.name
}

// model says which operations are of its kind, and reads their values.
type model struct {
	kind string
	ops  []string // the :f that it judges, sorted
	// decode reads an operation's value into c; false when it is not of its :f.
	decode func(f string, v history.Value, values *checker.Values, c *call) bool
}

func (m model) handles(f string) bool { return slices.Contains(m.ops, f) }

func registerModel() model {
	return model{
		kind: "the register",
		ops:  []string{"cas", "read", "write"},
		decode: func(f string, v history.Value, values *checker.Values, c *call) bool {
			switch f {
			case "read":
				c.action, c.value = read, values.Number(v)
				return true
			case "write":
				c.action, c.value = write, values.Number(v)
				return true
			}
			change, ok := pair(v)
			if ok {
				c.action, c.old, c.value = cas, values.Number(change[0]), values.Number(change[1])
			}
			return ok
		},
	}
}

// mutexModel makes a lock of a register: acquire is cas from free to taken,
// release the reverse.
func mutexModel() model {
	return model{
		kind: "the lock",
		ops:  []string{"acquire", "release"},
		decode: func(f string, _ history.Value, values *checker.Values, c *call) bool {
			c.action, c.old, c.value = cas, values.Number(history.Flag(false)), values.Number(history.Flag(true))
			if f == "release" {
				c.old, c.value = c.value, c.old
			}
			return true
		},
	}
}

func pair(v history.Value) (elems []history.Value, ok bool) {
	elems = v.Elems()
	return elems, len(elems) == 2 && (v.Kind() == history.Vector || v.Kind() == history.List)
}

// split sorts the operations of h by key, in the order in which keys appear, and
// lists the positions of operations whose value cannot be read.
func split(ctx context.Context, h *history.History, o Options, m model) (keys []*register, odd []int) {
	byKey := make(map[string]*register)
	for n, p := range h.Pairs() {
		if n%checker.CheckEvery == 0 && ctx.Err() != nil {
			return nil, nil
		}
		c := call{invoke: p.Invoke, done: p.Complete, begin: p.Invoke, end: p.Complete}
		f, value := outcomeOf(h, &c)
		if !m.handles(f) || c.crashed && f == "read" {
			continue
		}
		var key, name string
		if o.Keyed {
			parts, ok := pair(value)
			if !ok {
				odd = append(odd, max(p.Invoke, p.Complete))
				continue
			}
			key, name, value = parts[0].Key(), parts[0].String(), parts[1]
		}
		r := byKey[key]
		if r == nil {
			r = &register{name: name, kind: m.kind}
			r.initial = r.values.Number(o.Initial)
			byKey[key] = r
			keys = append(keys, r)
		}
		switch {
		case !m.decode(f, value, &r.values, &c):
			odd = append(odd, max(p.Invoke, p.Complete))
		case c.failed:
			r.failed = append(r.failed, c)
		default:
			r.calls = append(r.calls, c)
			if !c.crashed {
				r.certain++
			}
		}
	}
	for _, r := range keys {
		all := len(r.calls)
		r.calls = prune(r.calls, r.values.Len(), o.NilAny)
		r.pruned = all - len(r.calls)
	}
	return keys, odd
}

// outcomeOf settles what became of a call and returns its :f and the value to
// decode. A completion without an invocation stands for the whole operation, at
// one moment.
func outcomeOf(h *history.History, c *call) (f string, v history.Value) {
	if c.done < 0 {
		c.crashed, c.end = true, never
		return h.Ops[c.invoke].F, h.Ops[c.invoke].Value
	}
	done := &h.Ops[c.done]
	asked := done
	if c.invoke < 0 {
		c.begin = c.done
	} else {
		asked = &h.Ops[c.invoke]
	}
	switch done.Type {
	case history.OK:
		if done.Value.IsNil() && asked.F != "read" {
			return asked.F, asked.Value
		}
		return asked.F, done.Value
	case history.Fail:
		c.failed = true
	default:
		c.crashed, c.end = true, never
	}
	return asked.F, asked.Value
}

// prune leaves out crashed calls whose value nobody observes, until none is left.
//
// Let w be a crashed write, or a crashed cas, of value v, where no read saw v and
// no cas that is ok or still present expects v. The register without w is
// linearizable iff the one with w is.
//
// If it is without w: put w last. It never ended, so it may be last; a write
// always can, and a cas in doubt can by not finding what it expected.
//
// If it is with w: take the order and delete w. Say that w had set the register
// to v (else nothing changes). Until the next call x that sets it again, no read
// of a definite value and no cas that succeeded can stand, as they would have
// observed v. A crashed cas that stood there, and had failed because of v, may
// succeed now; but x is a write, since a cas would have needed v, so whatever
// the register holds before x makes no difference after it. If there is no x,
// only crashed calls and reads that agree with anything follow.
//
// Nothing here asks who else wrote v, so values need not be unique.
func prune(calls []call, values int, nilAny bool) []call {
	seen := make([]int, values)      // observers of each value
	setters := make(map[int32][]int) // crashed calls by the value they set
	for i := range calls {
		c := &calls[i]
		if c.crashed {
			setters[c.value] = append(setters[c.value], i)
			if c.action == cas {
				seen[c.old]++
			}
		} else if v, ok := c.needs(nilAny); ok {
			seen[v]++
		}
	}
	var unseen []int32
	for v := range setters {
		if seen[v] == 0 {
			unseen = append(unseen, v)
		}
	}
	drop := make(map[int]bool)
	for len(unseen) > 0 {
		v := unseen[len(unseen)-1]
		unseen = unseen[:len(unseen)-1]
		for _, i := range setters[v] {
			drop[i] = true
			if c := &calls[i]; c.action == cas {
				if seen[c.old]--; seen[c.old] == 0 && len(setters[c.old]) > 0 {
					unseen = append(unseen, c.old)
				}
			}
		}
	}
	kept := make([]call, 0, len(calls)-len(drop))
	for i, c := range calls {
		if !drop[i] {
			kept = append(kept, c)
		}
	}
	return kept
}
