package object

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// load makes histories of n operations by so many clients: each is idle, then has
// invoked, then its operation has taken effect; a random one goes on.
type load struct {
	model   string
	n       int
	clients int
	keys    int
	crashed int  // operations that are in doubt
	stale   bool // the last answer is wrong
}

func (l load) String() string {
	s := fmt.Sprintf("%s/n=%d/c=%d", l.model, l.n, l.clients)
	if l.keys > 1 {
		s += fmt.Sprintf("/keys=%d", l.keys)
	}
	if l.crashed > 0 {
		s += fmt.Sprintf("/crashed=%d", l.crashed)
	}
	if l.stale {
		s += "/invalid"
	}
	return s
}

func (l load) history() *history.History {
	rng := rand.New(rand.NewPCG(7, 7))
	type client struct {
		id    int64
		phase int
		op    history.Op
	}
	h := &history.History{Ops: make([]history.Op, 0, 2*l.n)}
	clients := make([]client, l.clients)
	for i := range clients {
		clients[i].id = int64(i)
	}
	var elems []int64
	reg := make([]int64, max(1, l.keys))
	value, begun, open := int64(0), 0, 0
	next := int64(l.clients)
	for begun < l.n || open > 0 {
		c := &clients[rng.IntN(l.clients)]
		switch c.phase {
		case 0:
			if begun == l.n {
				continue
			}
			begun, open = begun+1, open+1
			value++
			f, v := "read", history.Value{}
			put := rng.IntN(2) == 0
			switch l.model {
			case "fifo", "bag":
				f = "dequeue"
				if put {
					f, v = "enqueue", history.Int(value)
				}
			case "stack":
				f = "pop"
				if put {
					f, v = "push", history.Int(value)
				}
			case "fetch":
				if put {
					f = "increment-and-get"
				}
			case "cas":
				key := rng.IntN(len(reg))
				switch {
				case put && rng.IntN(2) == 0:
					f, v = "write", history.Int(rng.Int64N(5))
				case put:
					f, v = "cas", history.Vec(history.Int(reg[key]), history.Int(rng.Int64N(5)))
				}
				if l.keys > 1 {
					v = history.Vec(history.Int(int64(key)), v)
				}
			}
			c.op = history.Op{Type: history.Invoke, Process: history.Client(c.id), F: f, Value: v, Time: history.Absent, Index: history.Absent}
			h.Ops = append(h.Ops, c.op)
		case 1:
			c.op.Type = history.OK
			if l.crashed > 0 && c.op.F != "read" && rng.IntN(l.n/l.crashed) == 0 {
				c.op.Type = history.Info
			}
			key, v := 0, c.op.Value
			if l.keys > 1 {
				k, _ := v.Elems()[0].Int()
				key, v = int(k), v.Elems()[1]
			}
			switch c.op.F {
			case "enqueue", "push":
				n, _ := v.Int()
				elems = append(elems, n)
			case "dequeue":
				v = history.Value{}
				if len(elems) > 0 {
					v, elems = history.Int(elems[0]), elems[1:]
				}
			case "pop":
				v = history.Value{}
				if top := len(elems) - 1; top >= 0 {
					v, elems = history.Int(elems[top]), elems[:top]
				}
			case "increment-and-get":
				reg[0]++
				v = history.Int(reg[0])
			case "write":
				reg[key], _ = v.Int()
			case "cas":
				if from, _ := v.Elems()[0].Int(); from == reg[key] {
					reg[key], _ = v.Elems()[1].Int()
				} else {
					c.op.Type = history.Fail
				}
			case "read":
				v = history.Int(reg[key])
				if l.stale && begun > l.n/2 && rng.IntN(50) == 0 {
					v = history.Int(rng.Int64N(5))
				}
			}
			if l.keys > 1 {
				v = history.Vec(history.Int(int64(key)), v)
			}
			c.op.Value = v
		case 2:
			open--
			h.Ops = append(h.Ops, c.op)
			if c.op.Type == history.Info {
				c.id, next = next, next+1
			}
		}
		c.phase = (c.phase + 1) % 3
	}
	return h
}

// begin returns the stream for a load.
func (l load) begin() checker.Stream {
	switch l.model {
	case "fifo":
		return Stream(fifo(), Options{})
	case "bag":
		return Stream(bag(), Options{})
	case "stack":
		return Stream(stack(), Options{})
	case "fetch":
		return Stream(fetching(history.Value{}), Options{})
	}
	return Stream(register(true), Options{Keyed: l.keys > 1})
}

var loads = []load{
	{model: "fifo", n: 100_000, clients: 20}, {model: "fifo", n: 1_000_000, clients: 20},
	{model: "stack", n: 100_000, clients: 20}, {model: "stack", n: 1_000_000, clients: 20},
	{model: "bag", n: 1_000_000, clients: 20},
	{model: "fetch", n: 1_000_000, clients: 20},
	{model: "cas", n: 10_000, clients: 10}, {model: "cas", n: 100_000, clients: 10},
	{model: "cas", n: 10_000, clients: 20}, {model: "cas", n: 10_000, clients: 20, stale: true},
	{model: "cas", n: 1_000, clients: 40}, {model: "cas", n: 10_000, clients: 10, crashed: 32},
	{model: "cas", n: 10_000, clients: 10, crashed: 100}, {model: "cas", n: 10_000, clients: 10, crashed: 100, stale: true},
	{model: "cas", n: 1_000_000, clients: 50, keys: 100},
}

// BenchmarkTake is what an event costs as it passes by.
func BenchmarkTake(b *testing.B) {
	for _, l := range []load{{model: "fifo", n: 1_000_000, clients: 20}, {model: "cas", n: 1_000_000, clients: 50, keys: 100}} {
		b.Run(l.String(), func(b *testing.B) {
			h := l.history()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s := l.begin()
				b.StartTimer()
				for e := range h.Events() {
					s.Take(e)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h.Ops)), "ns/event")
		})
	}
}

// BenchmarkFinish judges what was taken.
func BenchmarkFinish(b *testing.B) {
	for _, l := range loads {
		b.Run(l.String(), func(b *testing.B) {
			h := l.history()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s := l.begin()
				for e := range h.Events() {
					s.Take(e)
				}
				b.StartTimer()
				r := s.Finish(context.Background(), h.Source())
				if (r.Verdict == checker.Valid) == l.stale {
					b.Fatalf("%v: %s", r.Verdict, r.Reason)
				}
			}
			b.ReportMetric(float64(l.n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

// BenchmarkPorcupine judges the same histories; unknown after ten seconds, and not
// tried where it is known to need all memory.
func BenchmarkPorcupine(b *testing.B) {
	for _, l := range loads {
		if l.n > 100_000 || l.clients > 20 || l.stale || l.n == 100_000 && l.model != "cas" {
			continue
		}
		b.Run(l.String(), func(b *testing.B) {
			ops := operations(l.history())
			b.ReportAllocs()
			for b.Loop() {
				m := register(true)
				model := porcupine.Model{
					Init: func() any { return m.Init },
					Step: func(state, in, _ any) (bool, any) {
						op := in.(Op)
						next, ok := m.Step(state.(int64), op)
						return ok || op.Type == history.Info, next
					},
				}
				if got := porcupine.CheckOperationsTimeout(model, ops, 10*time.Second); got == porcupine.Unknown {
					b.ReportMetric(1, "unknown")
				}
			}
			b.ReportMetric(float64(l.n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			runtime.GC()
		})
	}
}
