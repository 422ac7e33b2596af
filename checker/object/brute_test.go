package object

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// simple is an operation of a brute-force check.
type simple struct {
	op         Op
	begin, end int // end is never where it has none
}

// pairUp reads the operations of a history without keys, in a way of its own.
func pairUp(h *history.History, fails bool) []simple {
	var out []simple
	for _, pair := range h.Pairs() {
		s := simple{begin: -1, end: never}
		if pair.Invoke >= 0 {
			op := &h.Ops[pair.Invoke]
			s.begin, s.op.F, s.op.Arg = pair.Invoke, op.F, op.Value
		}
		s.op.Type = history.Info
		if pair.Complete >= 0 {
			op := &h.Ops[pair.Complete]
			if op.Type == history.Fail && !fails {
				continue
			}
			if s.begin < 0 {
				s.op.F, s.op.Arg = op.F, op.Value
			}
			if op.Type != history.Info {
				s.op.Type, s.op.Result, s.end = op.Type, op.Value, pair.Complete
			}
		}
		out = append(out, s)
	}
	return out
}

// bruteForce tries every order of the operations: the definition of
// linearizability written down.
func bruteForce[S any](m Model[S], ops []simple, state S) bool {
	earliest := never
	for i := range ops {
		earliest = min(earliest, ops[i].end)
	}
	if earliest == never {
		return true
	}
	for i := range ops {
		if ops[i].begin > earliest {
			continue
		}
		var nexts []S
		if m.Branch != nil {
			nexts = m.Branch(state, ops[i].op)
		} else if next, ok := m.Step(state, ops[i].op); ok {
			nexts = []S{next}
		}
		rest := append(append([]simple(nil), ops[:i]...), ops[i+1:]...)
		for _, next := range nexts {
			if bruteForce(m, rest, next) {
				return true
			}
		}
	}
	return false
}

// simulation draws histories of an object: a few clients whose operations take
// effect at some moment while they are open, or never, and whose answers are now
// and then wrong.
type simulation struct {
	processes int
	ops       int
	draw      func(t *rapid.T) (f string, arg history.Value)
	// apply does an operation and returns its result.
	apply func(f string, arg history.Value) history.Value
	// wrong returns a result that may be wrong.
	wrong func(t *rapid.T, f string, right history.Value) history.Value
	// crash, fail: percent
	crash, fail int
}

func (s simulation) run(t *rapid.T) *history.History {
	type client struct {
		id    int64
		state int
		op    history.Op
	}
	h := &history.History{}
	add := func(op history.Op) {
		op.Index = int64(len(h.Ops))
		op.Time = history.Absent
		h.Ops = append(h.Ops, op)
	}
	clients := make([]client, s.processes)
	for i := range clients {
		clients[i].id = int64(i)
	}
	lies := rapid.IntRange(0, 2).Draw(t, "lies")
	next, begun := int64(s.processes), 0
	percent := func(label string) int { return rapid.IntRange(0, 99).Draw(t, label) }
	for steps := 0; steps < 6*s.ops; steps++ {
		c := &clients[rapid.IntRange(0, s.processes-1).Draw(t, "who")]
		switch c.state {
		case 0:
			if begun == s.ops {
				continue
			}
			begun++
			f, arg := s.draw(t)
			c.op = history.Op{Type: history.Invoke, Process: history.Client(c.id), F: f, Value: arg}
			add(c.op)
			c.state = 1
		case 1:
			if percent("fails") < s.fail {
				c.op.Type = history.Fail
				c.state = 2
				continue
			}
			c.op.Type = history.OK
			if s.crash > 0 && percent("crashes") < s.crash {
				c.op.Type = history.Info
				if rapid.Bool().Draw(t, "happened") {
					s.apply(c.op.F, c.op.Value)
				}
				c.state = 2
				continue
			}
			c.op.Value = s.apply(c.op.F, c.op.Value)
			if lies > 0 && percent("lies") < 8*lies {
				c.op.Value = s.wrong(t, c.op.F, c.op.Value)
			}
			c.state = 2
		case 2:
			if c.op.Type == history.Info {
				if rapid.Bool().Draw(t, "silent") {
					add(c.op)
				}
				c.id, next = next, next+1
			} else {
				add(c.op)
			}
			c.state = 0
		}
	}
	return h
}

func check[S any](h *history.History, m Model[S], o Options) checker.Result {
	return checker.Streamed(func() checker.Stream { return Stream(m, o) }).Check(context.Background(), h)
}

func text(h *history.History) string {
	var out string
	for i := range h.Ops {
		out += fmt.Sprintln(h.Ops[i].String())
	}
	return out
}

