package history

import (
	"testing"

	"pgregory.net/rapid"
)

// What is put on a tape comes back, and is seen as it is.
func TestTape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value(3), 1, 5).Draw(t, "values")
		var tape, other Tape
		tape.Append(value(1).Draw(t, "earlier"))
		if rapid.Bool().Draw(t, "reset") {
			tape.Reset()
		}
		var views []View
		for _, v := range values {
			views = append(views, tape.Append(v))
		}
		for i, v := range values {
			checkView(t, views[i], v)
			other.Append(Text("first"))
			checkView(t, views[i].CopyTo(&other), v)
		}
	})
}

func checkView(t *rapid.T, view View, v Value) {
	if got := view.Value(); !sameValues(got, v) {
		t.Fatalf("the tape has %s for %s", got, v)
	}
	if got := string(view.AppendKey(nil)); got != v.Key() {
		t.Fatalf("key of %s is %q, want %q", v, got, v.Key())
	}
	if view.Kind() != v.Kind() || view.IsNil() != v.IsNil() || view.IsSequence() != v.isSequence() {
		t.Fatalf("%s is of kind %d, want %d", v, view.Kind(), v.Kind())
	}
	n, isInt := view.Int()
	if m, ok := v.Int(); ok != isInt || ok && n != m {
		t.Fatalf("%s is the integer %d, %t", v, n, isInt)
	}
	b, isFlag := view.Flag()
	if c, ok := v.Flag(); ok != isFlag || ok && b != c {
		t.Fatalf("%s is the flag %t, %t", v, b, isFlag)
	}
	switch v.Kind() {
	case String, Char, KeywordKind, Symbol:
		named := v.Kind() == String || v.Kind() == KeywordKind
		if string(view.Bytes()) != v.Text() || view.Is(v.Text()) != named || view.Is(v.Text()+"x") {
			t.Fatalf("%s has the text %q", v, view.Bytes())
		}
	case List, Vector, Set, Map:
		if view.Len() != len(v.list) {
			t.Fatalf("%s has %d elements", v, view.Len())
		}
		i := 0
		for elem := range view.Elems() {
			checkView(t, elem, v.list[i])
			i++
		}
		if i != len(v.list) {
			t.Fatalf("%s yields %d elements", v, i)
		}
	default:
		if view.Bytes() != nil || view.Len() != 0 || view.Is("") {
			t.Fatalf("%s has text or elements", v)
		}
	}
	for i := 0; v.Kind() == Map && i < len(v.list); i += 2 {
		if k := v.list[i]; k.kind == KeywordKind || k.kind == String {
			got, ok := view.Field(k.str)
			if want, _ := v.Field(k.str); !ok || !sameValues(got.Value(), want) {
				t.Fatalf("%s has %s under %q", v, got.Value(), k.str)
			}
		}
	}
	ints, ok := view.AppendInts([]int64{7})
	all := v.isSequence()
	for _, elem := range v.list {
		all = all && elem.kind == Integer
	}
	if ok != all || ok && len(ints) != 1+len(v.list) || !ok && len(ints) != 1 {
		t.Fatalf("%s has the integers %v, %t", v, ints, ok)
	}
	for i := 1; i < len(ints); i++ {
		if ints[i] != int64(v.list[i-1].num) {
			t.Fatalf("%s has the integers %v", v, ints)
		}
	}
}

func TestTapeAllocatesNothing(t *testing.T) {
	var tape Tape
	var key []byte
	v := Vec(Vec(Keyword("append"), Int(3), Int(1)), ListOf(Text("r"), Keyword("x"), Value{}))
	allocs := testing.AllocsPerRun(100, func() {
		tape.Reset()
		view := tape.Append(v)
		key = view.First().AppendKey(key[:0])
		for elem := range view.Elems() {
			if elem.Len() != 3 {
				t.Fatal(elem.Len())
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
