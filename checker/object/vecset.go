package object

import "slices"

// vecset is a set of vectors of w words each, in the order in which they came.
type vecset struct {
	w     int
	data  []uint64
	table []uint32 // index of a vector plus 1
}

func newVecset(w int) *vecset { return &vecset{w: w, table: make([]uint32, 64)} }

func (s *vecset) len() int { return len(s.data) / s.w }

func (s *vecset) at(i int) []uint64 { return s.data[i*s.w : (i+1)*s.w : (i+1)*s.w] }

func (s *vecset) bytes() int64 { return int64(8*cap(s.data) + 4*cap(s.table)) }

// reset empties the set. A table that has become far too large is given up, so
// that a short set is cheap after a long one.
func (s *vecset) reset() {
	if n := s.len(); len(s.table) > 1024 && n*16 < len(s.table) {
		s.table = make([]uint32, 64)
	} else {
		clear(s.table)
	}
	s.data = s.data[:0]
}

func hashWords(v []uint64) uint64 {
	h := uint64(len(v))
	for _, w := range v {
		h = mix(h ^ w*0x9e3779b97f4a7c15)
	}
	return h
}

// add puts a copy of v into the set, and says whether it is new.
func (s *vecset) add(v []uint64) bool {
	mask := uint64(len(s.table) - 1)
	i := hashWords(v) & mask
	for s.table[i] != 0 {
		if slices.Equal(s.at(int(s.table[i]-1)), v) {
			return false
		}
		i = (i + 1) & mask
	}
	s.data = append(s.data, v...)
	n := s.len()
	s.table[i] = uint32(n)
	if 4*n > 3*len(s.table) {
		s.grow()
	}
	return true
}

func (s *vecset) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for n := range s.len() {
		i := hashWords(s.at(n)) & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = uint32(n + 1)
	}
}
