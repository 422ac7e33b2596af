package history

import "slices"

// distinct reports whether it is sure that of n values on the tape every one, or
// the first of every two, is different.
func (s *opScanner) distinct(words []uint64, n, step int) bool {
	if n <= step {
		return true
	}
	keys := s.keys[:0]
	defer func() { s.keys = keys[:0] }()
	allInts, rising := true, true
	for at := 0; n > 0; n -= step {
		w := words[at]
		switch Kind(w & kindMask) {
		case Nil, Bool, String, KeywordKind:
			allInts = false
		case Integer:
		default:
			return false
		}
		if last := len(keys) - 1; last >= 0 && int64(keys[last]) >= int64(w) {
			rising = false
		}
		keys = append(keys, w)
		if at++; step == 2 {
			at += span(words[at])
		}
	}
	switch {
	case allInts && rising:
		return true
	case len(keys) <= pairwise:
		return s.distinctPairwise(keys)
	case !allInts:
		return false
	}
	return distinctInts(keys)
}

// distinctPairwise compares each with each.
func (s *opScanner) distinctPairwise(keys []uint64) bool {
	text := s.tape.text
	for i, a := range keys {
		for _, b := range keys[:i] {
			if a == b {
				return false
			}
			// Equal texts stand in different places.
			const shape = 1<<skipShift - 1
			if k := Kind(a & kindMask); a&shape != b&shape || k != String && k != KeywordKind {
				continue
			}
			n := a >> kindBits & countMask
			if at, bt := a>>skipShift, b>>skipShift; string(text[at:at+n]) == string(text[bt:bt+n]) {
				return false
			}
		}
	}
	return true
}

// distinctInts sorts keys, which all are words of integers.
func distinctInts(keys []uint64) bool {
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return false
		}
	}
	return true
}
