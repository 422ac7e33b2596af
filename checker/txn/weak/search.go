package weak

import (
	"context"
	"fmt"
)

// search looks for a line of transactions that keeps a level's rules. A transaction is
// one node where it happens at once (Serializable, or it only reads), else it has a
// node at which it begins, where it reads, and one at which it ends, where it
// writes. Real time has nodes of its own: from a transaction to the first barrier
// after its end, from each barrier to the next, and from the last one before its
// beginning to a transaction.
type search struct {
	h *History
	a Ask
	line
	limit int64 // steps

	begin, end  []int32 // by transaction: its nodes
	start, stop []int32 // by transaction: about when it took place
	txn         []int32 // by node, -1 for barriers
	// Versions are the places in h.writes, then, for each key, its initial state.
	readEnd []uint32 // by transaction
	saw     []int32  // versions that it read, each key once
	owner   []int32  // by version: who wrote it, or Initial

	deps  []int32 // edges that were added because others were there
	txns  []int32
	met   []uint32 // by transaction: marks of the last conflict
	edges []uint32 // by added edge: the same
	round uint32
	last  conflict
	twice *rule // somebody read a key from two
}

// rule says what the line must not have: the write of w2 between that of w1 and
// its reader, so that w2 comes before w1 or the reader before w2. Without a
// reader: w1 and w2 both wrote the key and must not overlap.
type rule struct{ w1, w2, reader, key int32 }

// Search decides Prefix, SnapshotIsolation or Serializable in so many steps, each
// about the time of a look at one edge; 0 is enough for most histories. An answer
// that neither holds nor is broken comes from that limit or from ctx.
func (h *History) Search(ctx context.Context, a Ask, work int64) Answer {
	h.seal()
	if work <= 0 {
		const each, least = 400, 50_000_000
		work = least + each*int64(h.Len()+len(h.reads)+len(h.writes))
	}
	// Orders mostly count though nobody promised it, and most stores keep more than they
	// are asked for. What holds with more holds.
	attempts := []Ask{{a.Level, true, a.Realtime || h.timed()}}
	if a.Level == SnapshotIsolation {
		attempts = append(attempts, Ask{Serializable, a.Sessions, a.Realtime})
	}
	var answer Answer
	left := work
	for _, more := range append(attempts, a) {
		share := left
		if more != a {
			share = left / 2
		}
		s := newSearch(h, more, share)
		answer = s.run(ctx)
		left -= s.steps
		if answer.Holds || more == a || ctx.Err() != nil {
			break
		}
	}
	answer.Steps = work - left
	v := answer.Broken
	if v == nil {
		return answer
	}
	answer.Count = 1
	if !h.explain(ctx, v, work) {
		answer.Unfinished = fmt.Sprintf("%d transactions seem to break %s, but that could not be verified", len(v.Core), a.Level)
		answer.Broken = nil
		return answer
	}
	if v.Level == ReadAtomic || v.Level == Causal {
		// Something even weaker may be broken elsewhere.
		const clocks = 1 << 30
		if all := h.Infer(ctx, v.Ask, clocks); all.Broken != nil {
			answer.Broken, answer.Count = all.Broken, all.Count
		}
	}
	return answer
}

func newSearch(h *History, a Ask, limit int64) *search {
	s := &search{h: h, a: a, limit: limit}
	s.read()
	s.nodes()
	return s
}

// read finds the version that each read saw.
func (s *search) read() {
	h := s.h
	n, w := h.Len(), len(h.writes)
	s.readEnd = make([]uint32, n)
	s.saw = make([]int32, 0, len(h.reads))
	s.owner = make([]int32, w+int(h.keys))
	for key := range h.keys {
		s.owner[w+int(key)] = Initial
	}
	stamp, from := make([]int32, h.keys), make([]int32, h.keys)
	for t := range int32(n) {
		for slot := h.firstWrite(t); slot < h.writeEnd[t]; slot++ {
			s.owner[slot] = t
		}
		for _, rd := range h.readsOf(t) {
			if stamp[rd.key] == t+1 {
				if from[rd.key] != rd.from && s.twice == nil {
					s.twice = &rule{from[rd.key], rd.from, t, rd.key}
				}
				continue
			}
			stamp[rd.key], from[rd.key] = t+1, rd.from
			version := int32(w) + rd.key
			if rd.from >= 0 {
				if version = h.slot(rd.from, rd.key); version < 0 {
					continue // nobody wrote that: not ours to judge
				}
			}
			s.saw = append(s.saw, version)
		}
		s.readEnd[t] = uint32(len(s.saw))
	}
}

// readBy returns the versions that a transaction read.
func (s *search) readBy(t int32) []int32 {
	from := uint32(0)
	if t > 0 {
		from = s.readEnd[t-1]
	}
	return s.saw[from:s.readEnd[t]]
}

