package claims

import (
	"context"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// settledOps names the operations of a workload whose writes are transactions and
// whose reads are local.
type settledOps struct {
	write, read string
	keyed       bool // values are [key v]
}

// settled gives a checker of adds and reads the operations of a workload whose
// reads are local, so that it is fair to them: a replica answers from its own
// height, and what it lacks may be no more than blocks. So the only reads that
// the checker sees are those of the phase final that were answered from a block
// at or above all acknowledged writes; where every block is final, they must
// hold these. Each operation comes to the checker when it ends, its invocation
// just before, at their true positions.
//
// With keys, those without an acknowledged write go to no checker: nothing is
// claimed of them. Memory: some 100 bytes for each write in doubt of such a key,
// and for each client process.
func settled(s checker.Stream, ops settledOps) checker.Stream {
	return &settling{Stream: s, ops: ops, open: make(map[int64]kept), sure: make(map[int64]bool), waiting: make(map[int64][]kept), top: -1}
}

type settling struct {
	checker.Stream
	ops settledOps

	open    map[int64]kept   // invocation by process
	sure    map[int64]bool   // keys with an acknowledged write
	waiting map[int64][]kept // by key without one: invocations and completions
	top     int64            // the highest block that an acknowledged write is in
	final   bool
	ended   bool
	below   int // reads that were answered from below it
	reads   int
}

// kept is an event off its tape.
type kept struct {
	event history.Event
	value history.Value
}

func keep(e *history.Event) kept {
	k := kept{event: *e, value: e.Value.Value()}
	k.event.Value, k.event.Rest = history.View{}, history.View{}
	return k
}

func (s *settling) Take(e *history.Event) {
	process, client := e.Process.Client()
	if !client {
		if e.F == "phase" && e.Process == history.Runner() {
			if s.final = e.Value.Is("final"); s.final {
				s.giveOpen()
			}
		}
		return
	}
	if e.F != s.ops.write && e.F != s.ops.read {
		return
	}
	if e.Type == history.Invoke {
		s.open[process] = keep(e)
		return
	}
	begun, ok := s.open[process]
	delete(s.open, process)
	if !ok {
		return // nobody knows what was invoked
	}
	if e.F == s.ops.read {
		s.takeRead(begun, e)
		return
	}
	begun.event.F = "add"
	done := keep(e)
	done.event.F = "add"
	key := s.key(begun)
	if e.Type == history.OK {
		if height, ok := heightOf(e); ok {
			s.top = max(s.top, height)
		}
		s.sure[key] = true
		for _, k := range s.waiting[key] {
			s.give(k)
		}
		delete(s.waiting, key)
	}
	if !s.sure[key] {
		s.waiting[key] = append(s.waiting[key], begun, done)
		return
	}
	s.give(begun)
	s.give(done)
}

func (s *settling) takeRead(begun kept, e *history.Event) {
	if !s.final || e.Type != history.OK || s.ops.keyed && !s.sure[s.key(begun)] {
		return
	}
	if height, ok := heightOf(e); !ok || height < s.top {
		s.below++
		return
	}
	s.reads++
	begun.event.F = "read"
	done := keep(e)
	done.event.F = "read"
	s.give(begun)
	s.give(done)
}

// giveOpen gives away the writes that have not ended before the final reads: these
// may show them.
func (s *settling) giveOpen() {
	for process, k := range s.open {
		if k.event.F != s.ops.write {
			continue
		}
		delete(s.open, process)
		if !s.ops.keyed || s.sure[s.key(k)] {
			k.event.F = "add"
			s.give(k)
		}
	}
}

// key is that of an operation; all have one where values have none.
func (s *settling) key(k kept) int64 {
	parts := k.value.Elems()
	if !s.ops.keyed || len(parts) != 2 {
		return 0
	}
	n, _ := parts[0].Int()
	return n
}

func (s *settling) give(k kept) {
	var tape history.Tape
	k.event.Value = tape.Append(k.value)
	s.Stream.Take(&k.event)
}

func heightOf(e *history.Event) (int64, bool) {
	field, ok := e.Rest.Field(history.HeightKey)
	if !ok {
		return 0, false
	}
	return field.Int()
}

func (s *settling) Finish(ctx context.Context, src history.Source) checker.Result {
	r := s.Stream.Finish(ctx, src)
	if s.reads == 0 && r.Verdict == checker.Valid {
		r.Verdict, r.Facts = checker.Unknown, 0
		r.Reason = "no read of the phase final was answered from a block at or above every acknowledged write"
	}
	if s.below > 0 {
		r.Warnings = append(r.Warnings, "final reads that were left out, as they were answered from below the highest block with an acknowledged write")
	}
	return r
}
