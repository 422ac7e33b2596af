package linear

import "math/bits"

// class is all calls in doubt that do the same: it matters how many of them have
// happened, not which.
type class struct {
	action     action
	value, old int32
	word       int // where the counter stands
	shift      int
	mask       uint64
	invoked    uint64 // so far
}

// happened is how many of k have, in a configuration with these counters.
func (k *class) happened(counts []uint64) uint64 { return counts[k.word] >> k.shift & k.mask }

func (k *class) left(counts []uint64) bool { return k.happened(counts) < k.invoked }

// classify counts the classes of the calls in doubt, gives their counters places
// with a guard bit above each, and says of each call which class it is in.
func classify(calls []call) (classes []class, of map[int32]int32, guards []uint64) {
	type kind struct {
		action     action
		value, old int32
	}
	known := make(map[kind]int32)
	of = make(map[int32]int32)
	var most []uint64
	for i := range calls {
		c := &calls[i]
		if !c.crashed {
			continue
		}
		k := kind{c.action, c.value, c.old}
		n, ok := known[k]
		if !ok {
			n = int32(len(classes))
			known[k] = n
			classes = append(classes, class{action: c.action, value: c.value, old: c.old})
			most = append(most, 0)
		}
		of[int32(i)] = n
		most[n]++
	}
	room := 0
	for i := range classes {
		k := &classes[i]
		width := bits.Len64(most[i]) + 1
		if room < width {
			guards = append(guards, 0)
			room = 64
		}
		k.word, k.shift, k.mask = len(guards)-1, 64-room, 1<<(width-1)-1
		guards[k.word] |= 1 << (k.shift + width - 1)
		room -= width
	}
	return classes, of, guards
}
