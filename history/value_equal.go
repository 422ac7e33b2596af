package history

import (
	"slices"
	"strconv"
)

// pairwise is the number of members up to which comparing each with each beats
// hashing them.
const pairwise = 8

// Equal reports whether v and w mean the same: numbers by what they denote (42,
// 42.0, 42N and 84/2 are equal; a float denotes its shortest decimal, so 0.1
// equals 0.1M; NaN equals itself), lists and vectors by their elements, maps and
// sets without regard to order, everything else by kind and content. It is an
// equivalence, unlike Clojure's ==, so it can be used to group values.
//
// Cost: linear; for maps and sets of more than 8 members also their Keys.
func (v Value) Equal(w Value) bool {
	if v.kind == w.kind {
		switch v.kind {
		case Nil:
			return true
		case Bool, Integer:
			return v.num == w.num
		case Float:
			if v.num == w.num {
				return true
			}
		case String, Char, KeywordKind, Symbol:
			return v.str == w.str
		case Map:
			return equalMaps(v.list, w.list)
		case Set:
			return equalSets(v.list, w.list)
		case Tagged:
			return v.str == w.str && equalLists(v.list, w.list)
		}
	}
	switch {
	case v.isNumber() && w.isNumber():
		return v.numberKey() == w.numberKey()
	case v.isSequence() && w.isSequence():
		return equalLists(v.list, w.list)
	}
	return false
}

func (v Value) isNumber() bool {
	return v.kind == Integer || v.kind == Float || v.kind == Number
}

func (v Value) isSequence() bool { return v.kind == List || v.kind == Vector }

func equalLists(v, w []Value) bool {
	return slices.EqualFunc(v, w, Value.Equal)
}

func equalSets(v, w []Value) bool {
	if len(v) != len(w) {
		return false
	}
	if len(v) > pairwise {
		return Value{kind: Set, list: v}.Key() == Value{kind: Set, list: w}.Key()
	}
	for i := range v {
		if !slices.ContainsFunc(w, v[i].Equal) {
			return false
		}
	}
	return true
}

func equalMaps(v, w []Value) bool {
	if len(v) != len(w) {
		return false
	}
	if len(v) > 2*pairwise {
		return Value{kind: Map, list: v}.Key() == Value{kind: Map, list: w}.Key()
	}
next:
	for i := 0; i+1 < len(v); i += 2 {
		for j := 0; j+1 < len(w); j += 2 {
			if v[i].Equal(w[j]) {
				if v[i+1].Equal(w[j+1]) {
					continue next
				}
				return false
			}
		}
		return false
	}
	return true
}

// Key returns a text that two values share exactly when they are Equal, to use
// a Value as the key of a Go map. It allocates nothing for 0 to 99, and one
// string for other numbers, keywords and short texts.
func (v Value) Key() string {
	if v.kind == Integer {
		return strconv.FormatInt(int64(v.num), 10)
	}
	var space [64]byte
	return string(v.appendKey(space[:0]))
}

func (v Value) appendKey(dst []byte) []byte {
	switch v.kind {
	case Integer, Float, Number:
		return append(dst, v.numberKey()...)
	case KeywordKind:
		// Names are quoted where they could be taken for something else.
		return appendString(append(dst, ':'), v.str)
	case Symbol:
		return appendString(append(dst, '\''), v.str)
	case Char:
		return appendString(append(dst, '\\'), v.str)
	case List, Vector:
		dst = append(dst, '[')
		for i := range v.list {
			dst = append(v.list[i].appendKey(dst), ' ')
		}
		return append(dst, ']')
	case Set:
		return append(appendSorted(append(dst, "#{"...), v.list, 1), '}')
	case Map:
		return append(appendSorted(append(dst, '{'), v.list, 2), '}')
	case Tagged:
		dst = append(appendString(append(dst, '#'), v.str), ' ')
		for i := range v.list {
			dst = v.list[i].appendKey(dst)
		}
		return dst
	}
	return v.Append(dst)
}

// appendSorted writes the keys of groups of size values in their own order.
func appendSorted(dst []byte, vs []Value, size int) []byte {
	keys := make([]string, 0, len(vs)/size)
	for ; len(vs) >= size; vs = vs[size:] {
		var key []byte
		for i := range vs[:size] {
			key = append(vs[i].appendKey(key), ' ')
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	for _, key := range keys {
		dst = append(dst, key...)
	}
	return dst
}

// unique drops from groups of size values those whose first is equal to an
// earlier first; the last of equal groups stays, in the place of the first. It
// works in place.
func unique(vs []Value, size int) []Value {
	if len(vs) <= size*pairwise {
		return uniquePairwise(vs, size)
	}
	places := make(map[hashable]int, len(vs)/size)
	kept := 0
	for i := 0; i+size <= len(vs); i += size {
		key := vs[i].hashable()
		to, seen := places[key]
		if !seen {
			to = kept
			places[key] = kept
			kept += size
		}
		copy(vs[to:to+size], vs[i:i+size])
	}
	return vs[:kept]
}

func uniquePairwise(vs []Value, size int) []Value {
	kept := 0
next:
	for i := 0; i+size <= len(vs); i += size {
		for j := 0; j < kept; j += size {
			if vs[i].Equal(vs[j]) {
				copy(vs[j:j+size], vs[i:i+size])
				continue next
			}
		}
		if kept != i {
			copy(vs[kept:kept+size], vs[i:i+size])
		}
		kept += size
	}
	return vs[:kept]
}

// hashable is Key without the allocation for the commonest kinds.
type hashable struct {
	kind Kind
	num  uint64
	str  string
}

func (v Value) hashable() hashable {
	switch v.kind {
	case Integer:
		return hashable{kind: Integer, num: v.num}
	case String, Char, KeywordKind, Symbol:
		return hashable{kind: v.kind, str: v.str}
	}
	key := v.Key()
	if v.isNumber() {
		if n, err := strconv.ParseInt(key, 10, 64); err == nil {
			return hashable{kind: Integer, num: uint64(n)}
		}
	}
	return hashable{str: key}
}
