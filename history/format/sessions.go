package format

import (
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// sessions is a history of transactions that were done in sessions, without real
// time. All of it is in memory, in some 24 bytes for each read and write.
//
// A transaction is one op without an invocation, by the session as its client;
// one that was aborted is a failed op. A read of 0 that no transaction wrote saw
// the initial state where zeroIsInitial says so: it becomes a read of nil.
type sessions struct {
	zeroIsInitial bool
	txns          []sessionTxn
	events        []sessionEvent
	names         []history.Value // of keys, where they are more than numbers
	zeros         map[int64]bool  // keys to which a transaction wrote 0
	found         *history.CutError
}

type sessionTxn struct {
	session  int64
	from, to int // in events
	aborted  bool
}

type sessionEvent struct {
	key, value int64
	kind       eventKind
}

type eventKind uint8

const (
	readEvent eventKind = iota
	writeEvent
	nilRead // of the initial state, without a doubt
)

func (e *sessionEvent) writes() bool { return e.kind == writeEvent }

// add puts a transaction at the end.
func (s *sessions) add(session int64, aborted bool, events ...sessionEvent) {
	from := len(s.events)
	s.events = append(s.events, events...)
	s.txns = append(s.txns, sessionTxn{session, from, len(s.events), aborted})
}

// finish is to be called when all transactions are there.
func (s *sessions) finish() {
	s.zeros = make(map[int64]bool)
	for i := range s.txns {
		if s.txns[i].aborted {
			continue
		}
		for _, e := range s.events[s.txns[i].from:s.txns[i].to] {
			if e.writes() && e.value == 0 {
				s.zeros[e.key] = true
			}
		}
	}
}

// seesInitial reports whether e is a read of the initial state.
func (s *sessions) seesInitial(e *sessionEvent) bool {
	return e.kind == nilRead || s.zeroIsInitial && e.kind == readEvent && e.value == 0 && !s.zeros[e.key]
}

// startsWithInitial reports whether the first transaction wrote the initial state:
// it is all that its session did and only writes, it writes every key there is,
// others follow, and none of them read anything older.
func (s *sessions) startsWithInitial() bool {
	if len(s.txns) < 2 {
		return false
	}
	first := s.txns[0]
	initial := make(map[int64]bool)
	for _, e := range s.events[first.from:first.to] {
		if !e.writes() {
			return false
		}
		initial[e.key] = true
	}
	for _, t := range s.txns[1:] {
		if t.session == first.session {
			return false
		}
	}
	for i := range s.events {
		if e := &s.events[i]; !initial[e.key] || s.seesInitial(e) {
			return false
		}
	}
	return !first.aborted
}

// op makes the op of a transaction, with its values in room, which it returns as it
// has grown; they are valid until room is used again.
func (s *sessions) op(at int, room []history.Value) (history.Op, []history.Value) {
	t := &s.txns[at]
	op := newOp()
	op.Type, op.Process, op.F = history.OK, history.Client(t.session), "txn"
	if t.aborted {
		op.Type = history.Fail
	}
	events := s.events[t.from:t.to]
	n := len(events)
	if room = slices.Grow(room[:0], 4*n)[:4*n]; n > 0 {
		clear(room)
	}
	microOps, parts := room[:n:n], room[n:]
	for i := range events {
		e := &events[i]
		part := parts[3*i : 3*i+3 : 3*i+3]
		part[0], part[1], part[2] = history.Keyword("r"), history.Int(e.key), history.Int(e.value)
		if e.writes() {
			part[0] = history.Keyword("w")
		} else if s.seesInitial(e) {
			part[2] = history.Value{}
		}
		if s.names != nil {
			part[1] = s.names[e.key]
		}
		microOps[i] = history.Vec(part...)
	}
	op.Value = history.Vec(microOps...)
	return op, room
}

func (s *sessions) each(ctx context.Context, take func(*history.Event) error) error {
	var tape history.Tape
	var e history.Event
	var op history.Op
	var room []history.Value
	for at := range s.txns {
		if at%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		op, room = s.op(at, room)
		tape.Reset()
		e = history.EventOf(at, &op, &tape)
		if err := take(&e); err != nil {
			return err
		}
	}
	return nil
}

func (s *sessions) ops(take func(at int, op *history.Op) error) error {
	for at := range s.txns {
		op, _ := s.op(at, nil)
		if err := take(at, &op); err != nil {
			return err
		}
	}
	return nil
}

func (s *sessions) head(n int) *history.History {
	h := &history.History{}
	for at := range min(max(n, 0), len(s.txns)) {
		op, _ := s.op(at, nil)
		h.Ops = append(h.Ops, op)
	}
	return h
}

func (s *sessions) history() (*history.History, error) {
	h := s.head(len(s.txns))
	h.Cut = s.found
	return h, nil
}

func (s *sessions) source() history.Source    { return s }
func (s *sessions) cut() *history.CutError    { return s.found }
func (s *sessions) skipped() *history.Skipped { return nil }
func (s *sessions) close() error              { return nil }

// Ops returns the ops at those positions.
func (s *sessions) Ops(positions []int) ([]history.Op, error) {
	ops := make([]history.Op, len(positions))
	for i, at := range positions {
		if at < 0 || at >= len(s.txns) {
			return nil, fmt.Errorf("position %d is outside the history of %d ops", at, len(s.txns))
		}
		ops[i], _ = s.op(at, nil)
	}
	return ops, nil
}
