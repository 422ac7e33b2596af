package linear

import (
	"cmp"
	"math/bits"
	"slices"
)

// layout says where the parts of a configuration stand in its words: the state
// of the register, the calls under way that have happened (used), those that owe
// nothing any more but may still happen (free), and of each pool of calls in
// doubt how many have happened.
type layout struct {
	words  int // of a set of calls under way
	pools  []pool
	guards []uint64 // of each word of counters, the bit above each counter
}

func (l *layout) stride() int { return 1 + 2*l.words + len(l.guards) }

func (l *layout) used(c []uint64) []uint64   { return c[1 : 1+l.words] }
func (l *layout) free(c []uint64) []uint64   { return c[1+l.words : 1+2*l.words] }
func (l *layout) counts(c []uint64) []uint64 { return c[1+2*l.words:] }

// configs is a list of configurations, one after another.
type configs struct {
	words  []uint64
	stride int
}

func (cs *configs) len() int { return len(cs.words) / cs.stride }

func (cs *configs) at(i int) []uint64 {
	return cs.words[i*cs.stride : (i+1)*cs.stride : (i+1)*cs.stride]
}

// push appends a copy of c, which may be one of cs, and returns it.
func (cs *configs) push(c []uint64) []uint64 {
	cs.words = append(cs.words, c...)
	return cs.at(cs.len() - 1)
}

func (cs *configs) pop() { cs.words = cs.words[:len(cs.words)-cs.stride] }

// index finds configurations that are in a list already.
type index struct {
	slots []int32 // place in the list plus one, by hash; a power of two
}

const smallIndex = 64

func (x *index) reset() {
	if cap(x.slots) < smallIndex {
		x.slots = make([]int32, smallIndex)
	}
	x.slots = x.slots[:smallIndex]
	clear(x.slots)
}

// covered reports whether the last configuration of cs is covered by another one
// that is the same but may have more calls free; if not it is added to the index.
func (x *index) covered(l *layout, cs *configs) bool {
	last := cs.len() - 1
	if 2*last >= len(x.slots) {
		x.grow(l, cs, last)
	}
	c := cs.at(last)
	mask := uint32(len(x.slots) - 1)
	for at := uint32(l.hash(c)) & mask; ; at = (at + 1) & mask {
		have := x.slots[at]
		if have == 0 {
			x.slots[at] = int32(last + 1)
			return false
		}
		if l.sameButFree(cs.at(int(have-1)), c) {
			return true
		}
	}
}

// grow makes room for the first n configurations of cs, and as many again.
func (x *index) grow(l *layout, cs *configs, n int) {
	size := 4 * len(x.slots)
	if cap(x.slots) < size {
		x.slots = make([]int32, size)
	}
	x.slots = x.slots[:size]
	clear(x.slots)
	mask := uint32(size - 1)
	for i := range n {
		at := uint32(l.hash(cs.at(i))) & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = int32(i + 1)
	}
}

// hash leaves out what is free.
func (l *layout) hash(c []uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := (c[0] + 1) * odd
	for _, w := range l.used(c) {
		h = (bits.RotateLeft64(h, 29) ^ w) * odd
	}
	for _, w := range l.counts(c) {
		h = (bits.RotateLeft64(h, 29) ^ w) * odd
	}
	return h >> 32
}

