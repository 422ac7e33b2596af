package object

import (
	"encoding/binary"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

// values numbers values: equal ones get one number, nil is 0. Integers, above all
// small ones that are not negative, take 12 bytes.
type values struct {
	dense []int32 // number of each small integer, 0 where it has none
	ints  map[int64]int32
	keys  map[string]int32
	nums  []int64 // by number: the integer, or an index into views
	other []uint64
	views []history.View
	tape  history.Tape
	key   []byte
}

func newValues() *values {
	return &values{ints: make(map[int64]int32), keys: make(map[string]int32), nums: make([]int64, 1), other: make([]uint64, 1)}
}

func (vs *values) len() int { return len(vs.nums) }

func (vs *values) number(v history.View) int32 {
	if v.IsNil() {
		return 0
	}
	if n, ok := v.Int(); ok {
		return vs.integer(n)
	}
	if kind := v.Kind(); kind == history.Float || kind == history.Number {
		// 1.0 and 1N are 1.
		if n, err := strconv.ParseInt(v.Value().Key(), 10, 64); err == nil {
			return vs.integer(n)
		}
	}
	vs.key = appendKey(vs.key[:0], v)
	if id, ok := vs.keys[string(vs.key)]; ok {
		return id
	}
	id := vs.add(int64(len(vs.views)))
	vs.other[id>>6] |= 1 << (id & 63)
	vs.views = append(vs.views, v.CopyTo(&vs.tape))
	vs.keys[string(vs.key)] = id
	return id
}

func (vs *values) add(num int64) int32 {
	id := int32(len(vs.nums))
	vs.nums = append(vs.nums, num)
	if int(id>>6) == len(vs.other) {
		vs.other = append(vs.other, 0)
	}
	return id
}

func (vs *values) integer(n int64) int32 {
	if n >= 0 && n < int64(4*len(vs.nums)+1024) {
		if int(n) >= len(vs.dense) {
			grown := make([]int32, max(int(n)+1, 2*len(vs.dense), 1024))
			copy(grown, vs.dense)
			vs.dense = grown
		}
		if id := vs.dense[n]; id != 0 {
			return id
		}
		// It may have been too large for dense when it was met first.
		id, ok := vs.ints[n]
		if !ok {
			id = vs.add(n)
		}
		vs.dense[n] = id
		return id
	}
	id, ok := vs.ints[n]
	if !ok {
		id = vs.add(n)
		vs.ints[n] = id
	}
	return id
}

// value returns the value of a number.
func (vs *values) value(id int32) history.Value {
	if id <= 0 || int(id) >= len(vs.nums) {
		return history.Value{}
	}
	if vs.other[id>>6]>>(id&63)&1 == 1 {
		return vs.views[vs.nums[id]].Value()
	}
	return history.Int(vs.nums[id])
}

// int returns the integer of a number.
func (vs *values) int(id int32) (n int64, ok bool) {
	if id <= 0 || vs.other[id>>6]>>(id&63)&1 == 1 {
		return 0, false
	}
	return vs.nums[id], true
}

// appendKey is View.AppendKey for what occurs often without the garbage: equal
// bytes for equal values and for no others.
func appendKey(dst []byte, v history.View) []byte {
	switch kind := v.Kind(); kind {
	case history.Nil:
		return append(dst, 'n')
	case history.String, history.KeywordKind, history.Symbol:
		text := v.Bytes()
		n := len(text)
		dst = append(dst, 'A'+byte(kind), byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		return append(dst, text...)
	case history.Vector, history.List:
		n := v.Len()
		dst = append(dst, '[')
		for i, elem := 0, v.First(); i < n; i++ {
			dst = appendKey(dst, elem)
			if i+1 < n {
				elem = elem.Next()
			}
		}
		return append(dst, ']')
	}
	// Numbers, and what is rare.
	at := len(dst)
	dst = v.AppendKey(append(dst, '=', 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-5))
	return dst
}
