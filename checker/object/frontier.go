package object

import (
	"math/bits"
	"slices"
)

// frontier is the breadth-first search (Lowe 2017, just-in-time linearization):
// after each event it holds every configuration that is possible, and a call is
// placed no sooner than when some call ends. Its memory does not grow with the
// history.
//
// A configuration is the object's state and two bits for each open call: taken,
// and spared. A spared call met a moment at which it fits and changes nothing. It
// owes nothing any more at its end, but may still be taken, for what it changes
// then: one configuration in place of two. What keeps configurations few:
//
//   - A pure call that fits is taken at once: moving it here harms nobody.
//   - Of equal calls only the first to end is tried, those in doubt last; where it
//     is spared also the first that is not, which then owes nothing either.
//   - A call that commutes with the ending one is not taken just before it, since
//     it can be taken after it as well; unless other calls fit in between.
//   - A configuration is dropped if another has the same state, took only calls
//     that it took as well, and owes no more: that one can do whatever it can. So
//     calls in doubt do not multiply.
type frontier struct {
	q       *problem
	open    pending
	now     *vecset // state, taken, spared
	then    *vecset
	nodes   *vecset // met in the search at one event
	from    []origin
	vec     []uint64
	out     []uint64
	stamps  []uint32
	stamp   uint32
	spared  bool // whether any configuration may have spared calls
	budget  *budget
	at      int
	peak    int
	buckets map[uint64][]int32
	met     chains // nodes by state
	order   []uint64
}

// origin is how a node was met: by a call that was taken in a state, and whether
// other calls fitted there that did not before.
type origin struct {
	call, state int32
	gained      bool
}

func newFrontier(q *problem, b *budget) *frontier {
	w := 1 + 2*q.words
	return &frontier{q: q, open: pending{q: q}, now: newVecset(w), then: newVecset(w), nodes: newVecset(w),
		vec: make([]uint64, w), out: make([]uint64, w), stamps: make([]uint32, len(q.ops)), budget: b,
		buckets: make(map[uint64][]int32)}
}

func (f *frontier) bytes() int64 {
	return f.now.bytes() + f.then.bytes() + f.nodes.bytes() + f.q.table.bytes() + int64(8*cap(f.from))
}

func (f *frontier) taken(v []uint64) []uint64   { return v[1 : 1+f.q.words] }
func (f *frontier) sparing(v []uint64) []uint64 { return v[1+f.q.words:] }

// run goes over all events. Where it is not linearizable, at is the event after
// which no configuration is left. done is false where a limit was met.
func (f *frontier) run() (linearizable, done bool) {
	f.now.add(f.vec) // state 0
	for f.at = 0; f.at < len(f.q.events); f.at++ {
		ev := f.q.events[f.at]
		if ev&1 == 0 {
			f.open.pass(ev)
			f.begin(int32(ev >> 1))
		} else {
			f.finish(int32(ev >> 1))
			f.open.pass(ev)
		}
		if f.budget.why != "" || f.q.table.wrong >= 0 || !f.budget.spend(1, f.bytes) {
			return false, false
		}
		if f.now.len() == 0 {
			return false, true
		}
		f.peak = max(f.peak, f.now.len())
	}
	return true, true
}

// begin lets call n begin. The set's table is not kept up: it is built anew at
// the next end.
func (f *frontier) begin(n int32) {
	class := f.q.class[n]
	if f.q.end[n] == never {
		return
	}
	t := f.q.table
	spare := f.q.spare != nil && f.q.spare[n]
	for i := range f.now.len() {
		v := f.now.at(i)
		if spare {
			f.q.put(f.sparing(v), n)
			f.spared = true
			continue
		}
		if !t.holds(int32(v[0]), class) {
			continue
		}
		if t.pure[class] {
			f.q.put(f.taken(v), n)
		} else {
			f.q.put(f.sparing(v), n)
			f.spared = true
		}
	}
	f.budget.spend(int64(f.now.len()), f.bytes)
}

