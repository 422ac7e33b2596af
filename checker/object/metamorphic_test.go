package object

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// TestSameVerdict changes histories in ways that cannot matter.
func TestSameVerdict(t *testing.T) {
	queue := container("enqueue", "dequeue", 1)
	queue.model = fifo
	stacks := container("push", "pop", 1)
	stacks.model = stack
	for name, s := range map[string]subject[string]{"fifo": queue, "stack": stacks} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				draw := func() *history.History {
					return s.histories(t, s.model(), rapid.Bool().Draw(t, "unique"), rapid.SampledFrom([]int{0, 20}).Draw(t, "crash"))
				}
				h := draw()
				want := check(h, s.model(), Options{})
				same := func(what string, h *history.History) {
					if got := check(h, s.model(), Options{}); got.Verdict != want.Verdict {
						t.Fatalf("%s: %v, was %v: %s\n%s", what, got.Verdict, want.Verdict, got.Reason, text(h))
					}
				}
				same("other values", mapped(h, func(op *history.Op) bool {
					if n, ok := op.Value.Int(); ok {
						op.Value = history.Vec(history.Text("v"), history.Int(-n))
					}
					return true
				}))
				same("other processes", mapped(h, func(op *history.Op) bool {
					n, _ := op.Process.Client()
					op.Process = history.Client(1<<40 - n)
					return true
				}))
				same("no word of what is in doubt", mapped(h, func(op *history.Op) bool { return op.Type != history.Info }))
				same("a nemesis", mapped(h, func(op *history.Op) bool {
					if op.Type == history.Info {
						op.Process = history.Nemesis()
					}
					return true
				}))
				// Two histories under two keys are as good as the worse one.
				other := draw()
				worst := want.Verdict
				if got := check(other, s.model(), Options{}); got.Facts > 0 && want.Facts > 0 {
					worst = checker.Worst(worst, got.Verdict)
				} else {
					return
				}
				both := merge(t, keyedWith(h, 1, 0), keyedWith(other, 2, 1000))
				if got := check(both, s.model(), Options{Keyed: true}); got.Verdict != worst {
					t.Fatalf("together %v, want %v: %s", got.Verdict, worst, got.Reason)
				}
			})
		})
	}
}

// mapped returns a copy of h in which change changed each op, or left it out.
func mapped(h *history.History, change func(*history.Op) bool) *history.History {
	out := &history.History{}
	for _, op := range h.Ops {
		if change(&op) {
			out.Ops = append(out.Ops, op)
		}
	}
	return out
}

func keyedWith(h *history.History, key, shift int64) *history.History {
	return mapped(h, func(op *history.Op) bool {
		n, _ := op.Process.Client()
		op.Process = history.Client(n + shift)
		op.Value = history.Vec(history.Int(key), op.Value)
		return true
	})
}

// merge puts two histories into one in any order.
func merge(t *rapid.T, a, b *history.History) *history.History {
	out := &history.History{}
	for i, k := 0, 0; i < len(a.Ops) || k < len(b.Ops); {
		if k == len(b.Ops) || i < len(a.Ops) && rapid.Bool().Draw(t, "first") {
			out.Ops = append(out.Ops, a.Ops[i])
			i++
		} else {
			out.Ops = append(out.Ops, b.Ops[k])
			k++
		}
	}
	return out
}
