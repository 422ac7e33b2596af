package object

// depth is the depth-first search (Wing and Gong 1993, with Lowe's cache of
// 2017): it takes one open call after another, the first to end first, and
// returns to its last choice where none fits. A state of affairs is the place in
// the events, the object's state and a bit for each open call that was taken, so
// what it remembers takes memory for the calls open at once, not for all.
//
// Three things keep it from choices that cannot matter. A pure call that fits is
// taken at once and for good: moving it here from where it stood harms nobody.
// Of equal calls only the first to end is tried: exchange it with the other. A
// call in doubt is tried last, and only where it changes something.
type depth struct {
	q         *problem
	open      pending
	at        int // the next event
	state     int32
	taken     []uint64
	frames    []frame
	choices   []choice
	saved     []uint64 // taken of each frame
	seen      *vecset
	key       []uint64
	stamps    []uint32 // by class
	stamp     uint32
	budget    *budget
	furthest  int
	best      []taking // with keep: the longest order found, where it ended, and in what state
	bestAt    int
	bestState int32
	bestOpen  []int32 // calls that were open there, and not taken
	keep      bool    // and take nothing in secret
}

// frame is a place to return to.
type frame struct {
	at, state   int32
	first, next int32 // of its choices
	doubts      bool  // whether calls in doubt are among them
}

// choice is a call to take, and the state that it leads to.
type choice struct{ call, next int32 }

// taking is a call that was taken.
type taking struct{ call, state int32 }

func newDepth(q *problem, b *budget) *depth {
	return &depth{q: q, open: pending{q: q}, taken: make([]uint64, q.words), seen: newVecset(q.words + 1),
		key: make([]uint64, q.words+1), stamps: make([]uint32, len(q.ops)), budget: b}
}

func (d *depth) bytes() int64 {
	return d.seen.bytes() + d.q.table.bytes() + int64(20*cap(d.frames)+8*cap(d.choices)+8*cap(d.saved))
}

// run searches until an order is found, none is left, or it has made most steps,
// or stall of them without getting further. done says that it is decided.
func (d *depth) run(most, stall int64) (linearizable, done bool) {
	t := d.q.table
	d.takePure()
	d.advance()
	d.remember()
	d.push()
	last := d.budget.steps
	begin := last
	for {
		if d.at == len(d.q.events) {
			d.note()
			return true, true
		}
		if d.at > d.furthest {
			d.furthest = d.at
			last = d.budget.steps
		}
		if d.budget.steps-begin > most || d.budget.steps-last > stall || t.wrong >= 0 {
			return false, false
		}
		top := &d.frames[len(d.frames)-1]
		if int(top.next) == len(d.choices) && !top.doubts {
			top.doubts = true
			d.doubtful()
			top = &d.frames[len(d.frames)-1]
		}
		if !d.budget.spend(1, d.bytes) {
			return false, false
		}
		if int(top.next) == len(d.choices) {
			d.note()
			d.choices = d.choices[:top.first]
			d.frames = d.frames[:len(d.frames)-1]
			d.saved = d.saved[:len(d.saved)-d.q.words]
			if len(d.frames) == 0 {
				return false, true
			}
			d.restore()
			continue
		}
		c := d.choices[top.next]
		top.next++
		d.q.put(d.taken, c.call)
		d.state = c.next
		d.takePure()
		d.advance()
		if d.remember() {
			d.push()
		} else {
			d.restore()
		}
	}
}

// push makes the present a place to return to, and gathers its choices.
func (d *depth) push() {
	d.frames = append(d.frames, frame{at: int32(d.at), state: d.state, first: int32(len(d.choices)), next: int32(len(d.choices))})
	d.saved = append(d.saved, d.taken...)
	if d.at < len(d.q.events) {
		d.stamp++
		from := len(d.choices)
		d.gather(d.open.real, false)
		d.calmFirst(from)
	}
}

// restore returns to the last frame.
func (d *depth) restore() {
	f := &d.frames[len(d.frames)-1]
	for d.at > int(f.at) {
		d.at--
		d.open.back(d.q.events[d.at])
	}
	d.state = f.state
	copy(d.taken, d.saved[len(d.saved)-d.q.words:])
}

// doubtful adds the choices of calls in doubt to the last frame. Those of a class
// that an open call has wait for that one.
func (d *depth) doubtful() {
	d.stamp++
	for _, n := range d.open.real {
		if !d.q.has(d.taken, n) {
			d.stamps[d.q.class[n]] = d.stamp
		}
	}
	d.gather(d.open.doubt, true)
}

func (d *depth) gather(calls []int32, changes bool) {
	for _, n := range calls {
		class := d.q.class[n]
		if d.stamps[class] == d.stamp || d.q.has(d.taken, n) {
			continue
		}
		d.stamps[class] = d.stamp
		d.budget.spend(1, d.bytes)
		next, all := d.q.table.next(d.state, class)
		switch {
		case next < 0:
		case all == nil:
			if !changes || next != d.state {
				d.choices = append(d.choices, choice{n, next})
			}
		default:
			for _, next := range all {
				if !changes || next != d.state {
					d.choices = append(d.choices, choice{n, next})
				}
			}
		}
	}
}

// calmFirst moves the choices that change nothing to the front.
func (d *depth) calmFirst(from int) {
	to := from
	for i := from; i < len(d.choices); i++ {
		if c := d.choices[i]; c.next == d.state {
			copy(d.choices[to+1:i+1], d.choices[to:i])
			d.choices[to] = c
			to++
		}
	}
}

// takePure takes the pure calls that fit the state.
func (d *depth) takePure() {
	if d.keep {
		return
	}
	t := d.q.table
	for _, n := range d.open.real {
		if class := d.q.class[n]; t.pure[class] && !d.q.has(d.taken, n) {
			if next, _ := t.next(d.state, class); next == d.state {
				d.q.put(d.taken, n)
			}
		}
	}
}

// advance goes on to the first end of a call that was not taken.
func (d *depth) advance() {
	t := d.q.table
	for ; d.at < len(d.q.events); d.at++ {
		ev := d.q.events[d.at]
		n := int32(ev >> 1)
		if ev&1 == 1 {
			if !d.q.has(d.taken, n) {
				return
			}
			d.q.drop(d.taken, n)
		} else if class := d.q.class[n]; !d.keep && t.pure[class] && t.holds(d.state, class) {
			d.q.put(d.taken, n)
		}
		d.open.pass(ev)
	}
}

// remember reports whether the present is new.
func (d *depth) remember() bool {
	d.key[0] = uint64(d.at)<<32 | uint64(uint32(d.state))
	copy(d.key[1:], d.taken)
	return d.seen.add(d.key)
}

// note keeps the order so far if it is the longest.
func (d *depth) note() {
	if !d.keep || d.best != nil && d.at <= d.bestAt && !(d.at == d.bestAt && len(d.frames) > len(d.best)+1) {
		return
	}
	d.best = d.best[:0]
	for _, f := range d.frames[:len(d.frames)-1] {
		c := d.choices[f.next-1]
		d.best = append(d.best, taking{c.call, c.next})
	}
	d.bestAt, d.bestState = d.at, d.state
	d.bestOpen = d.bestOpen[:0]
	for _, calls := range [][]int32{d.open.real, d.open.doubt} {
		for _, n := range calls {
			if !d.q.has(d.taken, n) {
				d.bestOpen = append(d.bestOpen, n)
			}
		}
	}
}
