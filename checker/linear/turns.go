package linear

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// turns searches for an order of calls in which each process keeps its own: whose
// turn is it? What was tried is remembered as how far each process is, which calls
// in doubt happened, and the state.
type turns struct {
	ctx     context.Context
	initial int32
	values  int
	process map[uint32]int32
	work    int64
	memory  int64
}

func newTurns(ctx context.Context, r *register, process map[uint32]int32, work, memory int64) *turns {
	return &turns{ctx: ctx, initial: r.initial, values: len(r.values), process: process, work: work, memory: memory}
}

// doubtful is a call in doubt: it may happen when its process has done so many.
type doubtful struct {
	call, line, after int32
}

// position is how far an order is.
type position struct {
	state int32
	done  []int32 // of each line
	used  []bool  // of each doubtful
}

// decide searches depth first.
func (t *turns) decide(all []call) outcome {
	calls := prune(all, t.values)
	var lines [][]int32 // of each process, its calls that certainly happened
	var doubts []doubtful
	lineOf := make(map[int32]int32)
	for i := range calls {
		p := t.process[calls[i].begin]
		line, ok := lineOf[p]
		if !ok {
			line = int32(len(lines))
			lineOf[p] = line
			lines = append(lines, nil)
		}
		if calls[i].crashed {
			doubts = append(doubts, doubtful{int32(i), line, int32(len(lines[line]))})
		} else {
			lines[line] = append(lines[line], int32(i))
		}
	}
	now := position{state: t.initial, done: make([]int32, len(lines)), used: make([]bool, len(doubts))}
	tried := make(map[string]bool)
	var key []byte
	var bytes int64
	stack := []position{now}
	for len(stack) > 0 {
		now := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		// What only looks, and may, happens at once.
		finished := true
		for line := range lines {
			for int(now.done[line]) < len(lines[line]) {
				c := &calls[lines[line][now.done[line]]]
				if _, ok := c.step(now.state); !ok || c.sets() {
					finished = false
					break
				}
				now.done[line]++
			}
		}
		if finished {
			return outcome{verdict: checker.Valid}
		}
		key = binary.AppendVarint(key[:0], int64(now.state))
		for _, n := range now.done {
			key = binary.AppendUvarint(key, uint64(n))
		}
		for _, b := range now.used {
			if key = append(key, 0); b {
				key[len(key)-1] = 1
			}
		}
		if tried[string(key)] {
			continue
		}
		tried[string(key)] = true
		bytes += int64(len(key)) + 64
		t.work -= int64(len(lines) + len(doubts) + 1)
		switch {
		case t.work < 0:
			return outcome{why: "work limit reached"}
		case bytes > t.memory:
			return outcome{why: sayMemory(t.memory)}
		case len(tried)%checker.CheckEvery == 0 && t.ctx.Err() != nil:
			return outcome{why: context.Cause(t.ctx).Error()}
		}
		push := func(c *call, line int, doubt int) {
			after, ok := c.step(now.state)
			if !ok {
				return
			}
			next := position{state: after, done: slices.Clone(now.done), used: slices.Clone(now.used)}
			if doubt >= 0 {
				next.used[doubt] = true
			} else {
				next.done[line]++
			}
			stack = append(stack, next)
		}
		// The last one pushed is tried first: a value that the next of some
		// process waits for.
		wanted := func(v int32) bool {
			for line := range lines {
				if n := int(now.done[line]); n < len(lines[line]) {
					if w, ok := calls[lines[line][n]].needs(); ok && w == v {
						return true
					}
				}
			}
			return false
		}
		for i, d := range doubts {
			if !now.used[i] && now.done[d.line] >= d.after {
				push(&calls[d.call], 0, i)
			}
		}
		for _, want := range []bool{false, true} {
			for line := range lines {
				if n := int(now.done[line]); n < len(lines[line]) {
					if c := &calls[lines[line][n]]; wanted(c.value) == want {
						push(c, line, -1)
					}
				}
			}
		}
	}
	return outcome{verdict: checker.Invalid}
}

// mostShrunk is how many calls shrink takes on.
const mostShrunk = 1500

// shrink leaves out calls while the rest is not sequentially consistent. A setter
// goes only with all who may have seen it, so what is left proves something about
// the whole, and each value that is read keeps its writers.
func (t *turns) shrink(calls []call) []call {
	if len(calls) > mostShrunk {
		return calls
	}
	t.work = explainWork
	for size := max(1, len(calls)/2); ; size = max(1, size/2) {
		removed := false
		src := seers(calls)
		for from := 0; from < len(calls) && t.work > 0; {
			rest := src.closed(calls, func(i int) bool { return from <= i && i < from+size })
			if len(rest) > 0 && t.decide(rest).verdict == checker.Invalid {
				calls, removed = rest, true
				src = seers(calls)
			} else {
				from += size
			}
		}
		if t.work <= 0 || size == 1 && !removed {
			return calls
		}
	}
}

// seers says of each call who may have seen it when real time does not matter.
func seers(calls []call) sources {
	src := sources{observers: make([][]int, len(calls))}
	for w := range calls {
		if !calls[w].sets() {
			continue
		}
		for o := range calls {
			v, ok := calls[o].observed()
			if o != w && (ok && v == calls[w].value || calls[o].action == miss && calls[o].old != calls[w].value) {
				src.observers[w] = append(src.observers[w], o)
			}
		}
	}
	return src
}
