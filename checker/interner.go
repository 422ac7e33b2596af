package checker

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

// interner numbers the values of events, from 0 on: equal values get one number.
// It costs a look into an array for integers that lie close together, which most
// elements and keys are, a map look-up for others, and for other values than
// integers one string each. The zero interner is ready for use.
type interner struct {
	dense  []int32         // integer → its number plus 1
	sparse map[int64]int32 // integers too far away for dense
	texts  map[string]int32
	ints   []int64  // number → integer
	names  []string // number → what keyOf says of a value that is not an integer, or for a compound its EDN
	key    []byte
	row    []int64
}

// compound and above begin the keys of what is no text.
const compound = 0xfe

// slack is how far beyond their number integers may lie and still be in dense.
const slack = 1 << 12

func (in *interner) len() int { return len(in.ints) }

// number returns the number of v.
func (in *interner) number(v history.View) int32 {
	if n, ok := in.whole(v); ok {
		return in.numberInt(n)
	}
	key := in.keyOf(v)
	if id, ok := in.texts[string(key)]; ok {
		return id
	}
	if in.texts == nil {
		in.texts = make(map[string]int32)
	}
	id := int32(len(in.ints))
	in.ints = append(in.ints, 0)
	for len(in.names) < int(id) {
		in.names = append(in.names, "")
	}
	text := string(key)
	in.texts[text] = id
	if key[0] >= compound {
		text = string(append([]byte{compound}, v.Value().String()...))
	}
	in.names = append(in.names, text)
	return id
}

// numberInt is number for an integer.
func (in *interner) numberInt(n int64) int32 {
	if uint64(n) < uint64(len(in.dense)) {
		if id := in.dense[n]; id != 0 {
			return id - 1
		}
	} else if id, ok := in.sparse[n]; ok {
		return id
	}
	id := int32(len(in.ints))
	in.ints = append(in.ints, n)
	if limit := int64(4*len(in.ints) + slack); n >= int64(len(in.dense)) && n < limit {
		in.grow(n, limit)
	}
	if uint64(n) < uint64(len(in.dense)) {
		in.dense[n] = id + 1
		return id
	}
	if in.sparse == nil {
		in.sparse = make(map[int64]int32)
	}
	in.sparse[n] = id
	return id
}

// grow makes room in dense for n and moves there what was sparse.
func (in *interner) grow(n, limit int64) {
	size := min(max(2*n, 64), limit)
	dense := make([]int32, max(size, n+1))
	copy(dense, in.dense)
	in.dense = dense
	for far, id := range in.sparse {
		if far >= 0 && far < int64(len(dense)) {
			dense[far] = id + 1
			delete(in.sparse, far)
		}
	}
}

// find returns the number of v if it has one.
func (in *interner) find(v history.View) (id int32, ok bool) {
	if n, isInt := in.whole(v); isInt {
		if uint64(n) < uint64(len(in.dense)) {
			id = in.dense[n]
			return id - 1, id != 0
		}
		id, ok = in.sparse[n]
		return id, ok
	}
	id, ok = in.texts[string(in.keyOf(v))]
	return id, ok
}

// whole returns the integer that v is equal to: 7 of 7, 7.0 and 14/2.
func (in *interner) whole(v history.View) (n int64, ok bool) {
	if n, ok = v.Int(); ok {
		return n, true
	}
	if kind := v.Kind(); kind != history.Float && kind != history.Number {
		return 0, false
	}
	in.key = v.AppendKey(in.key[:0])
	n, err := strconv.ParseInt(string(in.key), 10, 64)
	return n, err == nil
}

// keyOf returns bytes that v shares with its equals only. What is common gets
// them without a copy of the value.
func (in *interner) keyOf(v history.View) []byte {
	switch kind := v.Kind(); kind {
	case history.String, history.KeywordKind:
		in.key = append(in.key[:0], byte(kind))
		in.key = append(in.key, v.Bytes()...)
		return in.key
	}
	if row, ok := in.wholes(v); ok {
		in.key = append(in.key[:0], compound)
		for _, n := range row {
			in.key = binary.AppendVarint(in.key, n)
		}
		return in.key
	}
	in.key = v.AppendKey(append(in.key[:0], compound+1))
	return in.key
}

// wholes returns the elements of a list or vector of integers.
func (in *interner) wholes(v history.View) (row []int64, ok bool) {
	if !v.IsSequence() {
		return nil, false
	}
	in.row, ok = v.AppendInts(in.row[:0])
	if ok {
		return in.row, true
	}
	for elem := range elements(v) {
		n, ok := in.whole(elem)
		if !ok {
			return nil, false
		}
		in.row = append(in.row, n)
	}
	return in.row, true
}

// isInt reports whether number id stands for the integer n.
func (in *interner) isInt(id int32, n int64) bool {
	return in.ints[id] == n && (int(id) >= len(in.names) || in.names[id] == "")
}

// integer returns the integer that number id stands for.
func (in *interner) integer(id int32) (n int64, ok bool) {
	return in.ints[id], in.isInt(id, in.ints[id])
}

// name is the EDN of the value with that number.
func (in *interner) name(id int32) string {
	if n, ok := in.integer(id); ok {
		return history.Int(n).String()
	}
	switch text := in.names[id]; history.Kind(text[0]) {
	case history.String:
		return history.Text(text[1:]).String()
	case history.KeywordKind:
		return history.Keyword(text[1:]).String()
	default:
		return text[1:]
	}
}

// sorted returns the ids in the order of their values: integers first, by size.
func (in *interner) sorted(ids []int32) []int32 {
	return slices.SortedFunc(slices.Values(ids), func(a, b int32) int {
		n, aInt := in.integer(a)
		m, bInt := in.integer(b)
		switch {
		case aInt && bInt:
			return cmp.Compare(n, m)
		case aInt:
			return -1
		case bInt:
			return 1
		}
		return cmp.Compare(in.name(a), in.name(b))
	})
}
