package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// load is a simulated register under load.
type load struct {
	ops, clients, keys int
	cas, unique        bool
	twice              bool // the first value is written a second time
	crashes            int  // operations in doubt, about
	stale              int  // that many reads near the end see a value that is gone
}

// history runs the simulation: that many clients are idle, have begun, have
// taken effect, by turns; a random one takes its next step.
func (l load) history() *history.History {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &history.History{}
	type slot struct {
		process int64
		key     int
		op      history.Op
		step    int
		fails   bool
		crashes bool
	}
	keys := max(1, l.keys)
	state := make([]int64, keys)
	gone := make([][]int64, keys)
	next := int64(0)
	value := func() int64 {
		if l.unique {
			if next++; l.twice && next == int64(l.ops/4) {
				return 1
			}
			return next
		}
		return rng.Int64N(5)
	}
	slots := make([]slot, l.clients)
	for i := range slots {
		slots[i].process = int64(i)
	}
	process := int64(l.clients)
	for i := range state {
		state[i] = -1
	}
	stale := l.stale
	shown := func(n int64) history.Value {
		if n < 0 {
			return history.Value{}
		}
		return history.Int(n)
	}
	add := func(s *slot) {
		op := s.op
		if l.keys > 0 {
			op.Value = history.Vec(history.Int(int64(s.key)), op.Value)
		}
		h.Ops = append(h.Ops, op)
	}
	for begun := 0; begun < l.ops; {
		s := &slots[rng.IntN(l.clients)]
		switch s.step {
		case 0:
			begun++
			s.key, s.fails, s.crashes = rng.IntN(keys), false, rng.IntN(l.ops) < l.crashes
			s.op = history.Op{Index: history.Absent, Time: history.Absent, Type: history.Invoke, Process: history.Client(s.process), F: "read"}
			if at := rng.IntN(4); at == 0 && l.cas {
				old := rng.Int64N(5)
				if l.unique {
					old = max(0, state[s.key])
				}
				s.op.F, s.op.Value = "cas", history.Vec(history.Int(old), history.Int(value()))
			} else if at < 2 {
				s.op.F, s.op.Value = "write", history.Int(value())
			}
			add(s)
			s.step = 1
		case 1:
			s.step = 2
			if s.crashes && rng.IntN(2) == 0 {
				continue
			}
			change := func(v int64) {
				gone[s.key] = append(gone[s.key], state[s.key])
				state[s.key] = v
			}
			switch s.op.F {
			case "read":
				s.op.Value = shown(state[s.key])
				if old := gone[s.key]; stale > 0 && begun > l.ops*9/10 {
					if v := old[len(old)-3*l.clients]; v != state[s.key] {
						stale, s.op.Value = stale-1, shown(v)
					}
				}
			case "write":
				n, _ := s.op.Value.Int()
				change(n)
			default:
				from, _ := s.op.Value.Elems()[0].Int()
				to, _ := s.op.Value.Elems()[1].Int()
				if s.fails = from != state[s.key]; !s.fails {
					change(to)
				}
			}
		default:
			s.step = 0
			s.op.Type = history.OK
			if s.crashes {
				s.op.Type = history.Info
			} else if s.fails {
				s.op.Type = history.Fail
			}
			if s.crashes && s.op.F == "read" {
				s.op.Value = history.Value{}
			}
			add(s)
			if s.crashes {
				s.process = process
				process++
			}
		}
	}
	return h
}

func (l load) String() string {
	kind := "register"
	if l.cas {
		kind = "cas"
	}
	if l.unique {
		kind += "-unique"
	}
	if l.twice {
		kind += "-but-one"
	}
	if l.keys > 0 {
		kind += fmt.Sprintf("-%dkeys", l.keys)
	}
	if l.crashes > 0 {
		kind += fmt.Sprintf("-%dcrashed", l.crashes)
	}
	if l.stale > 0 {
		kind += fmt.Sprintf("-%dstale", l.stale)
	}
	return fmt.Sprintf("%s-%dclients-%dops", kind, l.clients, l.ops)
}

