package object

import (
	"math/bits"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// collections keeps the results of reads of a whole collection, each as what
// differs from the one before it of the same key: reads of a set that grows take
// memory for the growth alone.
type collections struct {
	values *values
	all    []collection
	deltas []int32 // numbers of elements, the complement where one has gone
	last   map[int32]*lastRead
	stamps []uint32 // by number of an element
	stamp  uint32
}

// collection is one read.
type collection struct {
	key    int32
	before int32 // the read before it, or -1
	size   int32 // elements that differ
	from   int   // of its deltas
	to     int
	twice  int32 // an element that occurs twice, or 0
}

type lastRead struct {
	id    int32
	elems []int32
}

func newCollections(vs *values) *collections {
	return &collections{values: vs, last: make(map[int32]*lastRead)}
}

// mark gives an element the stamp and returns its old one.
func (c *collections) mark(elem int32, stamp uint32) (was uint32) {
	if int(elem) >= len(c.stamps) {
		c.stamps = append(c.stamps, make([]uint32, max(int(elem)+1-len(c.stamps), len(c.stamps), 256))...)
	}
	was, c.stamps[elem] = c.stamps[elem], stamp
	return was
}

func (c *collections) add(key int32, v history.View) int32 {
	last := c.last[key]
	if last == nil {
		last = &lastRead{id: -1}
		c.last[key] = last
	}
	old, now := c.stamp+1, c.stamp+2
	c.stamp += 2
	for _, elem := range last.elems {
		c.mark(elem, old)
	}
	bag := collection{key: key, before: last.id, from: len(c.deltas)}
	n := v.Len()
	elems := make([]int32, 0, n)
	for i, elem := 0, v.First(); i < n; i++ {
		id := c.values.number(elem)
		switch c.mark(id, now) {
		case now:
			bag.twice = id
		case old:
			elems = append(elems, id)
		default:
			elems = append(elems, id)
			c.deltas = append(c.deltas, id)
		}
		if i+1 < n {
			elem = elem.Next()
		}
	}
	for _, elem := range last.elems {
		if c.stamps[elem] == old {
			c.deltas = append(c.deltas, ^elem)
		}
	}
	bag.size, bag.to = int32(len(elems)), len(c.deltas)
	id := int32(len(c.all))
	c.all = append(c.all, bag)
	last.id, last.elems = id, elems
	return id
}

// elems returns the numbers of the elements of a read, in no order.
func (c *collections) elems(id int32) []int32 {
	var chain []int32
	for at := id; at >= 0; at = c.all[at].before {
		chain = append(chain, at)
	}
	in := make(map[int32]bool)
	for i := len(chain) - 1; i >= 0; i-- {
		bag := &c.all[chain[i]]
		for _, d := range c.deltas[bag.from:bag.to] {
			if d >= 0 {
				in[d] = true
			} else {
				delete(in, ^d)
			}
		}
	}
	elems := make([]int32, 0, len(in))
	for elem := range in {
		elems = append(elems, elem)
	}
	return elems
}

// value returns a read as a set; where an element occurs twice as a vector in
// which it does.
func (c *collections) value(id int32) history.Value {
	elems := c.elems(id)
	sortInts(elems)
	list := make([]history.Value, 0, len(elems)+1)
	for _, elem := range elems {
		list = append(list, c.values.value(elem))
	}
	if twice := c.all[id].twice; twice != 0 {
		return history.Vec(append(list, c.values.value(twice))...)
	}
	return history.SetOf(list...)
}

// run is an element in a row of reads of one key, and the least size of those.
type run struct{ elem, size int32 }

// runs returns the runs of elements in reads of one key. O(reads + deltas · log
// reads) where those are all the reads of the key; of some of them each read is a
// run of its own, which takes the size of them all.
func (c *collections) runs(key int32, reads []int32) []run {
	var chain []int32
	if last := c.last[key]; last != nil {
		for at := last.id; at >= 0; at = c.all[at].before {
			chain = append(chain, at)
		}
	}
	if len(reads) < len(chain) {
		var runs []run
		for _, id := range reads {
			for _, elem := range c.elems(id) {
				runs = append(runs, run{elem, c.all[id].size})
			}
		}
		return runs
	}
	slices.Reverse(chain)
	// least[k][i] is the least size of the 1<<k reads from i on.
	sizes := make([]int32, len(chain))
	for i, id := range chain {
		sizes[i] = c.all[id].size
	}
	least := [][]int32{sizes}
	for k := 1; 1<<k <= len(chain); k++ {
		row := make([]int32, len(chain)-1<<k+1)
		for i := range row {
			row[i] = min(least[k-1][i], least[k-1][i+1<<(k-1)])
		}
		least = append(least, row)
	}
	smallest := func(from, to int) int32 { // to is not included
		k := bits.Len(uint(to-from)) - 1
		return min(least[k][from], least[k][to-1<<k])
	}
	since := make(map[int32]int)
	var runs []run
	for i, id := range chain {
		bag := &c.all[id]
		for _, d := range c.deltas[bag.from:bag.to] {
			if d >= 0 {
				since[d] = i
			} else {
				runs = append(runs, run{^d, smallest(since[^d], i)})
				delete(since, ^d)
			}
		}
	}
	if last := c.last[key]; last != nil {
		for _, elem := range last.elems {
			runs = append(runs, run{elem, smallest(since[elem], len(chain))})
		}
	}
	return runs
}

// within reports whether the read a (as call.res) has nothing that b lacks.
func (c *collections) within(a, b int32) bool {
	has := make(map[int32]bool)
	for _, elem := range c.elems(-1 - b) {
		has[elem] = true
	}
	for _, elem := range c.elems(-1 - a) {
		if !has[elem] {
			return false
		}
	}
	return true
}
