package linear

import "math/bits"

// class is all calls in doubt that do the same: it matters how many of them have
// happened, not which.
type class struct {
	action     action
	value, old int32
	begun      bool // one of them has
	pool       int  // which counter is theirs
}

// pool counts calls in doubt.
type pool struct {
	word    int // where the counter stands
	shift   int
	mask    uint64
	invoked uint64 // how many there are so far
}

// happened is how many of p have, in a configuration with these counters.
func (p *pool) happened(counts []uint64) uint64 { return counts[p.word] >> p.shift & p.mask }

func (p *pool) left(counts []uint64) bool { return p.happened(counts) < p.invoked }

// classify finds the classes of the calls in doubt, and says of each call which
// class it is in. Each class has a pool of its own.
//
// When they are jokers, all have one pool together, and each is a write: a call in
// doubt may then write what any other one that has begun does. So much is possible
// then that what is not even then is not at all; and as there is one counter only,
// that is found out far sooner.
func classify(calls []call, jokers bool) (classes []class, of map[int32]int32, pools []pool, guards []uint64) {
	type kind struct {
		action     action
		value, old int32
	}
	known := make(map[kind]int32)
	of = make(map[int32]int32)
	var most []uint64 // calls of each pool
	for i := range calls {
		c := &calls[i]
		if !c.crashed {
			continue
		}
		k := kind{c.action, c.value, c.old}
		if jokers {
			k = kind{write, c.value, -1}
		}
		n, ok := known[k]
		if !ok {
			n = int32(len(classes))
			known[k] = n
			at := len(most)
			if jokers && at > 0 {
				at = 0
			} else {
				most = append(most, 0)
			}
			classes = append(classes, class{action: k.action, value: k.value, old: k.old, pool: at})
		}
		of[int32(i)] = n
		most[classes[n].pool]++
	}
	pools = make([]pool, len(most))
	room := 0
	for i := range pools {
		width := bits.Len64(most[i]) + 1
		if room < width {
			guards = append(guards, 0)
			room = 64
		}
		pools[i] = pool{word: len(guards) - 1, shift: 64 - room, mask: 1<<(width-1) - 1}
		guards[len(guards)-1] |= 1 << (64 - room + width - 1)
		room -= width
	}
	return classes, of, pools, guards
}