func (s *search) keyOf(version int32) int32 {
	if w := int32(len(s.h.writes)); version >= w {
		return version - w
	}
	return s.h.writes[version]
}

func (s *search) initial(key int32) int32 { return int32(len(s.h.writes)) + key }

// nodes makes the nodes and the edges that are known.
func (s *search) nodes() {
	h := s.h
	n := int32(h.Len())
	s.begin, s.end = make([]int32, n), make([]int32, n)
	nodes := int32(0)
	for t := range n {
		s.begin[t] = nodes
		if s.a.Level != Serializable && len(h.writesOf(t)) > 0 {
			nodes++
		}
		s.end[t] = nodes
		nodes++
	}
	var b barriers
	if s.a.Realtime {
		b = h.barriers()
	}
	s.txn = make([]int32, nodes+b.count)
	for i := range s.txn {
		s.txn[i] = -1
	}
	for t := range n {
		s.txn[s.begin[t]], s.txn[s.end[t]] = t, t
	}
	chains := h.chains()
	s.fix(len(s.txn), func(edge func(from, to int32)) {
		for t := range n {
			if s.begin[t] != s.end[t] {
				edge(s.begin[t], s.end[t])
			}
			for _, v := range s.readBy(t) {
				if w := s.owner[v]; w >= 0 && w != t {
					edge(s.end[w], s.begin[t])
				}
			}
		}
		if s.a.Sessions || s.a.Realtime {
			for session := range h.sessions {
				own := chains.of(session)
				for i := 1; i < len(own); i++ {
					edge(s.end[own[i-1]], s.begin[own[i]])
				}
			}
		}
		for i := range b.count {
			if i > 0 {
				edge(nodes+i-1, nodes+i)
			}
		}
		for t := range n {
			if !s.a.Realtime {
				break
			}
			if at := b.after[t]; at >= 0 {
				edge(s.end[t], nodes+at)
			}
			if at := b.before[t]; at >= 0 {
				edge(nodes+at, s.begin[t])
			}
		}
	})
}

// run searches.
func (s *search) run(ctx context.Context) Answer {
	if s.twice != nil {
		r := s.twice
		core := []int32{r.reader}
		for _, w := range []int32{r.w1, r.w2} {
			if w >= 0 {
				core = append(core, w)
			}
		}
		return Answer{Broken: s.violation(core)}
	}
	order, acyclic := s.first(ctx)
	if acyclic && !s.a.Realtime && s.h.timed() {
		order = s.inTime(ctx, order)
	}
	if ctx.Err() != nil {
		return s.unfinished(ctx, 0)
	}
	if !acyclic {
		return Answer{Broken: s.violation(s.loop(order))}
	}
	s.ready(order)
	s.met = make([]uint32, s.h.Len())
	w := newWalk(s)
	for steps := 0; ; steps++ {
		r, broken := w.on()
		if !broken {
			if err := s.h.verify(s.a, s.order()); err != nil {
				return Answer{Unfinished: "a line was found that does not hold: " + err.Error()}
			}
			return Answer{Holds: true}
		}
		if steps&0xff == 0 && ctx.Err() != nil || s.steps > s.limit {
			return s.unfinished(ctx, w.open())
		}
		s.lowest = int32(w.at)
		if !s.mend(r) {
			return Answer{Broken: s.violation(s.core())}
		}
		w.backTo(int(s.lowest))
	}
}

// timed reports whether times are known.
func (h *History) timed() bool {
	for t, call := range h.call {
		if call >= 0 || h.ret[t] != Never {
			return true
		}
	}
	return false
}

// inTime lines nodes up as if time counted, which it mostly does; where it cannot,
// order stays.
func (s *search) inTime(ctx context.Context, order []int32) []int32 {
	timely := newSearch(s.h, Ask{s.a.Level, true, true}, s.limit)
	all, acyclic := timely.first(ctx)
	if !acyclic || ctx.Err() != nil {
		return order
	}
	s.start, s.stop = timely.start, timely.stop
	order = order[:0]
	for _, node := range all {
		if timely.txn[node] >= 0 {
			order = append(order, node)
		}
	}
	return order
}

func (s *search) violation(core []int32) *Violation {
	sortInts(core)
	return &Violation{Ask: s.a, Name: s.a.Name(), Core: core}
}

func (s *search) unfinished(ctx context.Context, open int) Answer {
	a := Answer{Open: open}
	if ctx.Err() != nil {
		a.Unfinished = "ended early: " + context.Cause(ctx).Error()
		return a
	}
	a.Unfinished = fmt.Sprintf("work limit of %d steps reached with the order of %d pairs of transactions open", s.limit, open)
	return a
}

// order is the line without barriers: transactions by the places at which they begin
// and end, each of which is one place where both are the same.
func (s *search) order() []int32 {
	var order []int32
	for _, node := range s.at {
		if t := s.txn[node]; t >= 0 {
			order = append(order, t)
		}
	}
	return order
}
