package object

// order is the longest order of a part's calls, and what stops it.
type order struct {
	q       *problem
	machine *machine // with the states that people know
	state   int32    // of machine, after it
	calls   []int32
	open    []int32 // numbers in q of the calls that were open then, and not taken
	stop    int32   // the call that ended without a place, -1 where there is none
	done    bool    // whether a longer one is impossible
}

// longest finds the longest order of p's calls, the longest that it met where b
// ends first.
func longest(p *part, b *budget) order {
	q := compile(p, nil)
	q.table.budget = b
	d := newDepth(q, b)
	d.keep = true
	_, done := d.run(b.most, b.most)
	o := order{q: q, machine: q.table.m, state: d.bestState, open: d.bestOpen, stop: -1, done: done}
	if p.r.spec.tailor != nil {
		// Go through it again with states that say more.
		o.machine, o.state = p.r.spec.machine(q.ops), 0
		var next []int32
		for _, t := range d.best {
			if next = o.machine.step(next[:0], o.state, q.class[t.call]); len(next) > 0 {
				o.state = next[0]
			}
		}
	}
	for _, t := range d.best {
		o.calls = append(o.calls, q.calls[t.call])
	}
	if d.bestAt < len(q.events) {
		o.stop = q.calls[q.events[d.bestAt]>>1]
	}
	return o
}

// blocked returns the open calls that cannot come next, and why.
func (o *order) blocked() []blocked {
	var out []blocked
	for _, n := range o.open {
		if class := o.q.class[n]; len(o.machine.step(nil, o.state, class)) == 0 {
			out = append(out, blocked{o.q.calls[n], o.machine.why(o.state, class)})
		}
	}
	return out
}
