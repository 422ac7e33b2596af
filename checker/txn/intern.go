package txn

import (
	"strconv"

	"github.com/jepgo/jepgo/history"
)

// numbers gives each value that occurs a number from 0 on, in the order in which
// they come, for keys and processes. Equal values have the same number, also 1 and
// 1.0. Integers that are small and not negative, as nearly all are, take no map.
type numbers struct {
	small []int32 // of the integer at its place: its number and 1
	ints  map[int64]int32
	texts map[string]int32 // by View.AppendKey
	of    []int64          // the integer that has this number; else a place in other
	other map[int32]history.Value
	space []byte
}

// smallest is the first integer that is not looked up in a slice.
const smallest = 1 << 20

func (s *numbers) len() int { return len(s.of) }

// number returns the number of a value.
func (s *numbers) number(v history.View) int32 {
	if n, ok := s.integral(v); ok {
		return s.integer(n)
	}
	s.space = v.AppendKey(s.space[:0])
	if id, ok := s.texts[string(s.space)]; ok {
		return id
	}
	if s.texts == nil {
		s.texts = make(map[string]int32)
		s.other = make(map[int32]history.Value)
	}
	id := int32(len(s.of))
	s.of = append(s.of, 0)
	s.texts[string(s.space)] = id
	s.other[id] = v.Value()
	return id
}

// integral returns the integer that a value is equal to, be it written as one or as
// 1.0, 1M or 2/2.
func (s *numbers) integral(v history.View) (n int64, ok bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	if k := v.Kind(); k != history.Float && k != history.Number {
		return 0, false
	}
	s.space = v.AppendKey(s.space[:0])
	n, err := strconv.ParseInt(string(s.space), 10, 64)
	return n, err == nil
}

// integer returns the number of an integer.
func (s *numbers) integer(n int64) int32 {
	if n < 0 || n >= smallest {
		id, ok := s.ints[n]
		if !ok {
			if s.ints == nil {
				s.ints = make(map[int64]int32)
			}
			id = int32(len(s.of))
			s.of = append(s.of, n)
			s.ints[n] = id
		}
		return id
	}
	if int(n) >= len(s.small) {
		s.small = append(s.small, make([]int32, int(n)+1-len(s.small))...)
	}
	if s.small[n] == 0 {
		s.of = append(s.of, n)
		s.small[n] = int32(len(s.of))
	}
	return s.small[n] - 1
}

// value returns the value that has a number.
func (s *numbers) value(id int32) history.Value {
	if v, ok := s.other[id]; ok {
		return v
	}
	return history.Int(s.of[id])
}

// bytes is about what s takes.
func (s *numbers) bytes() int64 {
	const entry = 64 // of a map, with its text
	return int64(len(s.small))*4 + int64(len(s.of))*8 + int64(len(s.ints)+2*len(s.texts))*entry
}

// codes gives values codes of 32 bits: a small integer n is 2n, any other value
// an odd number. Two codes are no value's.
type codes struct{ others numbers }

const (
	nilCode     int32 = -1 << 31   // nil
	unknownCode int32 = -1<<31 + 2 // what a read saw is not known
	codeLimit         = 1<<30 - 1  // integers nearer to 0 than this are their own code
)

func (c *codes) code(v history.View) int32 {
	if n, ok := c.others.integral(v); ok {
		return c.integer(n)
	}
	if v.IsNil() {
		return nilCode
	}
	return c.others.number(v)<<1 | 1
}

func (c *codes) integer(n int64) int32 {
	if -codeLimit < n && n < codeLimit {
		return int32(n) << 1
	}
	return c.others.integer(n)<<1 | 1
}

func (c *codes) value(code int32) history.Value {
	switch {
	case code == nilCode || code == unknownCode:
		return history.Value{}
	case code&1 == 0:
		return history.Int(int64(code >> 1))
	}
	return c.others.value(code >> 1)
}
