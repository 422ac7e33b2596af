package linear

import "math/bits"

// visit counts the last node, and drops it when it was there before.
func (f *frontier) visit() {
	f.steps++
	if f.seen.covered(&f.layout, &f.nodes) {
		f.nodes.pop()
	}
}

// settle lets happen what looks and may, and frees the writes of what is there.
func (f *frontier) settle(c []uint64) {
	w := f.words
	sets := f.masks[int(c[0])*setsPerValue*w:]
	used, free := c[1:1+w], c[1+w:1+2*w]
	for i := range used {
		used[i] |= sets[i] | f.misses[i]&^sets[inMisses*w+i]
		free[i] = (free[i] | sets[inWrites*w+i]) &^ used[i]
	}
}

// put makes the call in a slot happen in c, where it may.
func (f *frontier) put(c []uint64, slot int32) {
	call := &f.calls[f.slots[slot]]
	f.used(c)[slot>>6] |= 1 << (slot & 63)
	f.change(c, call.action, call.value)
}

// change sets the register.
func (f *frontier) change(c []uint64, a action, v int32) {
	if f.lastLook[v] < f.position {
		v = f.gone
	}
	c[0] = uint64(v)
	if a == write {
		free := f.free(c)
		for i := range free {
			free[i] |= f.writes[i]
		}
	}
	f.settle(c)
}

// fade forgets the value of c when the call that completes was the last to look
// at it.
func (f *frontier) fade(c []uint64, r completion) bool {
	if f.lastLook[c[0]] > f.calls[r.call].end || c[0] == uint64(f.gone) {
		return false
	}
	c[0] = uint64(f.gone)
	return true
}

// expand adds what node i leads to: to after, where the returning call has a
// place, and to nodes.
func (f *frontier) expand(i int, r completion) {
	x := &f.calls[r.call]
	word, bit := int(r.slot>>6), uint64(1)<<(r.slot&63)
	n := f.nodes.at(i) // stays as it is when nodes grows
	if f.used(n)[word]&bit != 0 {
		f.after.push(n)
		return
	}
	if f.free(n)[word]&bit != 0 {
		f.after.push(n)
	}
	if x.action == write || x.action == cas && n[0] == uint64(x.old) {
		f.put(f.after.push(n), r.slot)
	}
	f.wish(n)
	used := f.used(n)
	for w := range used {
		for m := f.writes[w] &^ used[w]; m != 0; m &= m - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(m))
			c := &f.calls[f.slots[slot]]
			if slot != r.slot && f.want[c.value] == f.stamp && f.first(f.set(uint64(c.value), inWrites), used, slot, c) {
				f.put(f.nodes.push(n), slot)
				f.visit()
			}
		}
	}
	cases := f.set(n[0], inCases)
	for w := range cases {
		for m := cases[w] &^ used[w]; m != 0; m &= m - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(m))
			if slot != r.slot && f.first(cases, used, slot, &f.calls[f.slots[slot]]) {
				f.put(f.nodes.push(n), slot)
				f.visit()
			}
		}
	}
	counts := f.counts(n)
	for _, at := range f.active {
		k := &f.classes[at]
		if f.want[k.value] != f.stamp || k.action == cas && n[0] != uint64(k.old) || !f.pools[k.pool].left(counts) || f.certain(k, used) {
			continue
		}
		c := f.nodes.push(n)
		p := &f.pools[k.pool]
		f.counts(c)[p.word] += 1 << p.shift
		f.change(c, k.action, k.value)
		f.visit()
	}
}

// first reports whether, of the calls in set that are not used and set the same
// value as c, the one in slot completes first.
func (f *frontier) first(set, used []uint64, slot int32, c *call) bool {
	for w := range set {
		for m := set[w] &^ used[w]; m != 0; m &= m - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(m))
			if d := &f.calls[f.slots[i]]; i != slot && d.value == c.value && d.end < c.end {
				return false
			}
		}
	}
	return true
}

// certain reports whether a call that will complete does the same as class k, and
// is not used.
func (f *frontier) certain(k *class, used []uint64) bool {
	set := f.set(uint64(k.value), inWrites)
	if k.action == cas {
		set = f.set(uint64(k.old), inCases)
	}
	for w := range set {
		for m := set[w] &^ used[w]; m != 0; m &= m - 1 {
			if k.action == write || f.calls[f.slots[w<<6+bits.TrailingZeros64(m)]].value == k.value {
				return true
			}
		}
	}
	return false
}

// wish stamps the values that somebody wants in n.
func (f *frontier) wish(n []uint64) {
	f.stamp++
	f.wanted = f.wanted[:0]
	used, free := f.used(n), f.free(n)
	here := int32(n[0])
	missing := f.set(n[0], inMisses)
	owing, elsewhere := false, false
	for w := range used {
		owing = owing || f.writes[w]&^used[w]&^free[w] != 0
		elsewhere = elsewhere || missing[w]&^used[w] != 0
	}
	if owing {
		f.wishFor(here) // to write what is there hides the others
	}
	for w := range used {
		looking := f.reads[w] | f.cases[w]
		if elsewhere {
			looking |= f.writes[w] // any value that can be had will do
		}
		for m := looking &^ used[w]; m != 0; m &= m - 1 {
			c := &f.calls[f.slots[w<<6+bits.TrailingZeros64(m)]]
			v := c.value
			if c.action == cas {
				v = c.old
			}
			if v != here {
				f.wishFor(v)
			}
		}
	}
	if len(f.active) == 0 {
		return
	}
	f.steps += int64(len(f.active) >> 3)
	if elsewhere {
		for _, k := range f.active {
			if v := f.classes[k].value; v != here {
				f.wishFor(v)
			}
		}
	}
	// A cas in doubt passes a wish on to what it expects.
	counts := f.counts(n)
	for at := 0; at < len(f.wanted); at++ {
		for _, k := range f.active {
			if c := &f.classes[k]; c.action == cas && c.value == f.wanted[at] && c.old != here && f.pools[c.pool].left(counts) {
				f.wishFor(c.old)
			}
		}
	}
}

func (f *frontier) wishFor(v int32) {
	if f.want[v] != f.stamp {
		f.want[v] = f.stamp
		f.wanted = append(f.wanted, v)
	}
}
