package linear

import (
	"context"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// frontier walks the events of one register with the set of all configurations
// that the register may be in. Nothing is decided before it must be: a call
// happens when it completes, or when another one that completes needs it (Lowe,
// Testing for linearizability, 2017). A configuration covers many at once:
//
//   - Calls that look and leave the register as it is (reads, misses) happen as
//     soon as they can, which never does harm.
//   - A write under way is free once it can be hidden: another write happened
//     since it began, so it fits right before that one; or the register held its
//     value. What is free owes nothing when it completes, and may still happen
//     until then. Each call that is free is so for itself, so one configuration
//     stands for all choices among them.
//   - A write happens before another call completes only if somebody wants its
//     value: a read under way that has not seen it, a cas that expects it, a miss
//     that needs another value than there is. Any other write would be followed
//     by a write, so it can as well be hidden. One case remains: to write what is
//     there already hides other writes.
//   - Of calls that do the same the one that completes first happens first, and
//     those in doubt last, as the others can take their places. Of calls in doubt
//     only the number that happened is kept, for each class that does the same.
//   - Values that nobody will look at any more are all the same, and become one.
//   - A configuration that can do nothing that another one of the same state
//     cannot do is dropped (layout.dominates).
//
// Memory is that of the calls, of four sets of calls under way for each value,
// and of the configurations: not of the events gone by.
type frontier struct {
	layout
	calls   []call
	classes []class         // of calls in doubt
	classOf map[int32]int32 // by call
	// masks has for each value the sets of calls under way that read it, write it,
	// expect it (cas), and need another one (miss).
	masks                        []uint64
	reads, writes, cases, misses []uint64 // all that are under way

	// lastLook is where the last call ends that looks at a value.
	lastLook []uint32
	gone     int32  // stands for the values that nobody will look at any more
	position uint32 // where the last completion was

	next    int32        // the first call that has not begun
	returns []completion // calls under way that will complete, the first of them last
	slots   []int32      // call in each slot, -1 in those that are free
	active  []int32      // classes of which a call has begun

	now, nodes, after configs
	order             []int32
	seen              index
	want              []uint32 // stamp of each value that is wanted
	stamp             uint32
	wanted            []int32

	steps   int64
	memory  int64 // bytes that configurations may take
	full    bool  // they would have taken more
	limit   int64 // of steps
	ctx     context.Context
	dropped bool      // some configurations were left out: now is not complete any more
	cutAt   int32     // which call was next when the last ones were
	saved   *frontier // as it was before the first ones were
}

// completion is a completion to come.
type completion struct{ call, slot int32 }

// sets for each value
const (
	inReads = iota
	inWrites
	inCases
	inMisses
	setsPerValue
)

// begin makes a frontier of calls, which are in the order of their beginnings. A
// call that began before from owes nothing and may have happened or not: the
// frontier then stands for every way in which the history may have come there,
// when states are all that the register may have held. Values are numbers below
// values; that one stands for any value that no call looks at.
func begin(calls []call, values int, from uint32, states []int32, jokers bool, memory int64) *frontier {
	f := &frontier{calls: calls, memory: memory, gone: int32(values)}
	values++
	f.classes, f.classOf, f.pools, f.guards = classify(calls, jokers)
	most := overlapping(calls)
	f.words = max(1, (most+63)/64)
	f.slots = make([]int32, most)
	for i := range f.slots {
		f.slots[i] = -1
	}
	f.masks = make([]uint64, values*setsPerValue*f.words)
	all := make([]uint64, 4*f.words)
	f.reads, f.writes, f.cases, f.misses = all[:f.words], all[f.words:2*f.words], all[2*f.words:3*f.words], all[3*f.words:]
	f.want = make([]uint32, values)
	f.lastLook = make([]uint32, values)
	for i := range calls {
		c := &calls[i]
		if c.action == read {
			f.lastLook[c.value] = max(f.lastLook[c.value], c.end)
		} else if c.old >= 0 {
			f.lastLook[c.old] = max(f.lastLook[c.old], c.end)
		}
	}
	stride := f.stride()
	f.now.stride, f.nodes.stride, f.after.stride = stride, stride, stride
	for int(f.next) < len(calls) && calls[f.next].begin < from {
		f.invoke()
	}
	blank := make([]uint64, stride)
	for _, state := range states {
		c := f.now.push(blank)
		c[0] = uint64(state)
		for i := range f.words {
			f.used(c)[i] = f.reads[i] | f.misses[i]
			f.free(c)[i] = f.writes[i] | f.cases[i]
		}
	}
	return f
}

// frontierBytes is what a frontier takes for its values, and each place to go back
// to again.
func frontierBytes(calls []call, values int) int64 {
	return int64(values) * (8 + setsPerValue*8*int64((overlapping(calls)+63)/64))
}

// overlapping is the largest number of calls under way at once, without those in
// doubt.
func overlapping(calls []call) int {
	var ends []uint32 // of those under way, the earliest last
	most := 0
	for i := range calls {
		c := &calls[i]
		if c.crashed {
			continue
		}
		for len(ends) > 0 && ends[len(ends)-1] < c.begin {
			ends = ends[:len(ends)-1]
		}
		ends = append(ends, c.end)
		for j := len(ends) - 1; j > 0 && ends[j-1] < ends[j]; j-- {
			ends[j-1], ends[j] = ends[j], ends[j-1]
		}
		most = max(most, len(ends))
	}
	return most
}

// clone copies what changes.
func (f *frontier) clone() *frontier {
	g := *f
	g.classes, g.pools = slices.Clone(f.classes), slices.Clone(f.pools)
	g.masks = slices.Clone(f.masks)
	all := slices.Concat(f.reads, f.writes, f.cases, f.misses)
	g.reads, g.writes, g.cases, g.misses = all[:f.words], all[f.words:2*f.words], all[2*f.words:3*f.words], all[3*f.words:]
	g.returns, g.slots, g.active = slices.Clone(f.returns), slices.Clone(f.slots), slices.Clone(f.active)
	g.now.words = slices.Clone(f.now.words)
	g.nodes, g.after = configs{stride: f.now.stride}, configs{stride: f.now.stride}
	g.order, g.wanted, g.seen = nil, nil, index{}
	g.want, g.stamp = make([]uint32, len(f.want)), 0
	g.saved = nil
	return &g
}

// set is the set of that kind for a value.
func (f *frontier) set(v uint64, kind int) []uint64 {
	at := (int(v)*setsPerValue + kind) * f.words
	return f.masks[at : at+f.words : at+f.words]
}

// stop is why a walk ended.
type stop uint8

const (
	arrived stop = iota // all calls have a place
	stuck               // no configuration is left: a completion has no place
	spent               // the steps are used up
	paused              // the walk came to the call until which it was to go
	ended               // the context is
)

// walk goes on through the events with at most width configurations, until a
// completion has no place. At is its call then. It pauses when the call until is
// the next to begin.
func (f *frontier) walk(ctx context.Context, width int, until int32, steps int64) (why stop, at int32) {
	steps += f.steps
	f.limit, f.ctx = steps, ctx
	check := f.steps + checker.CheckEvery
	for {
		if f.steps >= check {
			if ctx.Err() != nil {
				return ended, 0
			}
			check = f.steps + checker.CheckEvery
		}
		if f.steps > steps {
			return spent, 0
		}
		if n := len(f.returns); n > 0 {
			first := f.returns[n-1]
			if int(f.next) == len(f.calls) || f.calls[first.call].end < f.calls[f.next].begin {
				f.returned(first, width)
				if f.steps > steps {
					return spent, 0
				}
				if len(f.now.words) == 0 {
					return stuck, first.call
				}
				continue
			}
		} else if int(f.next) == len(f.calls) {
			return arrived, 0
		}
		if f.next == until {
			return paused, 0
		}
		f.invoke()
	}
}

// invoke lets the next call begin.
func (f *frontier) invoke() {
	i := f.next
	c := &f.calls[i]
	f.next++
	f.steps++
	if c.crashed {
		k := &f.classes[f.classOf[i]]
		if !k.begun {
			k.begun = true
			f.active = append(f.active, f.classOf[i])
		}
		f.pools[k.pool].invoked++
		return
	}
	slot := int32(slices.Index(f.slots, -1))
	f.slots[slot] = i
	f.returns = append(f.returns, completion{i, slot})
	for j := len(f.returns) - 1; j > 0 && f.calls[f.returns[j-1].call].end < c.end; j-- {
		f.returns[j-1], f.returns[j] = f.returns[j], f.returns[j-1]
	}
	word, bit := int(slot>>6), uint64(1)<<(slot&63)
	all, kind, v := f.reads, inReads, c.value
	switch c.action {
	case write:
		all, kind = f.writes, inWrites
	case cas:
		all, kind, v = f.cases, inCases, c.old
	case miss:
		all, kind, v = f.misses, inMisses, c.old
	}
	all[word] |= bit
	f.set(uint64(v), kind)[word] |= bit
	for i := range f.now.len() {
		switch now := f.now.at(i); {
		case c.action == read && now[0] == uint64(c.value), c.action == miss && now[0] != uint64(c.old):
			f.used(now)[word] |= bit
		case c.action == write && now[0] == uint64(c.value):
			f.free(now)[word] |= bit
		}
	}
}

// forget takes a call that completed out of all sets but those of now.
func (f *frontier) forget(r completion) {
	c := &f.calls[r.call]
	word, bit := int(r.slot>>6), uint64(1)<<(r.slot&63)
	f.slots[r.slot] = -1
	f.reads[word] &^= bit
	f.writes[word] &^= bit
	f.cases[word] &^= bit
	f.misses[word] &^= bit
	for kind := range setsPerValue {
		if c.value >= 0 {
			f.set(uint64(c.value), kind)[word] &^= bit
		}
		if c.old >= 0 {
			f.set(uint64(c.old), kind)[word] &^= bit
		}
	}
}

// returned lets a call complete: of each configuration those remain that it can
// lead to in which the call has happened, or owes nothing.
func (f *frontier) returned(r completion, width int) {
	f.steps++
	word, bit := int(r.slot>>6), uint64(1)<<(r.slot&63)
	f.position = f.calls[r.call].end
	all := true
	for i := range f.now.len() {
		all = all && f.used(f.now.at(i))[word]&bit != 0
	}
	if all {
		// The usual case: it happened already, everywhere.
		f.returns = f.returns[:len(f.returns)-1]
		gone := false
		for i := range f.now.len() {
			c := f.now.at(i)
			f.used(c)[word] &^= bit
			gone = f.fade(c, r) || gone
		}
		if gone {
			f.order, _ = f.reduce(&f.now, f.order)
		}
		f.forget(r)
		return
	}
	f.steps += int64(f.now.len())
	f.nodes.words, f.after.words = f.nodes.words[:0], f.after.words[:0]
	f.seen.reset()
	cut := false
	for i := range f.now.len() {
		f.nodes.push(f.now.at(i))
		f.visit()
	}
	for i := 0; i < f.nodes.len(); i++ {
		if 8*int64(len(f.nodes.words)+len(f.after.words)) > f.memory {
			cut, f.full = true, true
			break
		}
		if i&255 == 255 && (f.steps > f.limit || f.ctx.Err() != nil) {
			cut = true // walk says so
			break
		}
		if i >= 8*width+64 || f.after.len() >= 4*width+16 {
			cut = true
			break
		}
		f.expand(i, r)
	}
	// What can come after, each once.
	f.seen.reset()
	last := f.after.len()
	f.nodes.words = f.nodes.words[:0]
	f.nodes, f.after = f.after, f.nodes
	for i := range last {
		c := f.after.push(f.nodes.at(i))
		f.used(c)[word] &^= bit
		f.free(c)[word] &^= bit
		f.fade(c, r)
		if f.seen.covered(&f.layout, &f.after) {
			f.after.pop()
		}
	}
	var steps int64
	f.order, steps = f.reduce(&f.after, f.order)
	f.steps += steps + int64(last)
	cut = cut || f.after.len() > width
	if cut && !f.dropped {
		f.saved = f.clone()
		f.dropped = true
	}
	if cut {
		f.cutAt = f.next
	}
	if n := f.after.len(); n > width {
		f.order = f.narrow(&f.after, f.order, width)
		f.steps += int64(n)
	}
	f.returns = f.returns[:len(f.returns)-1]
	f.forget(r)
	f.now, f.after = f.after, f.now
}
