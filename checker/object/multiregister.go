package object

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// microOp is one read or write of one register.
type microOp struct {
	write bool
	key   history.Value
	value history.Value
}

// readMicroOp reads one micro-op; wrong says what is wrong with it.
func readMicroOp(v history.Value) (m microOp, wrong string) {
	const want = "want [:read key value] or [:write key value]"
	e := v.Elems()
	if !isSequence(v) || len(e) < 2 || len(e) > 3 {
		return m, fmt.Sprintf("its micro-op is %s, %s", short(v.String()), want)
	}
	switch e[0].Text() {
	case "write", "w":
		m.write = true
	case "read", "r":
	default:
		return m, fmt.Sprintf("its micro-op is %s, %s", short(v.String()), want)
	}
	m.key = e[1]
	switch {
	case len(e) == 3:
		m.value = e[2]
	case m.write:
		return m, fmt.Sprintf("its micro-op %s has no value, %s", short(v.String()), want)
	}
	return m, ""
}

// readTxn reads the value of a transaction.
func readTxn(v history.Value) (ops []microOp, wrong string) {
	if !isSequence(v) {
		return nil, fmt.Sprintf("its value is %s, want micro-ops, as [[:read key nil] [:write key value]]", short(v.String()))
	}
	for _, e := range v.Elems() {
		m, wrong := readMicroOp(e)
		if wrong != "" {
			return nil, wrong
		}
		ops = append(ops, m)
	}
	return ops, ""
}

// microOps reads the value of a transaction that was not rejected; nil is none.
func microOps(v history.Value) []microOp {
	ops, _ := readTxn(v)
	return ops
}

// noTxn rejects what is no transaction, and transactions that return others than
// were asked for.
func noTxn(op Op) string {
	asked, wrong := readTxn(op.Arg)
	if wrong != "" || op.Type != history.OK {
		return wrong
	}
	done, wrong := readTxn(op.Result)
	if wrong != "" {
		return "returned, " + wrong
	}
	for i, e := range op.Result.Elems() {
		if len(e.Elems()) < 3 {
			return fmt.Sprintf("returned, its micro-op %s has no value, want [:read key value]", short(e.String()))
		}
		if i >= len(asked) {
			break
		}
		if a, d := asked[i], done[i]; a.write != d.write || !a.key.Equal(d.key) || a.write && !a.value.Equal(d.value) {
			return fmt.Sprintf("returned, its micro-op is %s, want %s as in its invocation", short(e.String()), short(op.Arg.Elems()[i].String()))
		}
	}
	if len(done) != len(asked) {
		return fmt.Sprintf("it returned %d micro-ops, want the %d of its invocation", len(done), len(asked))
	}
	return ""
}

// multiRegister returns the model of several registers: each :txn reads and
// writes some of them at one instant, its micro-ops in order. initial is a map
// from register to value, and of one that it lacks the value is nil. With nilAny
// a read of nil agrees with every state.
func multiRegister(initial history.Value, nilAny bool) Model[string] {
	values := &numbers{}
	start := ""
	get := func(state string, key int32) int32 {
		if at, has := findKey(state, key); has {
			return unpack(state, at+1)
		}
		return 0
	}
	unfit := ""
	if !initial.IsNil() && initial.Kind() != history.Map {
		unfit = fmt.Sprintf("initial value %s, want a map from register to value, as {:x 0}", short(initial.String()))
	}
	if e := initial.Elems(); unfit == "" {
		for i := 0; i+1 < len(e); i += 2 {
			start = putKey(start, values.number(e[i]), values.number(e[i+1]))
		}
	}
	// run does a transaction; bad is a read that does not fit.
	run := func(state string, op Op) (next string, bad *microOp, holds int32) {
		txn := op.Result
		if op.Type != history.OK {
			txn = op.Arg
		}
		for _, m := range microOps(txn) {
			key, value := values.number(m.key), values.number(m.value)
			switch {
			case m.write:
				state = putKey(state, key, value)
			case op.Type == history.OK && get(state, key) != value && !(nilAny && value == 0):
				return state, &m, get(state, key)
			}
		}
		return state, nil, 0
	}
	return Model[string]{
		Name: "multi-register", Ops: []string{"txn"}, Init: start, Reject: noTxn,
		Step: func(state string, op Op) (string, bool) {
			next, bad, _ := run(state, op)
			return next, bad == nil
		},
		Pure: func(op Op) bool {
			ops, wrong := readTxn(op.Arg)
			return wrong == "" && !slices.ContainsFunc(ops, func(m microOp) bool { return m.write })
		},
		Describe: func(state string) string {
			var parts []string
			for i := 0; i < len(state)/4; i += 2 {
				parts = append(parts, fmt.Sprintf("%s %s", values.value(unpack(state, i)), values.value(unpack(state, i+1))))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		},
		Why: func(state string, op Op) string {
			_, bad, holds := run(state, op)
			if bad == nil {
				return ""
			}
			return fmt.Sprintf("reads %s from %s, but that holds %s", bad.value, bad.key, values.value(holds))
		},
		traits: traits{unfit: unfit, split: byRegisters, needless: unreadTxns(nilAny)},
	}
}

// byRegisters splits a part into groups of registers that no transaction spans.
func byRegisters(p *part) []*part {
	var tape history.Tape
	parent := make(map[int32]int32)
	find := func(x int32) int32 {
		for parent[x] != x {
			parent[x] = parent[parent[x]]
			x = parent[x]
		}
		return x
	}
	root := make(map[int32]int32) // of a call, by its index
	for _, ev := range p.events {
		id := int32(ev >> 1)
		if _, ok := root[id]; ok {
			continue
		}
		c := p.r.call(id)
		first := int32(-1)
		for _, v := range []int32{c.arg, c.res} {
			for _, m := range microOps(p.r.values.value(v)) {
				tape.Reset()
				key := p.r.values.number(tape.Append(m.key))
				if _, ok := parent[key]; !ok {
					parent[key] = key
				}
				if first < 0 {
					first = find(key)
				} else {
					parent[find(key)] = first
				}
			}
		}
		root[id] = first
	}
	groups := p.splitBy(func(c *call) int32 {
		// A transaction of no register holds anywhere: it goes with number 0.
		for _, v := range []int32{c.arg, c.res} {
			for _, m := range microOps(p.r.values.value(v)) {
				tape.Reset()
				return find(p.r.values.number(tape.Append(m.key)))
			}
		}
		return 0
	})
	if len(groups) == 1 {
		groups[0].sub = -1
	}
	return groups
}

// unreadTxns finds the transactions in doubt of whose writes no read saw any.
// They may be left out: no read stands between one and the next write.
func unreadTxns(nilAny bool) func(p *part) []bool {
	return func(p *part) []bool {
		var out []bool
		read := make(map[string]bool)
		name := func(m microOp) string { return m.key.Key() + "\x00" + m.value.Key() }
		for i, ev := range p.events {
			c := p.r.call(int32(ev >> 1))
			if ev&1 == 1 || c.end != never {
				continue
			}
			if out == nil {
				out = make([]bool, len(p.events))
				for _, ev := range p.events {
					if ev&1 == 0 {
						continue
					}
					for _, m := range microOps(p.r.values.value(p.r.call(int32(ev >> 1)).res)) {
						if !m.write && !(nilAny && m.value.IsNil()) {
							read[name(m)] = true
						}
					}
				}
			}
			out[i] = true
			for _, m := range microOps(p.r.values.value(c.arg)) {
				if m.write && read[name(m)] {
					out[i] = false
				}
			}
		}
		return out
	}
}