// agree checks that every engine says of h what brute force says.
func agree[S any](t *rapid.T, h *history.History, m Model[S], o Options) bool {
	want := checker.Invalid
	if bruteForce(m, pairUp(h, m.Fails), m.Init) {
		want = checker.Valid
	}
	for _, only := range []engine{anyEngine, depthOnly, frontierOnly, searchOnly} {
		o.only = only
		got := check(h, m, o)
		if got.Verdict == checker.Unknown && got.Facts == 0 {
			continue
		}
		if got.Verdict != want {
			t.Fatalf("engine %d says %v (%s), brute force %v of\n%s", only, got.Verdict, got.Reason, want, text(h))
		}
		if want == checker.Invalid {
			explained(t, h, got, func(h *history.History) checker.Result { return check(h, m, o) })
		}
	}
	return want == checker.Valid
}

// explained checks that each witness is not linearizable by itself, and that an
// anomaly says what it must.
func explained(t *rapid.T, h *history.History, got checker.Result, again func(*history.History) checker.Result) {
	if len(got.Anomalies) == 0 {
		t.Fatalf("invalid without an anomaly: %s", got.Reason)
	}
	for _, a := range got.Anomalies {
		part := &history.History{}
		for _, ref := range a.Witness {
			if ref.Op != h.Ops[ref.Index].String() {
				t.Fatalf("witness says that op %d is %s", ref.Index, ref.Op)
			}
			part.Ops = append(part.Ops, h.Ops[ref.Index])
		}
		if r := again(part); r.Verdict != checker.Invalid {
			t.Fatalf("the witness by itself is %v: %s\n%s\nof\n%s", r.Verdict, a.Message, text(part), text(h))
		}
		if a.Name != "nonlinearizable" || a.Message == "" || a.State == "" || len(a.Blocked) == 0 {
			t.Fatalf("the anomaly says too little: %+v", a)
		}
	}
}

// register is a model as a user would write it, with cas; pure says whether it
// tells which operations are pure.
func register(pure bool) Model[int64] {
	m := Model[int64]{
		Name: "register",
		Step: func(v int64, op Op) (int64, bool) {
			switch op.F {
			case "write":
				n, _ := op.Arg.Int()
				return n, true
			case "cas":
				from, _ := op.Arg.Elems()[0].Int()
				to, _ := op.Arg.Elems()[1].Int()
				return to, v == from
			}
			n, _ := op.Result.Int()
			return v, op.Type == history.Info || n == v
		},
	}
	if pure {
		m.Pure = func(op Op) bool { return op.F == "read" }
	}
	return m
}

func registers(values int64, s simulation) simulation {
	state := int64(0)
	s.draw = func(t *rapid.T) (string, history.Value) {
		n := history.Int(rapid.Int64Range(0, values).Draw(t, "value"))
		switch rapid.IntRange(0, 3).Draw(t, "f") {
		case 0:
			return "write", n
		case 1:
			return "cas", history.Vec(n, history.Int(rapid.Int64Range(0, values).Draw(t, "to")))
		}
		return "read", history.Value{}
	}
	s.apply = func(f string, arg history.Value) history.Value {
		switch f {
		case "write":
			state, _ = arg.Int()
		case "cas":
			if from, _ := arg.Elems()[0].Int(); from == state {
				state, _ = arg.Elems()[1].Int()
			}
		case "read":
			return history.Int(state)
		}
		return arg
	}
	s.wrong = func(t *rapid.T, f string, right history.Value) history.Value {
		if f == "read" {
			return history.Int(rapid.Int64Range(0, values).Draw(t, "lie"))
		}
		return right
	}
	return s
}

// TestEqualCalls is about many calls that are the same, of which some meet a
// moment at which they change nothing, without the model's word for it.
func TestEqualCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := registers(rapid.Int64Range(1, 2).Draw(t, "values"), simulation{processes: 6, ops: 9, crash: rapid.SampledFrom([]int{0, 0, 20}).Draw(t, "crash")})
		draw := s.draw
		s.draw = func(t *rapid.T) (string, history.Value) {
			for {
				if f, arg := draw(t); f != "cas" {
					return f, arg
				}
			}
		}
		agree(t, s.run(t), register(false), Options{blind: true})
	})
}

func TestSearchAgreesWithBruteForce(t *testing.T) {
	for _, pure := range []bool{false, true} {
		t.Run(fmt.Sprintf("pure=%v", pure), func(t *testing.T) {
			valid, invalid := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				s := registers(rapid.Int64Range(1, 3).Draw(t, "values"), simulation{
					processes: rapid.IntRange(1, 5).Draw(t, "processes"), ops: 9,
					crash: rapid.SampledFrom([]int{0, 20}).Draw(t, "crash")})
				m := register(pure)
				o := Options{blind: rapid.Bool().Draw(t, "blind")}
				if agree(t, s.run(t), m, o) {
					valid++
				} else {
					invalid++
				}
			})
			if valid < 5 || invalid < 5 {
				t.Fatalf("%d valid and %d invalid histories show nothing", valid, invalid)
			}
		})
	}
}