// finish lets call x end: what does not have it taken must take it now.
func (f *frontier) finish(x int32) {
	all := true
	for i := range f.now.len() {
		if !f.q.has(f.taken(f.now.at(i)), x) {
			all = false
			break
		}
	}
	f.budget.spend(int64(f.now.len()), f.bytes)
	if all {
		for i := range f.now.len() {
			f.q.drop(f.taken(f.now.at(i)), x)
		}
		return
	}
	f.then.reset()
	f.nodes.reset()
	f.from = f.from[:0]
	f.met.reset()
	for i := range f.now.len() {
		v := f.now.at(i)
		f.meet(v, x, f.q.has(f.sparing(v), x), origin{-1, -1, false})
	}
	for i := 0; i < f.nodes.len(); i++ {
		f.expand(i, x)
		if f.budget.why != "" {
			return
		}
	}
	f.now, f.then = f.then, f.now
	if f.now.len() > 1 && (f.spared || len(f.open.doubt) > 0) {
		f.dominate()
	}
}

// meet looks at a configuration at the end of x: it goes on where x is taken, or
// has just been spared, and is searched further where x may have more to say.
func (f *frontier) meet(v []uint64, x int32, spared bool, from origin) {
	if f.q.has(f.taken(v), x) {
		f.settle(v, x)
		return
	}
	if spared {
		f.settle(v, x)
	}
	if len(f.open.doubt) > 0 && f.metBetter(v) {
		return
	}
	if f.nodes.add(v) {
		f.from = append(f.from, from)
		f.met.add(int32(v[0]))
	}
}

// metBetter reports whether a node was met that can do whatever v can. Nodes that
// took less come first, so without this every order of the calls in doubt would
// be walked through.
func (f *frontier) metBetter(v []uint64) bool {
	seen := 0
	for i := f.met.first(int32(v[0])); i >= 0 && seen < closest; i = f.met.next[i] {
		if f.covers(f.nodes.at(int(i)), v) {
			return true
		}
		seen++
	}
	f.budget.spend(int64(seen), f.bytes)
	return false
}

func (f *frontier) settle(v []uint64, x int32) {
	copy(f.out, v)
	f.q.drop(f.taken(f.out), x)
	f.q.drop(f.sparing(f.out), x)
	f.then.add(f.out)
}

// expand takes each call that can be taken in node i.
func (f *frontier) expand(i int, x int32) {
	state := int32(f.nodes.at(i)[0])
	f.stamp += 2
	spared, owed := f.stamp, f.stamp+1
	for _, n := range f.open.real {
		v, stamp := f.nodes.at(i), &f.stamps[f.q.class[n]]
		if *stamp == owed || f.q.has(f.taken(v), n) {
			continue
		}
		if !f.q.has(f.sparing(v), n) {
			*stamp = owed
		} else if *stamp == spared {
			continue
		} else {
			*stamp = spared
		}
		f.try(i, state, n, x)
	}
	for _, n := range f.open.doubt {
		if stamp := &f.stamps[f.q.class[n]]; *stamp < spared && !f.q.has(f.taken(f.nodes.at(i)), n) {
			*stamp = owed
			f.try(i, state, n, x)
		}
	}
}

func (f *frontier) try(i int, state, n, x int32) {
	class := f.q.class[n]
	if f.q.table.pure[class] {
		return // taken wherever it fits
	}
	f.budget.spend(1, f.bytes)
	next, all := f.q.table.next(state, class)
	switch {
	case next < 0:
	case all == nil:
		f.take(i, state, n, next, x)
	default:
		for _, next := range all {
			f.take(i, state, n, next, x)
		}
	}
}

