package object

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

// subject is a model with what it takes to draw histories of it.
type subject[S any] struct {
	model   func() Model[S]
	draw    func(t *rapid.T, fresh func() history.Value) (string, history.Value)
	results func(f string, arg history.Value) []history.Value
	answer  func(state S, m Model[S], f string, arg history.Value) history.Value // instead of a search in results
}

func ints(to int64) []history.Value {
	var out []history.Value
	for n := range to {
		out = append(out, history.Int(n))
	}
	return out
}

// histories draws histories of the subject's object.
func (s subject[S]) histories(t *rapid.T, m Model[S], unique bool, crash int) *history.History {
	return s.sized(t, m, unique, crash, 9)
}

func (s subject[S]) sized(t *rapid.T, m Model[S], unique bool, crash, ops int) *history.History {
	state, last := m.Init, int64(0)
	fresh := func() history.Value {
		if unique {
			last++
			return history.Int(last)
		}
		return history.Int(rapid.Int64Range(1, 3).Draw(t, "value"))
	}
	step := func(op Op) bool {
		if m.Branch != nil {
			nexts := m.Branch(state, op)
			if len(nexts) > 0 {
				state = nexts[rapid.IntRange(0, len(nexts)-1).Draw(t, "branch")]
			}
			return len(nexts) > 0
		}
		next, ok := m.Step(state, op)
		if ok {
			state = next
		}
		return ok
	}
	return simulation{
		processes: rapid.IntRange(1, 5).Draw(t, "processes"), ops: rapid.IntRange(2, ops).Draw(t, "ops"), crash: crash,
		draw: func(t *rapid.T) (string, history.Value) { return s.draw(t, fresh) },
		apply: func(f string, arg history.Value) history.Value {
			if s.answer != nil {
				result := s.answer(state, m, f, arg)
				step(Op{F: f, Type: history.OK, Arg: arg, Result: result})
				return result
			}
			for _, result := range s.results(f, arg) {
				if step(Op{F: f, Type: history.OK, Arg: arg, Result: result}) {
					return result
				}
			}
			return arg
		},
		wrong: func(t *rapid.T, f string, right history.Value) history.Value {
			return rapid.SampledFrom(s.results(f, right)).Draw(t, "lie")
		},
	}.run(t)
}

// held checks that every engine and monitor agrees with brute force on histories
// of the subject.
func held[S any](t *testing.T, s subject[S]) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := s.model()
		h := s.histories(t, m, rapid.Bool().Draw(t, "unique"), rapid.SampledFrom([]int{0, 0, 25}).Draw(t, "crash"))
		if agree(t, h, m, Options{}) {
			valid++
		} else {
			invalid++
		}
	})
	if !testing.Short() && (valid < 5 || invalid < 5) {
		t.Fatalf("%d valid and %d invalid histories show nothing", valid, invalid)
	}
}

func container(put, take string, draws int) subject[string] {
	return subject[string]{
		draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
			if rapid.IntRange(0, draws).Draw(t, "f") == 0 {
				return take, history.Value{}
			}
			return put, fresh()
		},
		results: func(f string, arg history.Value) []history.Value {
			if f == put {
				return []history.Value{arg}
			}
			return append(ints(32)[1:], history.Value{})
		},
	}
}

func TestFIFO(t *testing.T) {
	s := container("enqueue", "dequeue", 1)
	s.model = fifo
	held(t, s)
}

func TestBag(t *testing.T) {
	s := container("enqueue", "dequeue", 1)
	s.model = bag
	held(t, s)
}

func TestPriorityQueue(t *testing.T) {
	s := container("enqueue", "dequeue", 1)
	s.model = priorityQueue
	held(t, s)
}

func TestStack(t *testing.T) {
	s := container("push", "pop", 1)
	s.model = stack
	held(t, s)
}

func TestSet(t *testing.T) {
	for name, fs := range map[string][]string{
		"members": {"add", "add", "contains"}, "grows": {"add", "read"}, "answers": {"add", "remove", "contains"}, "pairs": {"add", "remove", "contains"}, "all": setOps(),
	} {
		t.Run(name, func(t *testing.T) {
			held(t, subject[string]{
				model: setModel,
				draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
					f := rapid.SampledFrom(fs).Draw(t, "f")
					elem := history.Int(rapid.Int64Range(1, 3).Draw(t, "value"))
					switch f {
					case "read":
						return f, history.Value{}
					case "add":
						elem = fresh()
					}
					if name == "pairs" {
						elem = history.Vec(elem, rapid.SampledFrom([]history.Value{history.Flag(true), elem}).Draw(t, "second"))
					}
					return f, elem
				},
				results: func(f string, arg history.Value) []history.Value {
					switch f {
					case "read":
						elems := arg.Elems()
						out := []history.Value{arg, history.SetOf(append(slices.Clone(elems), history.Int(99))...)}
						for i := range elems {
							out = append(out, history.Vec(slices.Delete(slices.Clone(elems), i, i+1)...))
							out = append(out, history.Vec(append(slices.Clone(elems), elems[i])...))
						}
						return out
					case "contains":
						return []history.Value{history.Flag(true), history.Flag(false)}
					}
					return []history.Value{arg, history.Flag(true), history.Flag(false)}
				},
				answer: func(state string, m Model[string], f string, arg history.Value) history.Value {
					if f == "read" {
						for _, e := range subsets {
							if _, ok := m.Step(state, Op{F: f, Type: history.OK, Result: e}); ok {
								return e
							}
						}
						return history.Value{}
					}
					if name == "answers" || name == "pairs" || f == "contains" {
						_, is := m.Step(state, Op{F: f, Type: history.OK, Arg: arg, Result: history.Flag(true)})
						if name == "pairs" || name == "members" {
							return history.Vec(arg, history.Flag(is))
						}
						return history.Flag(is)
					}
					return arg
				},
			})
		})
	}
}

// subsets are all sets of the integers from 1 to 9.
var subsets = func() []history.Value {
	var out []history.Value
	for bits := range 1 << 9 {
		var elems []history.Value
		for n := range 9 {
			if bits>>n&1 == 1 {
				elems = append(elems, history.Int(int64(n+1)))
			}
		}
		out = append(out, history.SetOf(elems...))
	}
	return out
}()

func TestCounter(t *testing.T) {
	held(t, subject[int64]{
		model: func() Model[int64] { return counter(history.Int(2)) },
		draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
			if rapid.Bool().Draw(t, "read") {
				return "read", history.Value{}
			}
			return "add", history.Int(rapid.Int64Range(-2, 3).Draw(t, "n"))
		},
		results: func(f string, arg history.Value) []history.Value {
			if f == "add" {
				return []history.Value{arg}
			}
			return append(append(ints(30), history.Value{}), history.Int(-1), history.Int(-2), history.Int(-3))
		},
	})
}

func TestFetching(t *testing.T) {
	held(t, subject[int64]{
		model: func() Model[int64] { return fetching(history.Value{}) },
		draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
			return rapid.SampledFrom(fetching(history.Value{}).Ops).Draw(t, "f"), history.Value{}
		},
		results: func(f string, arg history.Value) []history.Value { return ints(10) },
	})
}

func TestSemaphore(t *testing.T) {
	held(t, subject[int64]{
		model: func() Model[int64] { return semaphore(history.Int(2)) },
		draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
			return rapid.SampledFrom([]string{"acquire", "release"}).Draw(t, "f"), history.Value{}
		},
		results: func(f string, arg history.Value) []history.Value { return []history.Value{{}} },
	})
}
