package weak

// conflict is what was found to contradict itself: added edges, and transactions
// besides those that show them.
type conflict struct {
	deps []int32
	txns []int32
}

// ways returns the two edges of which a rule needs one; the first one's start is -1
// where it cannot be.
func (s *search) ways(r rule) (from1, to1, from2, to2 int32) {
	if r.reader < 0 {
		return s.end[r.w1], s.begin[r.w2], s.end[r.w2], s.begin[r.w1]
	}
	if r.w1 < 0 {
		return -1, -1, s.begin[r.reader], s.end[r.w2]
	}
	return s.end[r.w2], s.end[r.w1], s.begin[r.reader], s.end[r.w2]
}

// kept reports whether the line keeps a rule as it is.
func (s *search) kept(r rule) bool {
	from1, to1, from2, to2 := s.ways(r)
	return from1 >= 0 && s.pos[from1] < s.pos[to1] || s.pos[from2] < s.pos[to2]
}

// mend makes the line keep a rule, by what is forced or else by a choice, and takes
// back what was chosen where that leads nowhere. It is false when nothing is left.
func (s *search) mend(r rule) bool {
	from1, to1, from2, to2 := s.ways(r)
	if from1 < 0 {
		if s.reach(to2, from2) {
			s.last.deps, s.last.txns = s.last.deps[:0], s.last.txns[:0]
			s.blame(from2, to2)
			s.party(r)
			return s.retreat()
		}
		s.link(added{from: from2, to: to2, rule: r, second: true})
		return true
	}
	// The way that agrees with the times is tried first, or that moves less.
	swap := s.pos[from2]-s.pos[to2] < s.pos[from1]-s.pos[to1]
	if likely1, likely2 := s.likely(from1, to1), s.likely(from2, to2); likely1 != likely2 {
		swap = likely2
	}
	if swap {
		from1, to1, from2, to2 = from2, to2, from1, to1
	}
	if s.reach(to2, from2) {
		s.last.deps, s.last.txns = s.last.deps[:0], s.last.txns[:0]
		s.blame(from2, to2)
		s.party(r)
		if s.reach(to1, from1) {
			s.blame(from1, to1)
			return s.retreat()
		}
		s.force(added{from: from1, to: to1, rule: r, second: swap})
		return true
	}
	if s.reach(to1, from1) {
		s.last.deps, s.last.txns = s.last.deps[:0], s.last.txns[:0]
		s.blame(from1, to1)
		s.party(r)
		s.reach(to2, from2) // what it leaves behind is needed
		s.force(added{from: from2, to: to2, rule: r, second: !swap})
		return true
	}
	s.link(added{from: from1, to: to1, rule: r, second: swap, chosen: true})
	return true
}

// likely reports whether times allow that one node comes before another.
func (s *search) likely(from, to int32) bool {
	return s.start[s.txn[from]] <= s.stop[s.txn[to]]
}

// blame adds to the last conflict the way that reach has just found, from to to from,
// which keeps the edge from from to to out.
func (s *search) blame(from, to int32) {
	for node := from; node != to; {
		if t := s.txn[node]; t >= 0 {
			s.last.txns = append(s.last.txns, t)
		}
		came := s.came[node]
		if came.edge >= 0 {
			s.last.deps = append(s.last.deps, came.edge)
		}
		node = came.node
	}
	if t := s.txn[to]; t >= 0 {
		s.last.txns = append(s.last.txns, t)
	}
}

// party adds those that a rule is about.
func (s *search) party(r rule) {
	for _, t := range [...]int32{r.w1, r.w2, r.reader} {
		if t >= 0 {
			s.last.txns = append(s.last.txns, t)
		}
	}
}

// force links an edge that follows from what the last conflict holds.
func (s *search) force(e added) {
	e.depsFrom, e.txnsFrom = int32(len(s.deps)), int32(len(s.txns))
	s.deps = append(s.deps, s.last.deps...)
	s.txns = append(s.txns, s.last.txns...)
	e.depsTo, e.txnsTo = int32(len(s.deps)), int32(len(s.txns))
	s.add(e)
}

// link links an edge that follows from its rule alone, or is chosen.
func (s *search) link(e added) {
	s.last.deps, s.last.txns = s.last.deps[:0], s.last.txns[:0]
	s.party(e.rule)
	s.force(e)
}

// retreat takes back the latest choice that the last conflict comes from and does
// the other thing; it is false when the conflict comes from none.
func (s *search) retreat() bool {
	for {
		choices, txns := s.roots()
		s.last = conflict{choices, txns}
		if len(choices) == 0 {
			return false
		}
		latest := choices[len(choices)-1]
		s.last.deps = choices[:len(choices)-1]
		e := s.added[latest]
		s.deps, s.txns = s.deps[:e.depsFrom], s.txns[:e.txnsFrom]
		s.take(latest)
		from1, to1, from2, to2 := s.ways(e.rule)
		if !e.second {
			from1, to1 = from2, to2
		}
		s.party(e.rule)
		if !s.reach(to1, from1) {
			s.force(added{from: from1, to: to1, rule: e.rule, second: !e.second})
			return true
		}
		s.blame(from1, to1)
	}
}

// roots follows the last conflict back: to the choices that it comes from, in the
// order in which they were made, and to all that take part.
func (s *search) roots() (choices, txns []int32) {
	s.round++
	for len(s.edges) < len(s.added) {
		s.edges = append(s.edges, 0)
	}
	party := func(all []int32) {
		for _, t := range all {
			if s.met[t] != s.round {
				s.met[t] = s.round
				txns = append(txns, t)
			}
		}
	}
	var stack []int32
	push := func(all []int32) {
		for _, e := range all {
			if s.edges[e] != s.round {
				s.edges[e] = s.round
				stack = append(stack, e)
			}
		}
	}
	party(s.last.txns)
	push(s.last.deps)
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		e := &s.added[id]
		party(s.txns[e.txnsFrom:e.txnsTo])
		s.steps += int64(e.txnsTo-e.txnsFrom) + 1
		if e.chosen {
			choices = append(choices, id)
		} else {
			push(s.deps[e.depsFrom:e.depsTo])
		}
	}
	sortInts(choices)
	return choices, txns
}

// core is who takes part in the last conflict.
func (s *search) core() []int32 { return s.last.txns }
