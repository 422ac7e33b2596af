package weak

import (
	"context"
	"slices"
)

// checkEvery is how many transactions are looked at between two looks at a context.
const checkEvery = 1 << 12

// maxShown is how many violations are kept to choose one from.
const maxShown = 8

// inference finds the edges that an axiom forces.
type inference struct {
	h    *History
	a    Ask
	prev []int32 // by transaction: the one before it in its session, or -1
	// Edges from others into each transaction.
	head    []int32 // by transaction: place in entries, or -1
	entries []entry
	// stale are readers of the initial state of a key that had to see a write of it.
	stale      []stale
	staleCount int
}

// entry says that from comes before the transaction in whose list it is.
type entry struct{ from, next int32 }

type stale struct{ reader, writer, key int32 }

func newInference(h *History, a Ask) *inference {
	x := &inference{h: h, a: a, prev: make([]int32, h.Len()), head: make([]int32, h.Len())}
	last := make([]int32, h.sessions)
	for t, s := range h.session {
		x.prev[t], x.head[t] = -1, -1
		if s >= 0 && a.Sessions {
			x.prev[t] = last[s] - 1
			last[s] = int32(t) + 1
		}
	}
	return x
}

// add notes that w2 comes before w1, which is Initial perhaps, because reader saw
// w1's write of key and had to see w2's. Of the edges from one session only the
// latest says something new.
func (x *inference) add(w2, w1, reader, key int32) {
	h := x.h
	if w1 == Initial {
		x.staleCount++
		if len(x.stale) < maxShown {
			x.stale = append(x.stale, stale{reader, w2, key})
		}
		return
	}
	session := int32(-1)
	if x.a.Sessions {
		session = h.session[w2]
	}
	if w1 == w2 || session >= 0 && session == h.session[w1] && w2 < w1 {
		return
	}
	const far = 64 // longer lists are not looked through
	own := h.readsOf(w1)
	for _, r := range own[:min(len(own), far)] {
		if r.from == w2 {
			return // known already
		}
	}
	at := x.head[w1]
	for n := 0; at >= 0 && n < far; n++ {
		e := &x.entries[at]
		if e.from == w2 {
			return
		}
		if session >= 0 && h.session[e.from] == session {
			e.from = max(e.from, w2)
			return
		}
		at = e.next
	}
	x.entries = append(x.entries, entry{w2, x.head[w1]})
	x.head[w1] = int32(len(x.entries)) - 1
}

// Infer decides ReadCommitted, ReadAtomic or Causal. Clocks may take that many bytes,
// 0 for no limit. An answer that neither holds nor is broken comes from that limit or
// from ctx. A violation is of the weakest level of these that is broken.
func (h *History) Infer(ctx context.Context, a Ask, memory int64) Answer {
	h.seal()
	a.Realtime = false
	answer := h.infer(ctx, a, memory)
	if answer.Broken == nil {
		return answer
	}
	for weaker := ReadCommitted; weaker < answer.Broken.Level; weaker++ {
		if other := h.infer(ctx, Ask{Level: weaker, Sessions: a.Sessions}, memory); other.Broken != nil {
			return other
		}
	}
	return answer
}

func (h *History) infer(ctx context.Context, a Ask, memory int64) Answer {
	if h.Len() == 0 {
		return Answer{Holds: true}
	}
	x := newInference(h, a)
	order, acyclic := x.order(false)
	if !acyclic {
		return x.cyclic(order)
	}
	unfinished := ""
	switch a.Level {
	case ReadCommitted:
		x.committed(ctx)
	case ReadAtomic:
		x.atomic(ctx)
	default:
		unfinished = x.causal(ctx, order, memory)
	}
	if ctx.Err() != nil {
		return Answer{Unfinished: "ended early: " + context.Cause(ctx).Error()}
	}
	if x.staleCount > 0 {
		return x.staleRead()
	}
	if order, acyclic = x.order(true); !acyclic {
		return x.cyclic(order)
	}
	return Answer{Holds: unfinished == "", Unfinished: unfinished}
}

// before calls yield with every transaction that has an edge to t: the one before it
// in its session, those that it read from, and with all those that axioms force.
func (x *inference) before(t int32, all bool, yield func(int32)) {
	if p := x.prev[t]; p >= 0 {
		yield(p)
	}
	for _, r := range x.h.readsOf(t) {
		if r.from >= 0 {
			yield(r.from)
		}
	}
	if !all {
		return
	}
	for at := x.head[t]; at >= 0; at = x.entries[at].next {
		yield(x.entries[at].from)
	}
}

// order lines all transactions up by their edges. Where there is a cycle it returns
// those that come after none: everything that leads to a cycle is missing.
func (x *inference) order(all bool) (order []int32, acyclic bool) {
	n := x.h.Len()
	after := make([]int32, n) // how many edges go from it
	for t := range int32(n) {
		x.before(t, all, func(p int32) { after[p]++ })
	}
	order = make([]int32, 0, n)
	for t := int32(n) - 1; t >= 0; t-- {
		if after[t] == 0 {
			order = append(order, t)
		}
	}
	for i := 0; i < len(order); i++ {
		x.before(order[i], all, func(p int32) {
			if after[p]--; after[p] == 0 {
				order = append(order, p)
			}
		})
	}
	slices.Reverse(order)
	return order, len(order) == n
}

