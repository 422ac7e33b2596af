package linear

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// longTurns is a history of so many processes that take turns to write 0 and 1
// and read what they wrote. Where it is hopeless, one more process needs a value
// that only itself sets, and only later: every order of the others is tried.
func longTurns(processes, rounds int, hopeless bool) *history.History {
	h := &history.History{}
	add := func(p int, f string, v history.Value) {
		for _, typ := range []history.Type{history.Invoke, history.OK} {
			h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(int64(p)), F: f, Value: v})
		}
	}
	for round := range rounds {
		for p := range processes {
			v := history.Int(int64((p + round) % 2))
			add(p, "write", v)
			add(p, "read", v)
		}
	}
	if hopeless {
		add(processes, "read", history.Int(7))
		add(processes, "write", history.Int(7))
	}
	return h
}

// endsSoon is a context that has ended when it was asked so many times.
type endsSoon struct {
	context.Context
	left int
}

var errSoon = errors.New("enough")

func (c *endsSoon) Err() error {
	if c.left--; c.left < 0 {
		return errSoon
	}
	return nil
}

// turnsOf begins a search of a history of one register.
func turnsOf(ctx context.Context, h *history.History, work, memory int64) (*turns, []call) {
	c := newColumns(Options{}.withDefaults(), registerModel())
	c.processes = true
	for e := range h.Events() {
		c.take(e)
	}
	c.finish()
	r, err := c.decode(c.keys[0])
	process := make(map[uint32]int32)
	if err == nil {
		err = c.each(c.keys[0], func(r *row) bool { process[r.begin] = r.process; return true })
	}
	if err != nil {
		panic(err) // nothing was ever on disk
	}
	return newTurns(ctx, r, process, work, memory), r.calls
}

// TestTurnsLookAtTheContext holds that a search ends soon after its context, in
// work: with few processes, with many, and while a witness is made smaller.
func TestTurnsLookAtTheContext(t *testing.T) {
	const work, looks = 1 << 40, 5
	for _, processes := range []int{3, 30, 300} {
		s, calls := turnsOf(&endsSoon{context.Background(), looks}, longTurns(processes, 120/min(processes, 60)*10, true), work, 1<<40)
		if got := s.decide(calls); got.verdict != checker.Unknown {
			t.Fatalf("%d processes: %v", processes, got.verdict)
		}
		if used := int64(work) - s.work; used > (looks+1)*stepsPerLook+int64(20*len(calls)) {
			t.Errorf("%d processes: %d steps until the context was seen to have ended", processes, used)
		}
		s, calls = turnsOf(&endsSoon{context.Background(), looks}, longTurns(processes, 2, true), work, 1<<40)
		if got := s.shrink(calls); len(got) == 0 || explainWork-s.work > 2*explainWork {
			t.Errorf("%d processes: witness of %d calls after %d steps", processes, len(got), explainWork-s.work)
		}
	}
}

// TestTurnsMemory holds that the path that the search is on counts, and is given
// back where it ends.
func TestTurnsMemory(t *testing.T) {
	h := longTurns(100, 10, false)
	s, calls := turnsOf(context.Background(), h, 1<<40, 600<<10)
	if got := s.decide(calls); got.verdict != checker.Unknown || !strings.Contains(got.why, "memory limit of 600 KiB") {
		t.Errorf("with little memory: %v: %s", got.verdict, got.why)
	}
	s, calls = turnsOf(context.Background(), h, 1<<40, 8<<20)
	if got := s.decide(calls); got.verdict != checker.Valid {
		t.Errorf("with enough memory: %v: %s", got.verdict, got.why)
	}
}

// TestTurnsWork holds that all keys together keep to the limit of work, and that
// the answer tells of it.
func TestTurnsWork(t *testing.T) {
	hard := &history.History{}
	for key := range int64(8) {
		for _, op := range longTurns(20, 10, true).Ops {
			op.Value = history.Vec(history.Int(key), op.Value)
			hard.Ops = append(hard.Ops, op)
		}
	}
	const work = 400_000
	o := Options{Keyed: true, Work: work}.withDefaults()
	r := Sequential(o).Check(context.Background(), hard)
	if want := fmt.Sprintf("key 0 with 402 operations was not decided: work limit of %d steps reached", work); r.Verdict != checker.Unknown || r.Reason != want || len(r.Warnings) != 8 {
		t.Errorf("%v: %q, %d warnings; want %q", r.Verdict, r.Reason, len(r.Warnings), want)
	}
	s, calls := turnsOf(context.Background(), longTurns(20, 10, true), work, 1<<40)
	// A position costs at least what is looked at of each process.
	if got := s.decide(calls); got.why != sayWork || -s.work > 10*1000 {
		t.Errorf("%+v, %d steps beyond the limit", got, -s.work)
	}
}
