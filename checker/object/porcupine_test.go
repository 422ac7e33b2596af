package object

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// asPorcupine is m for Porcupine, where an operation in doubt may also not happen.
func asPorcupine[S any](m Model[S]) porcupine.Model {
	n := porcupine.NondeterministicModel{
		Init: func() []any { return []any{m.Init} },
		Step: func(state, input, _ any) []any {
			op := input.(Op)
			var out []any
			if m.Branch != nil {
				for _, next := range m.Branch(state.(S), op) {
					out = append(out, next)
				}
			} else if next, ok := m.Step(state.(S), op); ok {
				out = append(out, next)
			}
			if op.Type == history.Info {
				out = append(out, state)
			}
			return out
		},
	}
	return n.ToModel()
}

func operations(h *history.History) []porcupine.Operation {
	var out []porcupine.Operation
	for _, s := range pairUp(h, false) {
		out = append(out, porcupine.Operation{Input: s.op, Call: int64(s.begin), Return: int64(s.end)})
	}
	return out
}

// askPorcupine judges h; unknown where it takes too long.
func askPorcupine[S any](h *history.History, m Model[S]) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(asPorcupine(m), operations(h), time.Second/4)
}

// against checks larger histories against Porcupine.
func against[S any](t *testing.T, s subject[S], ops int) {
	verdicts := map[porcupine.CheckResult]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := s.model()
		h := s.sized(t, m, rapid.Bool().Draw(t, "unique"), rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "crash"), ops)
		want := askPorcupine(h, m)
		verdicts[want]++
		got := check(h, m, Options{})
		if got.Facts == 0 || want == porcupine.Unknown {
			return
		}
		if (got.Verdict == checker.Valid) != (want == porcupine.Ok) {
			t.Fatalf("%v (%s), Porcupine says %v of\n%s", got.Verdict, got.Reason, want, text(h))
		}
	})
	if verdicts[porcupine.Ok] < 5 || verdicts[porcupine.Illegal] < 5 {
		t.Fatalf("%v shows nothing", verdicts)
	}
}

func TestAgainstPorcupine(t *testing.T) {
	queue := container("enqueue", "dequeue", 1)
	for name, model := range map[string]func() Model[string]{"fifo": fifo, "bag": bag, "priority": priorityQueue} {
		queue.model = model
		t.Run(name, func(t *testing.T) { against(t, queue, 20) })
	}
	s := container("push", "pop", 1)
	s.model = stack
	t.Run("stack", func(t *testing.T) { against(t, s, 20) })
}

// TestFromPorcupine judges with a model as users of Porcupine have it.
func TestFromPorcupine(t *testing.T) {
	type input struct {
		write bool
		value int64
	}
	model := porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, in, out any) (bool, any) {
			if in := in.(input); in.write {
				return true, in.value
			}
			return out == nil || out == state, state
		},
	}
	decode := func(op Op) (any, any, bool) {
		switch op.F {
		case "write":
			n, _ := op.Arg.Int()
			return input{true, n}, nil, true
		case "read":
			if n, ok := op.Result.Int(); ok {
				return input{}, n, true
			}
			return input{}, nil, true
		}
		return nil, nil, false
	}
	equal := model
	equal.Equal = func(a, b any) bool { return a == b }
	hashed := equal
	hashed.Hash = func(state any) uint64 { return uint64(state.(int64)) }
	split := model
	split.Partition = func(ops []porcupine.Operation) [][]porcupine.Operation { return [][]porcupine.Operation{ops} }
	events := model
	events.PartitionEvent = func(es []porcupine.Event) [][]porcupine.Event { return [][]porcupine.Event{es} }
	rapid.Check(t, func(t *rapid.T) {
		s := registers(3, simulation{processes: 4, ops: 9, crash: 20})
		draw := s.draw
		s.draw = func(t *rapid.T) (string, history.Value) {
			f, arg := draw(t)
			if f == "cas" {
				return "other", arg
			}
			return f, arg
		}
		h := s.run(t)
		want := check(h, Model[int64]{Name: "register", Ops: []string{"read", "write"}, Step: register(true).Step}, Options{})
		for i, m := range []porcupine.Model{model, equal, hashed, split, events} {
			got := check(h, FromPorcupine(m, decode), Options{})
			if got.Verdict != want.Verdict && want.Facts > 0 {
				t.Fatalf("%d: %v (%s), want %v of\n%s", i, got.Verdict, got.Reason, want.Verdict, text(h))
			}
		}
	})
}
