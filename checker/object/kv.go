package object

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// kvOps are the operations of a store; every value is [key text].
func kvOps() []string { return []string{"get", "put", "append"} }

// piece is what a value of a store is as text: nil is "", as an absent key is, and
// what is no text its Key, so that 1 and 1.0 are one.
func piece(v history.Value) string {
	switch v.Kind() {
	case history.Nil:
		return ""
	case history.String:
		return v.Text()
	}
	return v.Key()
}

// notStored rejects puts and appends that return something else.
func notStored(op Op) string {
	if isGet(op) {
		return ""
	}
	return notAcknowledged(op)
}

func isGet(op Op) bool { return op.F == "get" }

// kvCell returns the model of one key of a store: :put replaces its text, :append
// lengthens it, :get returns it; it is "" before.
func kvCell() Model[string] {
	return Model[string]{
		Name: "kv", Ops: kvOps(), Pure: isGet, Reject: notStored,
		Step: func(state string, op Op) (string, bool) {
			switch op.F {
			case "put":
				return piece(op.Arg), true
			case "append":
				return state + piece(op.Arg), true
			}
			return state, op.Type != history.OK || state == piece(op.Result)
		},
		Describe: func(state string) string { return strconv.Quote(short(state)) },
		Why: func(state string, op Op) string {
			return fmt.Sprintf("gets %s, but the value is %s", short(op.Result.String()), strconv.Quote(short(state)))
		},
		traits: traits{keyed: true, tailor: tailorCell, needless: unread(piece)},
	}
}

// tailorCell returns the machine of one key for those operations.
func tailorCell(ops []Op) *machine {
	var results []string
	for _, op := range ops {
		if op.F == "get" && op.Type == history.OK {
			results = append(results, piece(op.Result))
		}
	}
	c := newCells(results)
	m := newMachine(Model[cell]{
		Init: c.start(),
		Step: func(s cell, op Op) (cell, bool) {
			switch op.F {
			case "put":
				return c.join(c.start(), piece(op.Arg)), true
			case "append":
				return c.join(s, piece(op.Arg)), true
			}
			return s, op.Type != history.OK || c.is(s, piece(op.Result))
		},
	}, ops)
	return m
}

// pairOf splits [key value].
func pairOf(v history.Value) (key, value history.Value) {
	if e := v.Elems(); len(e) == 2 {
		return e[0], e[1]
	}
	return v, history.Value{}
}

