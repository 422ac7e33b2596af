package chain

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/history"
)

// TestMain has the garbage collector run less often: the tests make many small
// histories, and would mostly collect them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func all() []checker.Checker {
	return []checker.Checker{Fork("latest"), Finality("latest"), Session(), Replay(), Staleness(), linear.Register(linear.Options{Keyed: true})}
}

func named(name string) checker.Checker {
	list := all()
	return list[slices.IndexFunc(list, func(c checker.Checker) bool { return c.Name() == name })]
}

// TestHonestChainsPass holds that nothing is said against a network that keeps
// its word.
func TestHonestChainsPass(t *testing.T) {
	valid := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		h := newSim(rapid.Uint64().Draw(t, "seed")).run(rapid.IntRange(50, 600).Draw(t, "steps"))
		results, _ := checker.Compose(context.Background(), h, all()...)
		for _, r := range results {
			if r.Verdict != checker.Valid && (r.Verdict != checker.Unknown || r.Facts > 0) {
				t.Fatalf("%s: %v: %s: %+v", r.Checker, r.Verdict, r.Reason, r.Anomalies)
			}
			if r.Verdict == checker.Valid {
				valid[r.Checker]++
			}
		}
	})
	for _, c := range all() {
		if valid[c.Name()] == 0 {
			t.Errorf("%s never had anything to compare", c.Name())
		}
	}
}

// TestPlantedDefectsAreFound plants one defect in an otherwise honest run; the
// checker that it is for must name it, with the ops that show it.
func TestPlantedDefectsAreFound(t *testing.T) {
	for _, test := range []struct {
		name     string
		plant    func(s *sim) (planted func() bool)
		checker  string
		anomaly  string
		mentions string
	}{
		{"fork", plantFork, "fork", "fork", "n3"},
		{"same hash, other state", plantRoot, "fork", "hash-mismatch", "state root"},
		{"parent two below", plantParent, "fork", "bad-parent-link", "names as its parent"},
		{"finalized falls", plantRewind, "finality", "finality-reverted", "n2's finalized block fell"},
		{"safe above latest", plantOrder, "finality", "tag-order", "n2 served"},
		{"finalized is gone", plantTagLost, "finality", "tag-lost", "no finalized block"},
		{"local read goes back", plantStalePeek, "session", "monotonic-reads", "local reads went back"},
		{"wrong local read", plantWrongPeek, "replay", "wrong-local-read", "answered a local read"},
		{"lost write", plantLostWrite, "replay", "lost-write", "acknowledged write"},
		{"stale strong read", plantStaleRead, "replay", "execution-mismatch", "it must have returned"},
		{"failed cas took effect", plantFailedWrite, "replay", "failed-write", "took effect"},
		{"receipt tells another value", plantOtherEffect, "replay", "effect-mismatch", "but its transaction"},
		{"transaction twice", plantTwice, "replay", "duplicate-transaction", "again in block"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSim(rapid.Uint64().Draw(t, "seed"))
				planted := test.plant(s)
				h := s.run(400)
				if !planted() {
					t.Skip("the run gave no occasion")
				}
				r := named(test.checker).Check(context.Background(), h)
				at := slices.IndexFunc(r.Anomalies, func(a checker.Anomaly) bool { return a.Name == test.anomaly })
				if r.Verdict != checker.Invalid || at < 0 {
					t.Fatalf("%s does not find it: %v: %s: %+v", test.checker, r.Verdict, r.Reason, r.Anomalies)
				}
				a := r.Anomalies[at]
				if !strings.Contains(a.Message, test.mentions) || len(a.Witness) == 0 || len(a.Witness) > 6 {
					t.Fatalf("%q should be said in: %s; witness %+v", test.mentions, a.Message, a.Witness)
				}
			})
		})
	}
}

// once returns a hook that acts the first time that it can, and whether it did.
func once(act func(op *history.Op) bool) (answer func(*history.Op), planted func() bool) {
	done := false
	return func(op *history.Op) {
		if !done {
			done = act(op)
		}
	}, func() bool { return done }
}

func plantFork(s *sim) func() bool {
	s.serve = func(node string, b *simBlock) {
		if node == "n3" && b.n == 5 {
			b.h = "0xf0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0"
		}
	}
	return func() bool { return s.tip().n >= 5 }
}

func plantRoot(s *sim) func() bool {
	s.serve = func(node string, b *simBlock) {
		if node == "n4" && b.n == 3 {
			b.root = "0xotherroot"
		}
	}
	return func() bool { return s.tip().n >= 3 }
}

func plantParent(s *sim) func() bool {
	s.serve = func(_ string, b *simBlock) {
		if b.n == 4 {
			b.parent = s.chain[2].h
		}
	}
	return func() bool { return s.tip().n >= 4 }
}

