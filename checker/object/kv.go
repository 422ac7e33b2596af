package object

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// kvOps are the operations of a store; every value is [key text].
func kvOps() []string { return []string{"get", "put", "append"} }

// piece is what a value of a store is as text: nil is "", as an absent key is.
func piece(v history.Value) string {
	switch v.Kind() {
	case history.Nil:
		return ""
	case history.String:
		return v.Text()
	}
	return v.String()
}

// cell is the state of one key, as a number of texts.
func (t *texts) cell(state int32, f string, arg, result history.Value, known bool) (int32, bool) {
	switch f {
	case "put":
		return t.join(0, piece(arg)), true
	case "append":
		return t.join(state, piece(arg)), true
	}
	return state, !known || t.is(state, piece(result))
}

func isGet(op Op) bool { return op.F == "get" }

// kvCell returns the model of one key of a store: :put replaces its text, :append
// lengthens it, :get returns it; it is "" before.
func kvCell() Model[int32] {
	t := newTexts()
	return Model[int32]{
		Name: "kv", Ops: kvOps(), Pure: isGet,
		Step: func(state int32, op Op) (int32, bool) {
			return t.cell(state, op.F, op.Arg, op.Result, op.Type == history.OK)
		},
		Describe: func(state int32) string { return strconv.Quote(short(t.text(state))) },
		Why: func(state int32, op Op) string {
			return fmt.Sprintf("gets %s, but the value is %s", short(op.Result.String()), strconv.Quote(short(t.text(state))))
		},
		traits: traits{keyed: true, sourced: true, needless: unread(func(v history.Value) string { return piece(v) })},
	}
}

// kvWhole returns the model of a whole store, whose values keep their keys.
func kvWhole() Model[string] {
	t, keys := newTexts(), &numbers{}
	split := func(v history.Value) (key, value history.Value) {
		if e := v.Elems(); len(e) == 2 {
			return e[0], e[1]
		}
		return v, history.Value{}
	}
	find := func(state string, key int32) (cell int32, at int) {
		for i := 0; i < len(state)/4; i += 2 {
			switch k := unpack(state, i); {
			case k == key:
				return unpack(state, i+1), i
			case k > key:
				return 0, i
			}
		}
		return 0, len(state) / 4
	}
	return Model[string]{
		Name: "kv", Ops: kvOps(), Pure: isGet,
		Step: func(state string, op Op) (string, bool) {
			k, arg := split(op.Arg)
			_, result := split(op.Result)
			key := keys.number(k)
			cell, at := find(state, key)
			next, ok := t.cell(cell, op.F, arg, result, op.Type == history.OK)
			if !ok || next == cell {
				return state, ok
			}
			// A key whose text is "" is absent.
			rest := state[4*at:]
			if cell != 0 {
				rest = rest[8:]
			}
			if next == 0 {
				return state[:4*at] + rest, true
			}
			return state[:4*at] + pack(key) + pack(next) + rest, true
		},
		Describe: func(state string) string {
			var parts []string
			for i := 0; i < len(state)/4; i += 2 {
				parts = append(parts, fmt.Sprintf("%s: %q", keys.value(unpack(state, i)), short(t.text(unpack(state, i+1)))))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		},
		Why: func(state string, op Op) string {
			k, _ := split(op.Arg)
			_, result := split(op.Result)
			cell, _ := find(state, keys.number(k))
			return fmt.Sprintf("gets %s, but the value of %s is %s", short(result.String()), k, strconv.Quote(short(t.text(cell))))
		},
		traits: traits{sourced: true, needless: unread(func(v history.Value) string { _, value := split(v); return piece(value) })},
	}
}

// unread finds the puts and appends in doubt whose text no get returned a part
// of. They may be left out: no get stands between such a one and the next put,
// since it would have returned the text.
func unread(textOf func(history.Value) string) func(p *part) []bool {
	return func(p *part) []bool {
		var out []bool
		var results []string
		for i, ev := range p.events {
			c := &p.r.calls[ev>>1]
			if ev&1 == 1 || c.end != never || p.r.names[c.f] == "get" {
				continue
			}
			if out == nil {
				out = make([]bool, len(p.events))
				for _, ev := range p.events {
					if g := &p.r.calls[ev>>1]; ev&1 == 1 && p.r.names[g.f] == "get" {
						results = append(results, textOf(p.r.values.value(g.res)))
					}
				}
			}
			text := textOf(p.r.values.value(c.arg))
			out[i] = text != ""
			for _, got := range results {
				if strings.Contains(got, text) {
					out[i] = false
					break
				}
			}
		}
		return out
	}
}