// kvWhole returns the model of a whole store, whose values keep their keys. A
// state is a row of keys, as numbers, and their texts.
func kvWhole() Model[string] {
	texts, keys := &numbers{}, &numbers{}
	text := func(state string, at int) string { return texts.value(unpack(state, at+1)).Text() }
	return Model[string]{
		Name: "kv", Ops: kvOps(), Pure: isGet,
		Reject: func(op Op) string {
			if len(op.Arg.Elems()) != 2 {
				return fmt.Sprintf("its value is %s, want [key text]", short(op.Arg.String()))
			}
			if op.Type != history.OK || op.Result.IsNil() && !isGet(op) {
				return ""
			}
			if len(op.Result.Elems()) != 2 {
				return fmt.Sprintf("it returned %s, want [key text]", short(op.Result.String()))
			}
			k, arg := pairOf(op.Arg)
			of, result := pairOf(op.Result)
			if !k.Equal(of) {
				return fmt.Sprintf("its key is %s, want %s as in its invocation", short(of.String()), short(k.String()))
			}
			return notStored(Op{op.F, op.Type, arg, result})
		},
		Step: func(state string, op Op) (string, bool) {
			k, arg := pairOf(op.Arg)
			_, result := pairOf(op.Result)
			key := keys.number(k)
			at, has := findKey(state, key)
			old := ""
			if has {
				old = text(state, at)
			}
			switch op.F {
			case "get":
				return state, op.Type != history.OK || old == piece(result)
			case "append":
				return putKey(state, key, texts.number(history.Text(old+piece(arg)))), true
			}
			return putKey(state, key, texts.number(history.Text(piece(arg)))), true
		},
		Describe: func(state string) string {
			var parts []string
			for i := 0; i < len(state)/4; i += 2 {
				parts = append(parts, fmt.Sprintf("%s: %q", keys.value(unpack(state, i)), short(text(state, i))))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		},
		Why: func(state string, op Op) string {
			k, _ := pairOf(op.Arg)
			_, result := pairOf(op.Result)
			old := ""
			if at, has := findKey(state, keys.number(k)); has {
				old = text(state, at)
			}
			return fmt.Sprintf("gets %s, but the value of %s is %s", short(result.String()), k, strconv.Quote(short(old)))
		},
		traits: traits{tailor: tailorWhole, needless: unread(func(v history.Value) string {
			_, value := pairOf(v)
			return piece(value)
		})},
	}
}

// findKey returns where key is in a row of pairs of numbers, or belongs.
func findKey(state string, key int32) (at int, has bool) {
	for at = 0; at < len(state)/4; at += 2 {
		if k := unpack(state, at); k >= key {
			return at, k == key
		}
	}
	return at, false
}

// putKey gives key a value in a row of pairs of numbers.
func putKey(state string, key, value int32) string {
	at, has := findKey(state, key)
	rest := state[4*at:]
	if has {
		rest = rest[8:]
	}
	return state[:4*at] + pack(key) + pack(value) + rest
}

// tailorWhole returns the machine of a whole store for those operations: a state
// is a row of cells, one for each key.
func tailorWhole(ops []Op) *machine {
	const wide = 12
	place := make(map[string]int)
	var results [][]string
	var of []int // place of each operation's key
	for _, op := range ops {
		k, _ := pairOf(op.Arg)
		at, ok := place[k.Key()]
		if !ok {
			at = len(results)
			place[k.Key()] = at
			results = append(results, nil)
		}
		of = append(of, at)
		if op.F == "get" && op.Type == history.OK {
			_, v := pairOf(op.Result)
			results[at] = append(results[at], piece(v))
		}
	}
	each := make([]*cells, len(results))
	start := make([]byte, 0, wide*len(each))
	put := func(dst []byte, s cell) []byte {
		dst = binary.BigEndian.AppendUint32(dst, uint32(s.lo))
		dst = binary.BigEndian.AppendUint32(dst, uint32(s.hi))
		return binary.BigEndian.AppendUint32(dst, uint32(s.n))
	}
	for i := range each {
		each[i] = newCells(results[i])
		start = put(start, each[i].start())
	}
	class := int32(0)
	m := newMachine(Model[string]{
		Init: string(start),
		Step: func(state string, op Op) (string, bool) {
			at := of[class]
			c, from := each[at], wide/4*at
			s := cell{unpack(state, from), unpack(state, from+1), unpack(state, from+2)}
			_, arg := pairOf(op.Arg)
			_, result := pairOf(op.Result)
			next := s
			switch op.F {
			case "get":
				return state, op.Type != history.OK || c.is(s, piece(result))
			case "put":
				next = c.join(c.start(), piece(arg))
			case "append":
				next = c.join(s, piece(arg))
			}
			if next == s {
				return state, true
			}
			row := []byte(state)
			put(row[:wide*at], next)
			return string(row), true
		},
	}, ops)
	step := m.step
	m.step = func(dst []int32, state, of int32) []int32 {
		class = of
		return step(dst, state, of)
	}
	return m
}

// unread finds the puts and appends in doubt whose text no get returned a part
// of. They may be left out: no get stands between such a one and the next put,
// since it would have returned the text.
func unread(textOf func(history.Value) string) func(p *part) []bool {
	return func(p *part) []bool {
		doubt := func(ev uint32) bool {
			c := p.r.call(int32(ev >> 1))
			return ev&1 == 0 && c.end == never && p.r.names[c.f] != "get"
		}
		if !slices.ContainsFunc(p.events, doubt) {
			return nil
		}
		var results []string
		for _, ev := range p.events {
			if g := p.r.call(int32(ev >> 1)); ev&1 == 1 && p.r.names[g.f] == "get" {
				results = append(results, textOf(p.r.values.value(g.res)))
			}
		}
		out := make([]bool, len(p.events))
		for i, ev := range p.events {
			if !doubt(ev) {
				continue
			}
			text := textOf(p.r.values.value(p.r.call(int32(ev >> 1)).arg))
			out[i] = !slices.ContainsFunc(results, func(got string) bool { return strings.Contains(got, text) })
		}
		return out
	}
}
