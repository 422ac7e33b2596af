package txn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// store simulates a store of lists that transactions use at the same time, micro-op
// by micro-op, at one isolation level:
//
//	strict      all of a transaction at one instant
//	serial      the same, but who only reads may see an older state
//	snapshot    reads from a snapshot; who commits second of two that append to the same key fails
//	committed   reads what is committed when it reads; appends hold a lock on the key
//	uncommitted reads what anybody appended, and what fails is taken out again; appends hold a lock
type store struct {
	level string
	r     *rand.Rand
	keys  int

	lists   map[int][]int // committed; for uncommitted everything
	past    []map[int][]int
	changed map[int]int // key: number of the commit that last appended
	locks   map[int]*session
	next    map[int]int
	ops     []history.Op
}

type session struct {
	process  int64
	mops     []mop
	at       int // next micro-op; -1 when idle
	snapshot int
	appends  map[int][]int
	failed   bool
}

type mop struct {
	read bool
	key  int
	elem int
	list []int
	did  bool
}

// simulate returns a history of so many transactions by some processes. Some fail
// for no reason, and some crash before or after they committed.
func simulate(r *rand.Rand, level string, txns, processes, keys int) *history.History {
	s := &store{level: level, r: r, keys: keys, lists: map[int][]int{}, changed: map[int]int{}, locks: map[int]*session{}, next: map[int]int{}}
	s.past = append(s.past, map[int][]int{})
	sessions := make([]session, processes)
	for i := range sessions {
		sessions[i] = session{process: int64(i), at: -1}
	}
	fresh := int64(processes)
	for started := 0; ; {
		c := &sessions[r.IntN(processes)]
		switch {
		case c.at < 0 && started == txns:
			if !slices.ContainsFunc(sessions, func(s session) bool { return s.at >= 0 }) {
				return &history.History{Ops: s.ops}
			}
		case c.at < 0:
			started++
			s.begin(c)
		case c.at < len(c.mops) && !c.failed:
			s.step(c)
		case c.failed || r.IntN(30) == 0:
			s.end(c, false)
			s.log(history.Fail, c)
			c.at = -1
		default:
			crash := r.IntN(25) == 0
			ok := !crash || r.IntN(2) == 0
			ok = s.end(c, ok) && ok
			switch {
			case crash:
				s.log(history.Info, c)
				c.process, fresh = fresh, fresh+1
			case ok:
				s.log(history.OK, c)
			default:
				s.log(history.Fail, c)
			}
			c.at = -1
		}
	}
}

func (s *store) begin(c *session) {
	c.mops = nil
	for range 1 + s.r.IntN(4) {
		key := s.r.IntN(s.keys)
		m := mop{read: s.r.IntN(2) == 0, key: key}
		if !m.read {
			s.next[key]++
			m.elem = s.next[key]
		}
		c.mops = append(c.mops, m)
	}
	c.at, c.failed, c.appends = 0, false, map[int][]int{}
	c.snapshot = len(s.past) - 1
	if s.level == "serial" && !slices.ContainsFunc(c.mops, func(m mop) bool { return !m.read }) {
		c.snapshot = s.r.IntN(len(s.past))
	}
	s.log(history.Invoke, c)
}

func (s *store) step(c *session) {
	m := &c.mops[c.at]
	c.at++
	switch s.level {
	case "strict", "serial":
		return // all of it happens at the end
	case "snapshot":
		if m.read {
			m.list = slices.Concat(s.past[c.snapshot][m.key], c.appends[m.key])
		} else {
			c.appends[m.key] = append(c.appends[m.key], m.elem)
		}
	default:
		if m.read {
			m.list = slices.Clone(s.lists[m.key])
			if s.level == "committed" {
				m.list = append(m.list, c.appends[m.key]...)
			}
			m.did = true
			return
		}
		if holder := s.locks[m.key]; holder != nil && holder != c {
			c.failed = true
			return
		}
		s.locks[m.key] = c
		c.appends[m.key] = append(c.appends[m.key], m.elem)
		if s.level == "uncommitted" {
			s.lists[m.key] = append(s.lists[m.key], m.elem)
		}
	}
	m.did = true
}

// end commits or aborts, and reports which.
func (s *store) end(c *session, commit bool) bool {
	if s.level == "snapshot" {
		for key := range c.appends {
			commit = commit && s.changed[key] <= c.snapshot
		}
	}
	if commit && (s.level == "strict" || s.level == "serial") {
		onlyReads := !slices.ContainsFunc(c.mops, func(m mop) bool { return !m.read })
		for i := range c.mops {
			m := &c.mops[i]
			switch {
			case m.read && onlyReads && s.level == "serial":
				m.list = slices.Clone(s.past[c.snapshot][m.key])
			case m.read:
				m.list = slices.Concat(s.lists[m.key], c.appends[m.key])
			default:
				c.appends[m.key] = append(c.appends[m.key], m.elem)
			}
		}
	}
	for key, elems := range c.appends {
		if s.locks[key] == c {
			delete(s.locks, key)
		}
		switch {
		case s.level == "uncommitted" && !commit:
			s.lists[key] = slices.DeleteFunc(slices.Clone(s.lists[key]), func(e int) bool { return slices.Contains(elems, e) })
		case s.level != "uncommitted" && commit:
			s.lists[key] = slices.Concat(s.lists[key], elems)
			s.changed[key] = len(s.past)
		}
	}
	if commit && len(c.appends) > 0 {
		state := map[int][]int{}
		for key, list := range s.lists {
			state[key] = list
		}
		s.past = append(s.past, state)
	}
	return commit
}

func (s *store) log(kind history.Type, c *session) {
	var mops []history.Value
	for _, m := range c.mops {
		if !m.read {
			mops = append(mops, history.Vec(history.Keyword("append"), history.Int(int64(m.key)), history.Int(int64(m.elem))))
			continue
		}
		saw := history.Value{}
		if kind == history.OK {
			var elems []history.Value
			for _, e := range m.list {
				elems = append(elems, history.Int(int64(e)))
			}
			saw = history.Vec(elems...)
		}
		mops = append(mops, history.Vec(history.Keyword("r"), history.Int(int64(m.key)), saw))
	}
	s.ops = append(s.ops, history.Op{Index: int64(len(s.ops)), Time: int64(len(s.ops)), Type: kind,
		Process: history.Client(c.process), F: "txn", Value: history.Vec(mops...)})
}

// text is a history as EDN, for a test's message.
func text(h *history.History) string {
	var b strings.Builder
	for i := range h.Ops {
		fmt.Fprintln(&b, h.Ops[i].String())
	}
	return b.String()
}