// take takes call n in node i.
func (f *frontier) take(i int, state, n, next, x int32) {
	if next == state {
		return // a call that ends is spared here already, one in doubt has no reason
	}
	if n == x && f.needless(i, state) {
		return
	}
	copy(f.vec, f.nodes.at(i))
	sparedBefore := f.q.has(f.sparing(f.vec), x)
	f.vec[0] = uint64(next)
	f.q.put(f.taken(f.vec), n)
	f.q.drop(f.sparing(f.vec), n)
	t, gained := f.q.table, false
	for _, m := range f.open.real {
		class := f.q.class[m]
		if f.q.has(f.taken(f.vec), m) || f.q.has(f.sparing(f.vec), m) || !t.holds(next, class) {
			continue
		}
		gained = true
		if t.pure[class] {
			f.q.put(f.taken(f.vec), m)
		} else {
			f.q.put(f.sparing(f.vec), m)
			f.spared = true
		}
	}
	f.budget.spend(int64(len(f.open.real)), f.bytes)
	spared := !sparedBefore && f.q.has(f.sparing(f.vec), x)
	f.meet(f.vec, x, spared, origin{n, state, gained})
}

// needless reports whether the call that led to node i commutes there with x, so
// that it can be taken after x as well.
func (f *frontier) needless(i int, state int32) bool {
	from := f.from[i]
	if from.call < 0 || from.gained {
		return false
	}
	t, y, x := f.q.table, f.q.class[from.call], f.q.class[f.q.events[f.at]>>1]
	first, several := t.next(from.state, x)
	if first < 0 || several != nil {
		return false
	}
	after, several := t.next(first, y)
	if after < 0 || several != nil {
		return false
	}
	here, several := t.next(state, x)
	return several == nil && after == here
}

// closest bounds how many configurations of one state are compared with each.
const closest = 64

// dominate drops configurations that another makes needless.
func (f *frontier) dominate() {
	w := f.now.w
	clear(f.buckets)
	kept := f.then
	kept.reset()
	// Those that took the least come first, so that they meet what they dominate.
	for _, key := range f.byTaken() {
		v := f.now.at(int(uint32(key)))
		bucket := f.buckets[v[0]]
		dominated := false
		for k := max(0, len(bucket)-closest); k < len(bucket) && !dominated; k++ {
			dominated = f.covers(kept.at(int(bucket[k])), v)
		}
		f.budget.spend(int64(min(len(bucket), closest)), f.bytes)
		if dominated {
			continue
		}
		f.buckets[v[0]] = append(bucket, int32(len(kept.data)/w))
		kept.data = append(kept.data, v...)
	}
	f.now, f.then = kept, f.now
}

// byTaken returns the configurations in the order of how many calls they took,
// and of those the ones that owe least first.
func (f *frontier) byTaken() []uint64 {
	f.order = f.order[:0]
	for i := range f.now.len() {
		v := f.now.at(i)
		taken, spared := uint64(0), uint64(0)
		for k := range f.q.words {
			taken += uint64(bits.OnesCount64(f.taken(v)[k]))
			spared += uint64(bits.OnesCount64(f.sparing(v)[k]))
		}
		f.order = append(f.order, min(taken, 1<<16-1)<<48|(1<<16-1-min(spared, 1<<16-1))<<32|uint64(i))
	}
	slices.Sort(f.order)
	return f.order
}

// covers reports whether b can do whatever a can, both having the same state:
// what b took a took; what a took or spared, b did as well, or owes nothing for.
func (f *frontier) covers(b, a []uint64) bool {
	bt, at, bs, as := f.taken(b), f.taken(a), f.sparing(b), f.sparing(a)
	for i := range bt {
		if bt[i]&^at[i] != 0 || as[i]&^bt[i]&^bs[i] != 0 {
			return false
		}
	}
	for i := range bt {
		for owed := at[i] &^ bt[i] &^ bs[i]; owed != 0; owed &= owed - 1 {
			if !f.inDoubt(int32(64*i + bits.TrailingZeros64(owed))) {
				return false
			}
		}
	}
	return true
}

// inDoubt reports whether a slot is that of a call in doubt.
func (f *frontier) inDoubt(slot int32) bool {
	for _, n := range f.open.doubt {
		if f.q.slot[n] == slot {
			return true
		}
	}
	return false
}