func loads() []load {
	return []load{
		{ops: 1_000_000, clients: 20, unique: true},
		{ops: 1_000_000, clients: 20, unique: true, stale: 1},
		{ops: 1_000_000, clients: 20, unique: true, cas: true},
		{ops: 100_000, clients: 20, unique: true, twice: true},
		{ops: 100_000, clients: 20, unique: true, twice: true, stale: 1},
		{ops: 100_000, clients: 10, cas: true},
		{ops: 100_000, clients: 10, cas: true, stale: 40},
		{ops: 10_000, clients: 10, cas: true},
		{ops: 10_000, clients: 20, cas: true},
		{ops: 10_000, clients: 20, cas: true, stale: 40},
		{ops: 10_000, clients: 40, cas: true},
		{ops: 10_000, clients: 40, cas: true, stale: 40},
		{ops: 100_000, clients: 40, cas: true},
		{ops: 100_000, clients: 40, cas: true, stale: 40},
		{ops: 10_000, clients: 10, cas: true, crashes: 130},
		{ops: 10_000, clients: 10, cas: true, crashes: 130, stale: 400},
		{ops: 10_000, clients: 10, cas: true, crashes: 20, stale: 40},
		{ops: 1_000_000, clients: 50, cas: true, keys: 100},
	}
}

// BenchmarkRegister tells apart what it takes to read events into columns and to
// judge them.
func BenchmarkRegister(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.String(), func(b *testing.B) {
			h := l.history()
			b.ReportAllocs()
			var take, finish time.Duration
			var r checker.Result
			for b.Loop() {
				s := RegisterStream(Options{Keyed: l.keys > 0})
				events := h.Events()
				begun := time.Now()
				for e := range events {
					s.Take(e)
				}
				taken := time.Now()
				r = s.Finish(context.Background(), h.Source())
				take += taken.Sub(begun)
				finish += time.Since(taken)
			}
			b.ReportMetric(float64(take.Nanoseconds())/float64(b.N)/float64(len(h.Ops)), "take-ns/event")
			b.ReportMetric(finish.Seconds()/float64(b.N), "check-s")
			b.ReportMetric(float64(l.ops)*float64(b.N)/finish.Seconds(), "check-ops/s")
			if r.Verdict == checker.Unknown {
				b.Logf("unknown: %s", r.Reason)
			} else if r.Verdict != checker.Valid && l.stale == 0 {
				b.Fatalf("%v: %s", r.Verdict, r.Reason)
			}
			b.Logf("%v: %s %v", r.Verdict, r.Reason, r.Stats)
		})
	}
}

// BenchmarkPorcupine judges the same histories, those that it can; a minute for
// each, and much memory.
func BenchmarkPorcupine(b *testing.B) {
	if os.Getenv("JEPGO_PORCUPINE") == "" {
		b.Skip("SKIPPED: takes gigabytes: set JEPGO_PORCUPINE=1")
	}
	for _, l := range loads() {
		if l.unique || l.clients >= 40 || l.stale > 0 || l.ops > 10_000 && l.keys == 0 {
			continue // out of memory at 10 GB
		}
		b.Run(l.String(), func(b *testing.B) {
			h := l.history()
			o := Options{Keyed: l.keys > 0}
			parts := opsOf(h, o)
			b.ReportAllocs()
			for b.Loop() {
				for _, ops := range parts {
					if !porcupineSays(ops, history.Value{}.Key()) {
						b.Fatal("not linearizable")
					}
				}
			}
			b.ReportMetric(float64(l.ops)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

// BenchmarkFile judges a file that LINEAR_FILE names.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("LINEAR_FILE")
	if path == "" {
		b.Skip("SKIPPED: LINEAR_FILE names no history")
	}
	h, err := history.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	c := Register(Options{Keyed: strings.Contains(path, "_k")})
	var r checker.Result
	for b.Loop() {
		r = c.Check(context.Background(), h)
	}
	b.Logf("%v: %s %v", r.Verdict, r.Reason, r.Stats)
}
