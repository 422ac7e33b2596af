package linear

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/jepgo/jepgo/checker"
)

// outcome is what a search found; why says what stopped it.
type outcome struct {
	verdict checker.Verdict
	why     string
	valid   int    // how many completions of the key were found to be valid together
	failing int    // how many were found to fail, when the verdict is Invalid
	proof   []call // a small part of those that fails, where one was found at once
}

// searchAll decides every key, GOMAXPROCS at once.
func searchAll(ctx context.Context, keys []*register, o Options) []outcome {
	found := make([]outcome, len(keys))
	workers := max(1, min(runtime.GOMAXPROCS(0), len(keys)))
	next := make(chan int)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range next {
				s := searcher{ctx: ctx, r: keys[i], nilAny: o.NilAny, memory: o.Memory / int64(workers)}
				found[i] = s.grow()
			}
		})
	}
	for i := range keys {
		next <- i
	}
	close(next)
	wait.Wait()
	return found
}

// searcher decides pieces of one key's history.
type searcher struct {
	ctx    context.Context
	r      *register
	nilAny bool
	memory int64
	// work is how many more steps all searches may take, when limited is set.
	limited bool
	work    int
}

// firstPiece is how many completions the first piece has.
const firstPiece = 256

// grow decides the whole key by pieces from its start, each four times as long
// as the one before. A search costs its length squared in memory, so a history
// that fails early is far cheaper to refuse in a short piece, and one that does
// not costs a third more. Where no search is needed there are no pieces.
func (s *searcher) grow() outcome {
	ends := s.r.ends()
	valid := 0
	plain := s.plain(s.r.calls)
	for size := firstPiece; size < len(ends) && !plain; size *= 4 {
		found := s.piece(s.r.prefix(ends[size-1], s.nilAny))
		if found.verdict != checker.Valid {
			found.valid, found.failing = valid, size
			return found
		}
		valid = size
	}
	found := s.piece(s.r.calls)
	found.valid, found.failing = valid, len(ends)
	return found
}

// piece decides calls, the cheap way first.
func (s *searcher) piece(calls []call) outcome {
	suspects := s.suspects(calls)
	if len(suspects) == 0 && s.plain(calls) {
		return outcome{verdict: checker.Valid}
	}
	if part := s.refute(calls, suspects); part != nil {
		return outcome{verdict: checker.Invalid, proof: part}
	}
	return s.decide(calls)
}

// ends lists the positions of the completions, in order.
func (r *register) ends() []int {
	var ends []int
	for _, c := range r.calls {
		if c.end != never {
			ends = append(ends, c.end)
		}
	}
	slices.Sort(ends)
	return ends
}

// prefix is the history up to position cut: what began later is gone, and what
// had not ended is in doubt. A prefix of a linearizable history is linearizable:
// what begins after the cut comes after all that ended before it, in any valid
// order.
func (r *register) prefix(cut int, nilAny bool) []call {
	var calls []call
	for _, c := range r.calls {
		if c.begin > cut {
			continue
		}
		if c.end > cut {
			if c.action == read {
				continue
			}
			c.crashed, c.end = true, never
		}
		calls = append(calls, c)
	}
	return prune(calls, r.values.Len(), nilAny)
}

// decide searches for an order of calls. Crashed calls return after everything
// else: as a cas in doubt may fail without a trace, putting it last is always
// possible, and so "may have happened" needs no choice of its own.
func (s *searcher) decide(calls []call) outcome {
	return s.decideFrom(calls, s.r.initial)
}

func (s *searcher) decideFrom(calls []call, initial int32) outcome {
	ctx, nilAny, memory := s.ctx, s.nilAny, s.memory
	if s.over() {
		why := "work limit reached"
		if ctx.Err() != nil {
			why = context.Cause(ctx).Error()
		}
		return outcome{why: why}
	}
	states := make(map[int32]any) // one box for each state, instead of one for each step
	box := func(v int32) any {
		b, ok := states[v]
		if !ok {
			b = v
			states[v] = b
		}
		return b
	}
	var why string
	steps := 0
	// Porcupine keeps a bit set of all calls for each step that it takes.
	perStep := int64(len(calls)/8 + 160)
	budget := memory / perStep
	porc := porcupine.Model{
		Init: func() any { return box(initial) },
		// Once why is set nothing can step, so the search unwinds in O(n·c).
		Step: func(state, input, _ any) (bool, any) {
			if steps%checker.CheckEvery == 0 && why == "" {
				if ctx.Err() != nil {
					why = context.Cause(ctx).Error()
				} else if s.limited && steps > s.work {
					why = "work limit reached"
				}
			}
			steps++
			if why != "" {
				return false, state
			}
			c := input.(*call)
			now := state.(int32)
			after, ok := c.step(now, nilAny)
			if !ok {
				return false, state
			}
			if budget--; budget < 0 {
				why = fmt.Sprintf("memory limit of %d MiB reached", memory>>20)
				return false, state
			}
			if after == now {
				return true, state
			}
			return true, box(after)
		},
		Hash: func(state any) uint64 { return uint64(uint32(state.(int32))) * 0x9e3779b97f4a7c15 },
	}
	if s.limited {
		defer func() { s.work -= steps }()
	}
	linearizable := porcupine.CheckEvents(porc, events(calls))
	switch {
	case why != "":
		return outcome{why: why}
	case linearizable:
		return outcome{verdict: checker.Valid}
	}
	return outcome{verdict: checker.Invalid}
}

// over reports whether no more search may begin.
func (s *searcher) over() bool { return s.ctx.Err() != nil || s.limited && s.work <= 0 }

// step is what a register does: the state after c, or that c cannot happen now.
func (c *call) step(state int32, nilAny bool) (after int32, ok bool) {
	switch c.action {
	case write:
		return c.value, true
	case cas:
		if state == c.old {
			return c.value, true
		}
		return state, c.crashed
	}
	return state, state == c.value || nilAny && c.value == 0
}

// events lists invocations and returns in history order, crashed calls' returns
// last. A call of one moment begins before it ends.
func events(calls []call) []porcupine.Event {
	type moment struct {
		at, id int
		end    bool
	}
	moments := make([]moment, 0, 2*len(calls))
	for i := range calls {
		moments = append(moments, moment{calls[i].begin, i, false}, moment{calls[i].end, i, true})
	}
	slices.SortFunc(moments, func(a, b moment) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.end != b.end {
			if b.end {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	list := make([]porcupine.Event, len(moments))
	for i, m := range moments {
		list[i] = porcupine.Event{Id: m.id, Kind: porcupine.EventKind(m.end)}
		if !m.end {
			list[i].Value = &calls[m.id]
		}
	}
	return list
}
