package weak

import "slices"

// largest is how many transactions the second procedures take.
const (
	largest      = 256 // for saturation
	largestTried = 12  // for all orders
)

// saturation adds, to the edges that are known between few transactions, every edge
// whose opposite would be a contradiction, until there is one or nothing is left to
// add. It keeps all pairs that are in order and shares no code with the search.
//
// The weak levels have one node for each transaction, and edges that their axioms
// force; the strong ones have two, its beginning and its end, which are the same for
// Serializable.
type saturation struct {
	h          *History
	a          Ask
	m          int32
	reach      [][]uint64 // by node: the nodes after it
	links      []link
	contradict bool
}

// link is an edge between nodes, with what shows it.
type link struct {
	from, to int32
	edge     Edge
	path     []int32 // nodes that a derived edge depends on, from the first to the last
}

func (s *saturation) begins(t int32) int32 { return 2 * t }

func (s *saturation) ends(t int32) int32 {
	if s.a.Level == Serializable || s.a.Level <= Causal {
		return 2 * t
	}
	return 2*t + 1
}

func (s *saturation) after(u, v int32) bool { return s.reach[u][v>>6]>>(v&63)&1 == 1 }

// add adds an edge, unless it is known.
func (s *saturation) add(u, v int32, e Edge, path []int32) bool {
	if u != v && s.after(u, v) {
		return false
	}
	s.links = append(s.links, link{u, v, e, path})
	if u == v || s.after(v, u) {
		s.contradict = true
		return true
	}
	for w := range 2 * s.m {
		if w != u && !s.after(w, u) {
			continue
		}
		s.reach[w][v>>6] |= 1 << (v & 63)
		for i, bits := range s.reach[v] {
			s.reach[w][i] |= bits
		}
	}
	return true
}

// way returns the nodes of a shortest way from u to v, both included.
func (s *saturation) way(u, v int32) []int32 {
	if u == v {
		return []int32{u}
	}
	came := make([]int32, 2*s.m)
	for i := range came {
		came[i] = -1
	}
	queue := []int32{u}
	for head := 0; head < len(queue) && came[v] < 0; head++ {
		for _, l := range s.links {
			if l.from == queue[head] && came[l.to] < 0 && l.to != u {
				came[l.to] = l.from
				queue = append(queue, l.to)
			}
		}
	}
	if came[v] < 0 {
		return nil
	}
	way := []int32{v}
	for at := v; at != u; {
		at = came[at]
		way = append(way, at)
	}
	slices.Reverse(way)
	return way
}

// saturate saturates the history.
func (h *History) saturate(a Ask) *saturation {
	s := &saturation{h: h, a: a, m: int32(h.Len())}
	s.reach = make([][]uint64, 2*s.m)
	words := (2*s.m + 63) / 64
	for i := range s.reach {
		s.reach[i] = make([]uint64, words)
	}
	s.known()
	for again := true; again && !s.contradict; {
		if a.Level <= Causal {
			again = s.weakRules()
		} else {
			again = s.strongRules()
		}
	}
	return s
}

// known adds what sessions, reads and time say.
func (s *saturation) known() {
	h := s.h
	for t := range s.m {
		if u, v := s.begins(t), s.ends(t); u != v {
			s.add(u, v, Edge{From: t, To: t}, nil)
		}
	}
	for t := range s.m {
		if s.a.Sessions || s.a.Realtime {
			for p := t - 1; p >= 0; p-- {
				if h.session[t] >= 0 && h.session[p] == h.session[t] {
					s.add(s.ends(p), s.begins(t), Edge{From: p, To: t, Why: Session}, nil)
					break
				}
			}
		}
		for _, rd := range h.readsOf(t) {
			if rd.from >= 0 && rd.from != t && h.wrote(rd.from, rd.key) {
				s.add(s.ends(rd.from), s.begins(t), Edge{From: rd.from, To: t, Why: WroteRead, Key: rd.key}, nil)
			}
		}
	}
	if !s.a.Realtime {
		return
	}
	for t := range s.m {
		for p := range s.m {
			if h.call[t] >= 0 && h.ret[p] < h.call[t] {
				s.add(s.ends(p), s.begins(t), Edge{From: p, To: t, Why: Realtime}, nil)
			}
		}
	}
}

// each calls yield for each read of a key from w1 (Initial perhaps), as number i of
// the reader's, and each other writer w2 of the key.
func (s *saturation) each(yield func(w1, w2, reader int32, i int, key int32)) {
	for r := range s.m {
		for i, rd := range s.h.readsOf(r) {
			if rd.from >= 0 && !s.h.wrote(rd.from, rd.key) {
				continue
			}
			for w2 := range s.m {
				if w2 != r && w2 != rd.from && s.h.wrote(w2, rd.key) && !s.contradict {
					yield(rd.from, w2, r, i, rd.key)
				}
			}
		}
	}
}

// weakRules applies the axiom of a weak level.
func (s *saturation) weakRules() (changed bool) {
	var causes [][]bool
	if s.a.Level == Causal {
		causes = s.causes()
	}
	s.each(func(w1, w2, r int32, i int, key int32) {
		saw := false
		switch s.a.Level {
		case ReadCommitted:
			for _, rd := range s.h.readsOf(r)[:i] {
				saw = saw || rd.from == w2
			}
		case ReadAtomic:
			for _, rd := range s.h.readsOf(r) {
				saw = saw || rd.from == w2
			}
			saw = saw || s.a.Sessions && s.h.session[r] >= 0 && s.h.session[w2] == s.h.session[r] && w2 < r
		default:
			saw = causes[w2][r]
		}
		switch {
		case !saw:
		case w1 == Initial:
			s.links = append(s.links, link{2 * r, 2 * w2, Edge{From: r, To: w2, Why: Overwrote, Key: key, Source: Initial}, nil})
			s.contradict, changed = true, true
		default:
			changed = s.add(2*w2, 2*w1, Edge{From: w2, To: w1, Why: Before, Key: key, Reader: r}, nil) || changed
		}
	})
	return changed
}

