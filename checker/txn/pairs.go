package txn

// pairs numbers pairs of integers from 0 on, in the order in which they come: an
// open hash table of 4 bytes a slot over 8 bytes a pair.
type pairs struct {
	slots []int32 // number of a pair and 1, 0 for none; a power of two
	shift uint    // of a hash, to a slot
	of    []uint64
}

func newPairs(expected int) *pairs {
	p := &pairs{of: make([]uint64, 0, expected)}
	size := uint(4)
	for 1<<size < expected*3/2 {
		size++
	}
	p.grow(size)
	return p
}

func (p *pairs) grow(size uint) {
	p.slots = make([]int32, 1<<size)
	p.shift = 64 - size
	for id, pair := range p.of {
		p.slots[p.find(pair)] = int32(id) + 1
	}
}

// find returns the slot that holds the pair, or the empty one where it belongs.
func (p *pairs) find(pair uint64) int {
	const golden = 0x9E3779B97F4A7C15 // Fibonacci hashing: Knuth, TAOCP 3, 6.4
	hash := pair ^ pair>>29
	at := int(hash * golden >> p.shift)
	for p.slots[at] != 0 && p.of[p.slots[at]-1] != pair {
		at = (at + 1) & (len(p.slots) - 1)
	}
	return at
}

// id returns the number of a pair; fresh says that it is new.
func (p *pairs) id(a, b int32) (id int32, fresh bool) {
	pair := uint64(uint32(a))<<32 | uint64(uint32(b))
	at := p.find(pair)
	if p.slots[at] != 0 {
		return p.slots[at] - 1, false
	}
	id = int32(len(p.of))
	p.of = append(p.of, pair)
	p.slots[at] = id + 1
	if len(p.of)*4 > len(p.slots)*3 {
		p.grow(64 - p.shift + 1)
	}
	return id, true
}
