package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// busyRegister is a valid history of one register: that many clients always
// have an operation under way, which takes effect at a random moment of it. One
// in a hundred never learns what became of it.
func busyRegister(ops, clients int) *history.History {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &history.History{}
	type slot struct {
		process int64
		op      history.Op
		busy    bool
		applied bool
	}
	slots := make([]slot, clients)
	for i := range slots {
		slots[i].process = int64(i)
	}
	state, next := history.Value{}, int64(0)
	for begun := 0; begun < ops; {
		s := &slots[rng.IntN(clients)]
		switch {
		case !s.busy:
			begun++
			s.busy, s.applied = true, false
			s.op = history.Op{Index: history.Absent, Time: history.Absent, Type: history.Invoke, Process: history.Client(s.process), F: "read"}
			if rng.IntN(2) == 0 {
				next++
				s.op.F, s.op.Value = "write", history.Int(next)
			}
			h.Ops = append(h.Ops, s.op)
		case !s.applied:
			s.applied = true
			if s.op.F == "write" {
				state = s.op.Value
			} else {
				s.op.Value = state
			}
		default:
			s.busy = false
			s.op.Type = history.OK
			if rng.IntN(100) == 0 {
				s.op.Type = history.Info
				s.process += int64(clients)
			}
			h.Ops = append(h.Ops, s.op)
		}
	}
	return h
}

// BenchmarkRegister searches one key that is always busy.
func BenchmarkRegister(b *testing.B) {
	for _, size := range []struct{ ops, clients int }{{1000, 8}, {10000, 8}, {1000, 20}, {3000, 20}} {
		b.Run(fmt.Sprintf("%dops-%dclients", size.ops, size.clients), func(b *testing.B) {
			h := busyRegister(size.ops, size.clients)
			b.ReportAllocs()
			for b.Loop() {
				if r := Register(Options{}).Check(context.Background(), h); r.Verdict != checker.Valid {
					b.Fatalf("%v: %s", r.Verdict, r.Reason)
				}
			}
		})
	}
}