// causes is the order of sessions and reads alone.
func (s *saturation) causes() [][]bool {
	c := make([][]bool, s.m)
	for t := range c {
		c[t] = make([]bool, s.m)
	}
	for _, l := range s.links {
		if l.edge.Why == Session || l.edge.Why == WroteRead {
			c[l.edge.From][l.edge.To] = true
		}
	}
	for mid := range s.m {
		for u := range s.m {
			for v := range s.m {
				c[u][v] = c[u][v] || c[u][mid] && c[mid][v]
			}
		}
	}
	return c
}

// strongRules applies the rules of a strong level: of two edges one is needed, and
// where one would close a cycle it is the other.
func (s *saturation) strongRules() (changed bool) {
	s.each(func(w1, w2, r int32, _ int, key int32) {
		// The end of w2 comes before that of w1, or after the beginning of r.
		if w1 == Initial || s.after(s.ends(w1), s.ends(w2)) {
			e := Edge{From: r, To: w2, Why: Overwrote, Key: key, Source: w1}
			var path []int32
			if w1 != Initial {
				path = s.way(s.ends(w1), s.ends(w2))
			}
			changed = s.add(s.begins(r), s.ends(w2), e, path) || changed
		}
		if w1 != Initial && !s.contradict && s.after(s.ends(w2), s.begins(r)) {
			e := Edge{From: w2, To: w1, Why: Before, Key: key, Reader: r}
			changed = s.add(s.ends(w2), s.ends(w1), e, s.way(s.ends(w2), s.begins(r))) || changed
		}
	})
	if s.a.Level != SnapshotIsolation {
		return changed
	}
	for a := range s.m {
		for b := range s.m {
			// a's beginning comes before b's end, so b does not end before a begins.
			if a == b || s.contradict || !s.after(s.begins(a), s.ends(b)) {
				continue
			}
			for _, key := range s.h.writesOf(a) {
				if s.h.wrote(b, key) {
					e := Edge{From: a, To: b, Why: Before, Key: key, Reader: -1}
					changed = s.add(s.ends(a), s.begins(b), e, s.way(s.begins(a), s.ends(b))) || changed
					break
				}
			}
		}
	}
	return changed
}

// contradicts finds with a second procedure that a history breaks a level: by
// saturation, else, where there are few transactions, by trying all orders.
func (h *History) contradicts(a Ask) bool {
	if h.Len() > largest {
		return false
	}
	if h.readsTwice(a) || h.saturate(a).contradict {
		return true
	}
	return a.Level > Causal && h.Len() <= largestTried && !h.anyOrder(a)
}

// readsTwice reports whether a transaction read a key from two, which no level from
// ReadAtomic on has.
func (h *History) readsTwice(a Ask) bool {
	if a.Level == ReadCommitted {
		return false
	}
	for t := range int32(h.Len()) {
		from := make(map[int32]int32)
		for _, rd := range h.readsOf(t) {
			if one, again := from[rd.key]; again && one != rd.from {
				return true
			}
			from[rd.key] = rd.from
		}
	}
	return false
}

// anyOrder tries all orders of few transactions.
func (h *History) anyOrder(a Ask) bool {
	n := int32(h.Len())
	var (
		phase = make([]uint8, n)
		holds = make(map[int32]int32)
		dead  = make(map[string]bool)
	)
	fits := func(t int32, begins bool) bool {
		if begins {
			for p := range n {
				before := a.Realtime && h.call[t] >= 0 && h.ret[p] < h.call[t] ||
					(a.Sessions || a.Realtime) && h.session[t] >= 0 && h.session[p] == h.session[t] && p < t
				if before && phase[p] < 2 {
					return false
				}
				if a.Level == SnapshotIsolation && phase[p] == 1 {
					for _, key := range h.writesOf(t) {
						if h.wrote(p, key) {
							return false
						}
					}
				}
			}
			for _, rd := range h.readsOf(t) {
				if rd.from >= 0 && !h.wrote(rd.from, rd.key) {
					continue
				}
				if held, has := holds[rd.key]; has && held != rd.from || !has && rd.from != Initial {
					return false
				}
			}
		}
		return true
	}
	var try func(left int32) bool // at most 2·largestTried deep
	try = func(left int32) bool {
		if left == 0 {
			return true
		}
		key := stateKey(phase, holds)
		if dead[key] {
			return false
		}
		for t := range n {
			if phase[t] == 2 {
				continue
			}
			begins := phase[t] == 0
			if !fits(t, begins) {
				continue
			}
			ends := !begins || a.Level == Serializable || len(h.writesOf(t)) == 0
			before := phase[t]
			old := make(map[int32]int32)
			phase[t] = 1
			done := int32(0)
			if ends {
				phase[t], done = 2, 1
				for _, key := range h.writesOf(t) {
					if held, has := holds[key]; has {
						old[key] = held
					}
					holds[key] = t
				}
			}
			if try(left - done) {
				return true
			}
			phase[t] = before
			if ends {
				for _, key := range h.writesOf(t) {
					if held, has := old[key]; has {
						holds[key] = held
					} else {
						delete(holds, key)
					}
				}
			}
		}
		dead[key] = true
		return false
	}
	return try(n)
}

func stateKey(phase []uint8, holds map[int32]int32) string {
	key := slices.Clone(phase)
	keys := make([]int32, 0, len(holds))
	for k := range holds {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		key = append(key, byte(k), byte(k>>8), byte(k>>16), byte(k>>24), byte(holds[k]))
	}
	return string(key)
}