// sameButFree reports whether b covers a because they are equal, and what is free
// in a is in b.
func (l *layout) sameButFree(b, a []uint64) bool {
	if a[0] != b[0] {
		return false
	}
	used := 1 + l.words
	for i := 1; i < used; i++ {
		if a[i] != b[i] || a[i+l.words]&^b[i+l.words] != 0 {
			return false
		}
	}
	for i := used + l.words; i < len(a); i++ {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// dominates reports whether b can do all that a can: it is in the same state,
// has used no more, and owes nothing that a does not owe.
func (l *layout) dominates(b, a []uint64) bool {
	if a[0] != b[0] {
		return false
	}
	used := 1 + l.words
	for i := 1; i < used; i++ {
		if b[i]&^a[i] != 0 || (a[i+l.words]|a[i]&^b[i])&^b[i+l.words] != 0 {
			return false
		}
	}
	for i, guard := range l.guards {
		at := used + l.words + i
		if ((a[at]|guard)-b[at])&guard != guard {
			return false
		}
	}
	return true
}

const (
	// pairwise is the number of configurations up to which each is compared with
	// each.
	pairwise = 12
	// compared bounds with how many of the same state each is compared beyond.
	compared = 96
)

// reduce removes configurations that another one dominates; not all of them when
// there are many. It returns how many comparisons that took.
func (l *layout) reduce(cs *configs, order []int32) (_ []int32, steps int64) {
	n := cs.len()
	if n < 2 {
		return order, 0
	}
	if n <= pairwise {
		gone := uint32(0)
		for i := range n {
			for j := range n {
				if i != j && gone>>j&1 == 0 && l.dominates(cs.at(j), cs.at(i)) {
					gone |= 1 << i
					break
				}
			}
		}
		if gone != 0 {
			kept := 0
			for i := range n {
				if gone>>i&1 == 0 {
					copy(cs.at(kept), cs.at(i))
					kept++
				}
			}
			cs.words = cs.words[:kept*cs.stride]
		}
		return order, int64(n * n / 4)
	}
	order = l.sorted(cs, order)
	kept := order[:0]
	first := 0 // of kept, with this state
	for _, i := range order {
		c := cs.at(int(i))
		if len(kept) > 0 && cs.at(int(kept[len(kept)-1]))[0] != c[0] {
			first = len(kept)
		}
		gone := false
		for _, j := range kept[first:min(len(kept), first+compared)] {
			steps++
			if l.dominates(cs.at(int(j)), c) {
				gone = true
				break
			}
		}
		if !gone {
			kept = append(kept, i)
		}
	}
	cs.pick(kept)
	return order, steps / 4
}

// sorted lists cs by state, and within one such that what dominates comes before
// what it dominates: by how much is used, then by how little is free.
func (l *layout) sorted(cs *configs, order []int32) []int32 {
	order = order[:0]
	for i := range cs.len() {
		order = append(order, int32(i))
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := cs.at(int(i)), cs.at(int(j))
		if by := cmp.Compare(a[0], b[0]); by != 0 {
			return by
		}
		if by := slices.Compare(l.counts(a), l.counts(b)); by != 0 {
			return by
		}
		if by := cmp.Compare(size(l.used(a)), size(l.used(b))); by != 0 {
			return by
		}
		if by := cmp.Compare(size(l.free(b)), size(l.free(a))); by != 0 {
			return by
		}
		return slices.Compare(a, b)
	})
	return order
}

// pick keeps those of cs that are listed, in that order.
func (cs *configs) pick(list []int32) {
	start := len(cs.words)
	for _, i := range list {
		cs.push(cs.at(int(i)))
	}
	cs.words = cs.words[:copy(cs.words, cs.words[start:])]
}

// narrow keeps the best width configurations: of each state in turn the one that
// has used least of what is in doubt, and then has most behind it.
func (l *layout) narrow(cs *configs, order []int32, width int) []int32 {
	order = l.sorted(cs, order)
	rank := make([]int32, cs.len()) // within its state
	debt := make([]int, cs.len())
	for i := range debt {
		c := cs.at(i)
		counts := l.counts(c)
		for k := range l.pools {
			debt[i] += 4 * int(l.pools[k].happened(counts))
		}
		debt[i] -= size(l.used(c)) + size(l.free(c))
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		if by := cmp.Compare(cs.at(int(i))[0], cs.at(int(j))[0]); by != 0 {
			return by
		}
		return cmp.Compare(debt[i], debt[j])
	})
	for n, i := range order {
		if n > 0 && cs.at(int(order[n-1]))[0] == cs.at(int(i))[0] {
			rank[i] = rank[order[n-1]] + 1
		}
	}
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(rank[i], rank[j]) })
	cs.pick(order[:width])
	return order
}

func size(set []uint64) int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}
