package linear

// board is what turns moves on.
type board struct {
	calls  []call
	lines  [][]int32 // of each process, its calls that certainly happened
	doubts []doubtful
}

// doubtful is a call in doubt: it may happen when its process has done so many.
type doubtful struct {
	call, line, after int32
}

func (t *turns) board(all []call) *board {
	b := &board{calls: prune(all, t.values)}
	lineOf := make(map[int32]int32)
	for i := range b.calls {
		p := t.process[b.calls[i].begin]
		line, ok := lineOf[p]
		if !ok {
			line = int32(len(b.lines))
			lineOf[p] = line
			b.lines = append(b.lines, nil)
		}
		if b.calls[i].crashed {
			b.doubts = append(b.doubts, doubtful{int32(i), line, int32(len(b.lines[line]))})
		} else {
			b.lines[line] = append(b.lines[line], int32(i))
		}
	}
	return b
}

// settle does at once what only looks, and may, which never does harm. It reports
// whether nothing is left that must happen.
func (b *board) settle(now *position) (finished bool) {
	finished = true
	for line, list := range b.lines {
		for int(now.done[line]) < len(list) {
			c := &b.calls[list[now.done[line]]]
			if _, ok := c.step(now.state); !ok || c.sets() {
				finished = false
				break
			}
			now.done[line]++
		}
	}
	return finished
}

// moves lists what may come next. Last, and so tried first, is what sets a value
// that the next of some process waits for. A call in doubt comes only if somebody
// can look at once at what it sets: else what looks at it is not next, and the
// call may as well come later, or never. wanted has room for all values.
func (b *board) moves(now *position, wanted []bool) []move {
	clear(wanted)
	missing := false // somebody waits for any value but one
	for line, list := range b.lines {
		if n := int(now.done[line]); n < len(list) {
			c := &b.calls[list[n]]
			if v, ok := c.needs(); ok {
				wanted[v] = true
			}
			missing = missing || c.action == miss
		}
	}
	var first, later, doubts []move
	for line, list := range b.lines {
		if n := int(now.done[line]); n < len(list) {
			c := &b.calls[list[n]]
			if _, ok := c.step(now.state); !ok {
				continue
			}
			if wanted[c.value] {
				first = append(first, move{int32(line), -1})
			} else {
				later = append(later, move{int32(line), -1})
			}
		}
	}
	open := func(i int) bool { return !now.has(i) && now.done[b.doubts[i].line] >= b.doubts[i].after }
	for i, d := range b.doubts {
		if c := &b.calls[d.call]; c.action == cas && open(i) {
			wanted[c.old] = true
		}
	}
	for i, d := range b.doubts {
		c := &b.calls[d.call]
		if !missing && !wanted[c.value] || !open(i) {
			continue
		}
		if _, ok := c.step(now.state); ok {
			doubts = append(doubts, move{-1, int32(i)})
		}
	}
	return append(append(doubts, later...), first...)
}
