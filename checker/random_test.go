package checker

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

// shape says what random operations of a model look like.
type shape struct {
	fs     []string
	invoke func(t *rapid.T, f string) history.Value
	result func(t *rapid.T, f string, invoked history.Value) history.Value
	most   int  // ops; 0 means 30
	tidy   bool // every completion has its invocation, and no process two at once
}

// random draws a history of that shape, 0.4 ms between ops.
func (s shape) random(t *rapid.T) *history.History {
	const processes = 4
	most := s.most
	if most == 0 {
		most = 30
	}
	h := &history.History{}
	var open [processes]*history.Op
	n := rapid.IntRange(0, most).Draw(t, "ops")
	for i := range n {
		p := rapid.IntRange(0, processes-1).Draw(t, "process")
		op := history.Op{Index: int64(i), Time: int64(i) * 400_000, Process: history.Client(int64(p))}
		odd := rapid.IntRange(0, 19).Draw(t, "odd")
		switch {
		case open[p] != nil && (s.tidy || odd > 0), open[p] == nil && !s.tidy && odd == 1:
			op.F = rapid.SampledFrom(s.fs).Draw(t, "f")
			invoked := s.invoke(t, op.F)
			if open[p] != nil {
				op.F, invoked = open[p].F, open[p].Value
			}
			op.Type = rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "type")
			op.Value = invoked
			if op.Type == history.OK {
				op.Value = s.result(t, op.F, invoked)
			}
			open[p] = nil
		default:
			op.Type = history.Invoke
			op.F = rapid.SampledFrom(s.fs).Draw(t, "f")
			op.Value = s.invoke(t, op.F)
			open[p] = &history.Op{F: op.F, Value: op.Value}
		}
		if !s.tidy && odd == 2 {
			op.Process = history.Process{}
		}
		h.Ops = append(h.Ops, op)
	}
	return h
}

// small draws an element.
func small(t *rapid.T) history.Value {
	n := rapid.Int64Range(0, 4).Draw(t, "element")
	if n == 4 {
		return history.Keyword("x")
	}
	return history.Int(n)
}

// some draws a read of a collection.
func some(t *rapid.T) history.Value {
	var elems []history.Value
	for range rapid.IntRange(0, 5).Draw(t, "size") {
		elems = append(elems, small(t))
	}
	return history.Vec(elems...)
}

// adding is the shape of models that add elements and read collections.
func adding(add string) shape {
	return shape{
		fs: []string{add, add, "read"},
		invoke: func(t *rapid.T, f string) history.Value {
			if f == "read" {
				return history.Value{}
			}
			return small(t)
		},
		result: func(t *rapid.T, f string, invoked history.Value) history.Value {
			if f == "read" {
				return some(t)
			}
			return invoked
		},
	}
}

// queueing is the shape of queues.
func queueing(unique bool) shape {
	next := int64(0)
	return shape{
		fs: []string{"enqueue", "enqueue", "dequeue", "dequeue", "drain"},
		invoke: func(t *rapid.T, f string) history.Value {
			switch {
			case f != "enqueue":
				return history.Value{}
			case unique:
				next++
				return history.Int(next)
			}
			return small(t)
		},
		result: func(t *rapid.T, f string, invoked history.Value) history.Value {
			switch f {
			case "drain":
				return some(t)
			case "dequeue":
				return small(t)
			}
			return invoked
		},
	}
}

// paired returns for each op the position of its invocation, or nowhere.
func paired(h *history.History) []int {
	type client struct {
		history.Process
		f string
	}
	calls := make([]int, len(h.Ops))
	open := make(map[client]int)
	for i, op := range h.Ops {
		calls[i] = nowhere
		who := client{op.Process, op.F}
		switch at, ok := open[who]; {
		case op.Process.IsZero():
		case op.Type == history.Invoke:
			open[who] = i
		case ok:
			calls[i] = at
			delete(open, who)
		}
	}
	return calls
}

// agree holds a stream to a slow reference on random histories of a shape, and its
// witnesses to their promise on tidy ones.
func agree(t *testing.T, s shape, begin func() Stream, slow func(h *history.History) Verdict) {
	t.Helper()
	for _, tidy := range []bool{false, true} {
		s.tidy = tidy
		rapid.Check(t, func(t *rapid.T) {
			h := s.random(t)
			r := judge(begin(), h)
			if want := slow(h); r.Verdict != want {
				for _, op := range h.Ops {
					t.Log(op.String())
				}
				t.Fatalf("says %v (%s), want %v", r.Verdict, r.Reason, want)
			}
			if r.Verdict == Valid && r.Facts == 0 {
				t.Fatal("valid without facts")
			}
			if tidy {
				for _, a := range r.Anomalies {
					if !alone(t, begin, h, a) {
						t.Fatalf("witness of %s alone does not show it: %s\n%v", a.Name, a.Message, a.Witness)
					}
				}
			}
		})
	}
}
