package linear

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// turns searches for an order of calls in which each process keeps its own: whose
// turn is it? What was tried is remembered as how far each process is, which calls
// in doubt happened, and the state. A step of work is a line or a call in doubt
// that was looked at.
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

// position is how far an order is.
type position struct {
	state int32
	done  []int32 // of each line
	used  []byte  // of each doubtful, a bit
}

func (p *position) has(doubt int) bool { return p.used[doubt>>3]>>(doubt&7)&1 == 1 }

// after is the position that a move leads to.
func (p *position) after(b *board, m move) position {
	next := position{state: p.state, done: slices.Clone(p.done), used: slices.Clone(p.used)}
	at := int32(0)
	if m.doubt >= 0 {
		next.used[m.doubt>>3] |= 1 << (m.doubt & 7)
		at = b.doubts[m.doubt].call
	} else {
		at = b.lines[m.line][next.done[m.line]]
		next.done[m.line]++
	}
	next.state, _ = b.calls[at].step(p.state)
	return next
}

func (p *position) appendKey(key []byte) []byte {
	key = binary.AppendVarint(key, int64(p.state))
	for _, n := range p.done {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return append(key, p.used...)
}

// move is how an order goes on: with the next call of a line, or one in doubt.
type move struct {
	line, doubt int32 // the other one is -1
}

// junction is a position and the moves from there that were not tried yet; the
// last of them comes next. A move becomes a position only when its turn comes, so
// the memory is that of one path and not of all that leads off it.
type junction struct {
	position
	moves []move
}

const (
	moveBytes     = 8
	junctionBytes = 112 // of a junction, beside its numbers
	triedBytes    = 96  // of a position that was tried, beside its key
	// What a position costs however few the processes: to make it and look it up,
	// and to keep it when it is a new one.
	stepsPerKey = 32
	stepsPerNew = 96
	// stepsPerLook is how much work is done before the context is looked at again.
	stepsPerLook = 1 << 17
)

// decide searches depth first.
func (t *turns) decide(all []call) outcome {
	t.work -= int64(len(all))
	b := t.board(all)
	width := int64(len(b.lines) + len(b.doubts))
	next := position{state: t.initial, done: make([]int32, len(b.lines)), used: make([]byte, (len(b.doubts)+7)/8)}
	positionBytes := int64(4*len(next.done)+len(next.used)) + junctionBytes
	tried := make(map[string]struct{})
	wanted := make([]bool, t.values)
	var stack []junction
	var key []byte
	var bytes int64
	look := t.work - stepsPerLook
	for {
		if b.settle(&next) {
			return outcome{verdict: checker.Valid}
		}
		key = next.appendKey(key[:0])
		t.work -= 2*width + stepsPerKey
		if _, known := tried[string(key)]; !known {
			tried[string(key)] = struct{}{}
			moves := b.moves(&next, wanted)
			stack = append(stack, junction{next, moves})
			bytes += int64(len(key)) + triedBytes + positionBytes + moveBytes*int64(cap(moves))
			t.work -= 4*width + int64(len(wanted)/8) + stepsPerNew
		}
		switch {
		case t.work < 0:
			return outcome{why: sayWork}
		case bytes > t.memory:
			return outcome{why: sayMemory(t.memory)}
		case t.work < look:
			if t.ctx.Err() != nil {
				return outcome{why: context.Cause(t.ctx).Error()}
			}
			look = t.work - stepsPerLook
		}
		for len(stack) > 0 && len(stack[len(stack)-1].moves) == 0 {
			last := &stack[len(stack)-1]
			bytes -= positionBytes + moveBytes*int64(cap(last.moves))
			*last = junction{}
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 {
			return outcome{verdict: checker.Invalid}
		}
		top := &stack[len(stack)-1]
		m := top.moves[len(top.moves)-1]
		top.moves = top.moves[:len(top.moves)-1]
		next = top.after(b, m)
	}
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
		src := t.seers(calls)
		for from := 0; from < len(calls) && t.work > 0 && t.ctx.Err() == nil; {
			t.work -= int64(len(calls))
			rest := src.closed(calls, func(i int) bool { return from <= i && i < from+size })
			if len(rest) > 0 && t.decide(rest).verdict == checker.Invalid {
				calls, removed = rest, true
				src = t.seers(calls)
			} else {
				from += size
			}
		}
		if t.work <= 0 || t.ctx.Err() != nil || size == 1 && !removed {
			return calls
		}
	}
}

// seers says of each call who may have seen it when real time does not matter.
func (t *turns) seers(calls []call) sources {
	t.work -= int64(len(calls)) * int64(len(calls)) / 16
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
