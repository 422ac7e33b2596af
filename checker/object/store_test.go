package object

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// pieces are texts that can be told apart, and some that cannot.
func pieces(t *rapid.T) history.Value {
	return history.Text(rapid.SampledFrom([]string{"a", "b", "ab", "", "c"}).Draw(t, "piece"))
}

func TestStore(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m, keys := kvWhole(), rapid.IntRange(1, 2).Draw(t, "keys")
		s := subject[string]{
			draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
				key := history.Text(string(rune('x' + rapid.IntRange(0, keys-1).Draw(t, "key"))))
				f := rapid.SampledFrom(kvOps()).Draw(t, "f")
				if f == "get" {
					return f, history.Vec(key, history.Value{})
				}
				return f, history.Vec(key, pieces(t))
			},
			answer: func(state string, m Model[string], f string, arg history.Value) history.Value {
				if f != "get" {
					return arg
				}
				for _, text := range []string{"", "a", "b", "ab", "c", "aa", "abc", "abab", "aab", "bab", "ca", "aba", "abb"} {
					result := history.Vec(arg.Elems()[0], history.Text(text))
					if _, ok := m.Step(state, Op{F: f, Type: history.OK, Arg: arg, Result: result}); ok {
						return result
					}
				}
				return history.Vec(arg.Elems()[0], history.Text("?"))
			},
			results: func(f string, arg history.Value) []history.Value {
				if f != "get" {
					return []history.Value{arg}
				}
				var out []history.Value
				for _, text := range []string{"", "a", "ab", "b", "ca"} {
					out = append(out, history.Vec(arg.Elems()[0], history.Text(text)))
				}
				return out
			},
		}
		h := s.histories(t, m, false, rapid.SampledFrom([]int{0, 25}).Draw(t, "crash"))
		whole := agree(t, h, m, Options{Whole: true})
		if whole {
			valid++
		} else {
			invalid++
		}
		// Split by key it is the same.
		if got := check(h, kvCell(), Options{}); got.Facts > 0 && (got.Verdict == checker.Valid) != whole {
			t.Fatalf("whole: %v, by key: %v %s of\n%s", whole, got.Verdict, got.Reason, text(h))
		}
	})
	if valid < 5 || invalid < 5 {
		t.Fatalf("%d valid and %d invalid histories show nothing", valid, invalid)
	}
}

func TestMultiRegister(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		nilAny := rapid.Bool().Draw(t, "nil any")
		x, y := history.Keyword("x"), history.Keyword("y")
		m := multiRegister(history.MapOf(x, history.Int(0)), nilAny)
		read, write := history.Keyword("read"), history.Keyword("write")
		txn := func(t *rapid.T) history.Value {
			var ops []history.Value
			for range rapid.IntRange(1, 2).Draw(t, "micro-ops") {
				key := rapid.SampledFrom([]history.Value{x, y}).Draw(t, "key")
				if rapid.Bool().Draw(t, "reads") {
					ops = append(ops, history.Vec(read, key, history.Value{}))
				} else {
					ops = append(ops, history.Vec(write, key, history.Int(rapid.Int64Range(0, 2).Draw(t, "value"))))
				}
			}
			return history.Vec(ops...)
		}
		// fill completes the reads of a transaction with each value in turn.
		var fill func(ops, done []history.Value, out *[]history.Value)
		fill = func(ops, done []history.Value, out *[]history.Value) {
			if len(ops) == 0 {
				*out = append(*out, history.Vec(append([]history.Value(nil), done...)...))
				return
			}
			e := ops[0].Elems()
			if e[0].Text() == "write" {
				fill(ops[1:], append(done, ops[0]), out)
				return
			}
			for _, v := range append(ints(3), history.Value{}) {
				fill(ops[1:], append(done, history.Vec(read, e[1], v)), out)
			}
		}
		s := subject[string]{
			draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) { return "txn", txn(t) },
			results: func(f string, arg history.Value) []history.Value {
				var out []history.Value
				fill(arg.Elems(), nil, &out)
				return out
			},
		}
		h := s.histories(t, m, false, rapid.SampledFrom([]int{0, 25}).Draw(t, "crash"))
		if agree(t, h, m, Options{NilAny: nilAny}) {
			valid++
		} else {
			invalid++
		}
	})
	if valid < 5 || invalid < 5 {
		t.Fatalf("%d valid and %d invalid histories show nothing", valid, invalid)
	}
}