// committed adds what ReadCommitted forces: after a read from w2, a read of a key
// that w2 wrote as well must not see what w2 overwrote. Going backwards through the
// reads of a transaction, of each key only the nearest two writers count: for the
// nearest one's sake those read from later come after it.
func (x *inference) committed(ctx context.Context) {
	h := x.h
	type nearest struct{ first, second int32 }
	const none int32 = -2
	var (
		stamp = make([]int32, h.keys) // of the transaction that later is about, and 1
		later = make([]nearest, h.keys)
		keys  []int32                  // those that were read later
		met   = make([]int32, h.Len()) // by transaction: who read from it last, and 1
		opens []bool                   // by read: it is the first one from its writer
	)
	for r := range int32(h.Len()) {
		if r%checkEvery == 0 && ctx.Err() != nil {
			return
		}
		reads := h.readsOf(r)
		if len(reads) < 2 {
			continue
		}
		opens, keys = opens[:0], keys[:0]
		for _, rd := range reads {
			first := rd.from >= 0 && met[rd.from] != r+1
			if first {
				met[rd.from] = r + 1
			}
			opens = append(opens, first)
		}
		for i := len(reads) - 1; i >= 0; i-- {
			rd := reads[i]
			if opens[i] {
				h.common(rd.from, keys, func(key int32) {
					if stamp[key] != r+1 {
						return
					}
					if l := later[key]; l.first != rd.from {
						x.add(rd.from, l.first, r, key)
					} else if l.second != none {
						x.add(rd.from, l.second, r, key)
					}
				})
			}
			if stamp[rd.key] != r+1 {
				stamp[rd.key], later[rd.key] = r+1, nearest{rd.from, none}
				keys = append(keys, rd.key)
			} else if l := &later[rd.key]; l.first != rd.from {
				*l = nearest{rd.from, l.first}
			}
		}
	}
}

// common calls yield with keys that w wrote, all of those that are in keys among
// them: it goes through the shorter list of the two.
func (h *History) common(w int32, keys []int32, yield func(key int32)) {
	own := h.writesOf(w)
	if len(own) <= len(keys) {
		for _, key := range own {
			yield(key)
		}
		return
	}
	for _, key := range keys {
		if h.wrote(w, key) {
			yield(key)
		}
	}
}

// sight is what one transaction at a time read, and from whom.
type sight struct {
	x       *inference
	reader  int32
	stamp   []int32
	from    []int32 // by key, where stamp is the reader and 1
	keys    []int32
	met     []int32 // by transaction: who read from it last, and 1
	sources []int32
}

func newSight(x *inference) *sight {
	return &sight{x: x, stamp: make([]int32, x.h.keys), from: make([]int32, x.h.keys), met: make([]int32, x.h.Len())}
}

// look looks at the reads of r. If it read a key from two, each of them has to come
// before the other.
func (s *sight) look(r int32) {
	s.reader, s.keys, s.sources = r, s.keys[:0], s.sources[:0]
	for _, rd := range s.x.h.readsOf(r) {
		if s.stamp[rd.key] != r+1 {
			s.stamp[rd.key], s.from[rd.key] = r+1, rd.from
			s.keys = append(s.keys, rd.key)
		} else if one := s.from[rd.key]; one != rd.from {
			if one != Initial {
				s.x.add(one, rd.from, r, rd.key)
			}
			if rd.from != Initial {
				s.x.add(rd.from, one, r, rd.key)
			}
		}
		if rd.from >= 0 && s.met[rd.from] != r+1 {
			s.met[rd.from] = r + 1
			s.sources = append(s.sources, rd.from)
		}
	}
}

// of returns who the reader read a key from; ok is false when it did not read it.
func (s *sight) of(key int32) (from int32, ok bool) {
	return s.from[key], s.stamp[key] == s.reader+1
}

// atomic adds what ReadAtomic forces: who was read from was seen with all its writes,
// and so was what came before in the session.
func (x *inference) atomic(ctx context.Context) {
	h := x.h
	s := newSight(x)
	look := func(r int32) {
		s.look(r)
		for _, w2 := range s.sources {
			h.common(w2, s.keys, func(key int32) {
				if w1, ok := s.of(key); ok {
					x.add(w2, w1, r, key)
				}
			})
		}
	}
	for r, p := range x.prev {
		if r%checkEvery == 0 && ctx.Err() != nil {
			return
		}
		if p < 0 && (h.session[r] < 0 || !x.a.Sessions) {
			look(int32(r))
		}
	}
	if !x.a.Sessions {
		return
	}
	c := h.chains()
	stamp, last := make([]int32, h.keys), make([]int32, h.keys) // by key: who wrote it last in the session
	for session := range h.sessions {
		for i, r := range c.of(session) {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return
			}
			look(r)
			for _, key := range s.keys {
				if stamp[key] == session+1 {
					x.add(last[key], s.from[key], r, key)
				}
			}
			for _, key := range h.writesOf(r) {
				stamp[key], last[key] = session+1, r
			}
		}
	}
}