// headField replaces one tag of a head that is above a height.
func headField(tag string, above int64, make func(head Head) history.Value) func(op *history.Op) bool {
	return func(op *history.Op) bool {
		head, ok := ReadHead(op.Value)
		if op.F != "head" || op.Node != "n2" || !ok || head.Latest.N <= above {
			return false
		}
		var kvs []history.Value
		for i, e := range op.Value.Elems() {
			if i%2 == 1 && op.Value.Elems()[i-1].Text() == tag {
				e = make(head)
			}
			kvs = append(kvs, e)
		}
		op.Value = history.MapOf(kvs...)
		return true
	}
}

// afterFirst lets act see only ops of n2's watcher behind its first head.
func afterFirst(act func(op *history.Op) bool) func(op *history.Op) bool {
	heads := 0
	return func(op *history.Op) bool {
		if op.F != "head" || op.Node != "n2" {
			return false
		}
		heads++
		return heads > 1 && act(op)
	}
}

func plantRewind(s *sim) (planted func() bool) {
	top := int64(0)
	s.answer, planted = once(func(op *history.Op) bool {
		head, _ := ReadHead(op.Value)
		if op.F != "head" || op.Node != "n2" {
			return false
		}
		if top < 2 {
			top = head.Finalized.N
			return false
		}
		b := s.chain[top-1]
		return headField("finalized", 0, func(Head) history.Value { return b.value() })(op)
	})
	return planted
}

func plantOrder(s *sim) (planted func() bool) {
	times, node := 0, ""
	s.answer = func(op *history.Op) {
		if node == "" && op.F == "head" && op.Type == history.OK {
			node = op.Node
		}
		if op.Node == node && headField("safe", 0, func(head Head) history.Value {
			b := simBlock{n: head.Latest.N + 1, h: "0xahead", parent: head.Latest.H}
			return b.value()
		})(op) {
			times++
		}
	}
	return func() bool { return times > 2*orderBlocks }
}

func plantTagLost(s *sim) func() bool {
	answer, planted := once(afterFirst(headField("finalized", -1, func(Head) history.Value { return history.Value{} })))
	s.answer, s.calm = answer, true
	return planted
}

func plantStalePeek(s *sim) func() bool {
	last := make(map[history.Process]int64)
	answer, planted := once(func(op *history.Op) bool {
		height, _ := op.Lookup(history.HeightKey)
		n, _ := height.Int()
		if op.F != "peek" || op.Type != history.OK {
			return false
		}
		if before := last[op.Process]; before > 1 && n == before {
			s.place(op, n-1)
			return true
		}
		last[op.Process] = n
		return false
	})
	s.answer, s.calm = answer, true
	return planted
}

func plantWrongPeek(s *sim) (planted func() bool) {
	s.answer, planted = once(func(op *history.Op) bool {
		place, _ := ReadPlace(op)
		if op.F != "peek" || op.Type != history.OK || place.N == 0 {
			return false // the walk of transactions begins at 1
		}
		op.Value = history.Vec(op.Value.Elems()[0], history.Int(999_999))
		return true
	})
	return planted
}

func plantLostWrite(s *sim) (planted func() bool) {
	s.answer, planted = once(func(op *history.Op) bool {
		if op.F != "write" || op.Type != history.OK {
			return false
		}
		op.Set(history.TxKey, history.Text("0xdropped"))
		return true
	})
	return planted
}

func plantStaleRead(s *sim) func() bool {
	done := false
	s.serve = func(_ string, b *simBlock) {
		for i, op := range b.ops {
			if op.f == "read" && op.new > 1 && !done {
				done = true
				old := *op
				old.new--
				b.ops = slices.Clone(b.ops)
				b.ops[i] = &old
				s.chain[b.n].ops = b.ops
			}
		}
	}
	return func() bool { return done }
}

func plantFailedWrite(s *sim) (planted func() bool) {
	s.answer, planted = once(func(op *history.Op) bool {
		if op.F != "cas" || op.Type != history.OK {
			return false
		}
		op.Type = history.Fail
		return true
	})
	return planted
}

func plantOtherEffect(s *sim) (planted func() bool) {
	s.answer, planted = once(func(op *history.Op) bool {
		if op.F != "read" || op.Type != history.OK {
			return false
		}
		op.Value = history.Vec(op.Value.Elems()[0], history.Int(777_777))
		return true
	})
	return planted
}

func plantTwice(s *sim) func() bool {
	done := false
	s.serve = func(_ string, b *simBlock) {
		last := &s.chain[len(s.chain)-1]
		if len(b.ops) == 0 || b.n >= last.n || done {
			return
		}
		for _, op := range b.ops {
			if op.f == "write" {
				done = true
				last.ops = append(slices.Clone(last.ops), op)
				return
			}
		}
	}
	return func() bool { return done }
}
