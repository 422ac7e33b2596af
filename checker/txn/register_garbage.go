package txn

import (
	"fmt"
	"slices"
)

// contradictions finds the keys of which values were read that nobody wrote and that
// cannot all be from before the history: of one key only one value can be, and none
// where nil was read. What the only such value of a key says of when it was read is
// left alone, as Elle does: it may have come from a write that the history lacks.
// Those that isKnown holds for have their place in the history from elsewhere.
func (r *registers) contradictions(s *tally, isKnown func(v int32) bool) {
	if len(r.garbage) == 0 {
		return
	}
	first := slices.Clone(r.first) // by key: nil, or the first such value
	for _, v := range r.garbage {
		if isKnown(v) {
			continue
		}
		switch other := first[r.key[v]]; {
		case other == noVersion:
			first[r.key[v]] = v
		case r.writer[other] == noTxn:
			s.add(GarbageRead, func() shown { return r.twoFirst(other, v) })
		}
	}
}

// twoFirst says that two values cannot both be from before the history.
func (r *registers) twoFirst(a, b int32) shown {
	x, y := r.readerOf(a), r.readerOf(b)
	s := shown{
		txns: []int32{x, y},
		clauses: []string{
			fmt.Sprintf("T1 read %s of key %s", r.name(a), r.keyName(r.key[a])),
			fmt.Sprintf("T2 read %s of it", r.name(b)),
		},
		end: "Nobody in this history wrote either, and only one of them can be what the key held before.",
	}
	if r.code[a] == nilCode {
		s.end = fmt.Sprintf("Nobody in this history wrote %s, and it is not what the key held before, as that is nil.", r.name(b))
	}
	if x == y {
		s.txns = s.txns[:1]
		s.clauses[1] = fmt.Sprintf("T1 read %s of it too", r.name(b))
	}
	return s
}

// readerOf returns the first committed transaction that read a version.
func (r *registers) readerOf(v int32) int32 {
	for i := range int32(r.len()) {
		if r.status[i] != committed {
			continue
		}
		for _, m := range r.of(i) {
			if m.isRead() && m.val == v {
				return i
			}
		}
	}
	return noTxn
}
