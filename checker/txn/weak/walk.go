package weak

// walk goes along a line from its start, and keeps what the store holds there, so that
// it can go back as well.
type walk struct {
	s    *search
	at   int     // nodes before this place keep all rules
	cur  []int32 // by key: its version
	busy []int32 // by key: who began and will write it, or -1
	log  []was   // what changed on the way
	upto []int32 // by place: how much of log is from before it
}

// was says what cur, or busy, was of a key before it changed.
type was struct {
	key, old int32
	busy     bool
}

func newWalk(s *search) *walk {
	w := &walk{s: s, cur: make([]int32, s.h.keys), busy: make([]int32, s.h.keys), upto: make([]int32, len(s.at))}
	for key := range s.h.keys {
		w.cur[key], w.busy[key] = s.initial(key), -1
	}
	return w
}

// on goes on to the first node that breaks a rule, and returns that one.
func (w *walk) on() (r rule, broken bool) {
	for ; w.at < len(w.s.at); w.at++ {
		node := w.s.at[w.at]
		if r, broken = w.breaks(node); broken {
			return r, true
		}
		w.pass(node)
	}
	return rule{}, false
}

// open counts the nodes from here on that break a rule; w is of no use after that.
func (w *walk) open() (n int) {
	for ; w.at < len(w.s.at); w.at++ {
		node := w.s.at[w.at]
		if _, broken := w.breaks(node); broken {
			n++
		}
		w.pass(node)
	}
	return n
}

// breaks finds a rule that a node breaks where it stands.
func (w *walk) breaks(node int32) (r rule, broken bool) {
	s := w.s
	s.steps++
	t := s.txn[node]
	if t < 0 || node != s.begin[t] {
		return rule{}, false
	}
	for _, v := range s.readBy(t) {
		key := s.keyOf(v)
		s.steps++
		if w.cur[key] == v {
			continue
		}
		if w2 := s.owner[w.cur[key]]; w2 >= 0 {
			return rule{s.owner[v], w2, t, key}, true
		}
	}
	if node == s.end[t] || s.a.Level != SnapshotIsolation {
		return rule{}, false
	}
	for _, key := range s.h.writesOf(t) {
		if other := w.busy[key]; other >= 0 {
			return rule{other, t, -1, key}, true
		}
	}
	return rule{}, false
}

// pass goes past a node.
func (w *walk) pass(node int32) {
	s := w.s
	w.upto[w.at] = int32(len(w.log))
	t := s.txn[node]
	if t < 0 {
		return
	}
	if node != s.end[t] {
		for _, key := range s.h.writesOf(t) {
			w.log = append(w.log, was{key, w.busy[key], true})
			w.busy[key] = t
		}
		return
	}
	for slot := s.h.firstWrite(t); slot < s.h.writeEnd[t]; slot++ {
		key := s.h.writes[slot]
		s.steps++
		w.log = append(w.log, was{key, w.cur[key], false})
		w.cur[key] = int32(slot)
		if w.busy[key] == t {
			w.log = append(w.log, was{key, t, true})
			w.busy[key] = -1
		}
	}
}

// backTo goes back to a place, if it is further on.
func (w *walk) backTo(at int) {
	if at >= w.at {
		return
	}
	for i := len(w.log) - 1; i >= int(w.upto[at]); i-- {
		if l := w.log[i]; l.busy {
			w.busy[l.key] = l.old
		} else {
			w.cur[l.key] = l.old
		}
	}
	w.log = w.log[:w.upto[at]]
	w.at = at
}
