package object

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// tangle is a history that is hard to decide: clients overlap, elements repeat, and
// the last answers are wrong.
func tangle(clients, rounds int) *history.History {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &history.History{}
	add := func(p int, kind history.Type, f string, v history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: kind, Process: history.Client(int64(p)), F: f, Value: v})
	}
	for range rounds {
		values := make([]history.Value, clients)
		for p := range clients {
			values[p] = history.Int(rng.Int64N(int64(clients)))
			add(p, history.Invoke, "enqueue", values[p])
		}
		for p := range clients {
			add(p, history.OK, "enqueue", values[p])
		}
	}
	add(0, history.Invoke, "dequeue", history.Value{})
	add(0, history.OK, "dequeue", history.Int(-1))
	return h
}

func TestLimits(t *testing.T) {
	h := tangle(14, 2)
	for name, c := range map[string]struct {
		options Options
		says    string
	}{
		"steps":  {Options{Work: 100_000}, "limit of 100000 steps reached"},
		"memory": {Options{Memory: 16 << 20}, "memory limit of 16 MiB reached: this search may have 4 of it"},
	} {
		var first checker.Result
		for cores := range 2 {
			before := runtime.GOMAXPROCS(cores + 1)
			r := check(h, fifo(), c.options)
			runtime.GOMAXPROCS(before)
			if r.Verdict != checker.Unknown || !strings.Contains(r.Reason, c.says) || !strings.Contains(r.Reason, "fifo-queue with 29 operations was not decided") || !strings.Contains(r.Reason, ", at op ") {
				t.Errorf("%s: %v: %s", name, r.Verdict, r.Reason)
			}
			if cores == 0 {
				first = r
			} else if fmt.Sprint(first) != fmt.Sprint(r) {
				t.Errorf("%s: with another number of cores it is %v, not %v", name, r, first)
			}
		}
	}
	// A bad key is enough: what is hard is left alone.
	keyed := &history.History{}
	for i := range h.Ops {
		op := h.Ops[i]
		op.Value = history.Vec(history.Int(1), op.Value)
		keyed.Ops = append(keyed.Ops, op)
	}
	bad := historytest.Read(t, "{:process 99 :type :invoke :f :dequeue :value [2 nil]}\n{:process 99 :type :ok :f :dequeue :value [2 7]}")
	keyed.Ops = append(keyed.Ops, bad.Ops...)
	r := check(keyed, fifo(), Options{Keyed: true})
	if r.Verdict != checker.Invalid || r.Reason != "key 2 is not linearizable, and 1 of 1 others could not be decided" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	h := tangle(4, 1)
	if r := checker.Streamed(func() checker.Stream { return Stream(fifo(), Options{}) }).Check(ctx, h); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "enough") {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// TestOdd judges histories that are not as they should be.
func TestOdd(t *testing.T) {
	panics := Model[int]{Name: "bomb", Step: func(int, Op) (int, bool) { panic("boom") }}
	lies := Model[int]{Name: "liar", Pure: func(Op) bool { return true }, Step: func(n int, op Op) (int, bool) { return n + 1, true }}
	one := "{:process 0 :type :invoke :f :x :value 1}\n{:process 0 :type :ok :f :x :value 1}\n"
	for name, c := range map[string]struct {
		got     checker.Result
		verdict checker.Verdict
		says    string
	}{
		"empty":              {judge(t, "stack", Options{}, ""), checker.Unknown, "history has no client operation, and this model judges :push, :pop"},
		"empty is fine":      {judge(t, "stack", Options{EmptyValid: true}, ""), checker.Valid, "nothing happened"},
		"others":             {judge(t, "stack", Options{EmptyValid: true}, one), checker.Unknown, "clients did :x, and this model judges only :push, :pop"},
		"nothing completed":  {judge(t, "stack", Options{}, "{:process 0 :type :invoke :f :push :value 1}"), checker.Unknown, "no completed operation"},
		"no key":             {judge(t, "stack", Options{Keyed: true}, seq("push 1")), checker.Unknown, "2 ops make no sense to the model stack, the first is op 0: its value is not [key value]"},
		"no process":         {judge(t, "stack", Options{}, "{:type :invoke :f :push :value 1}"), checker.Unknown, "it has no :process"},
		"completions only":   {judge(t, "stack", Options{}, "{:type :ok :f :push :value 1}\n{:type :ok :f :pop :value 1}"), checker.Valid, "2 operations on the stack are linearizable"},
		"whole ops":          {judge(t, "stack", Options{}, "{:process 1 :type :ok :f :push :value 1}\n{:process 2 :type :ok :f :pop :value 2}"), checker.Invalid, "pop 2"},
		"panic":              {check(historytest.Read(t, one), panics, Options{}), checker.Unknown, "the model of bomb panicked: boom"},
		"not pure":           {check(historytest.Read(t, one), lies, Options{}), checker.Unknown, `the model says that "x 1" is pure, yet it changes the state`},
		"two open":           {judge(t, "stack", Options{}, "{:process 0 :type :invoke :f :push :value 1}\n{:process 0 :type :invoke :f :push :value 2}\n{:process 0 :type :ok :f :push :value 2}\n{:process 1 :type :invoke :f :pop :value nil}\n{:process 1 :type :ok :f :pop :value 1}"), checker.Valid, ""},
		"strange values":     {judge(t, "counter", Options{}, seq("add :x")), checker.Unknown, "op 1: add :x: its value is :x, want an integer"},
		"strange collection": {judge(t, "set", Options{}, seq("add 1", "read nil -> 7")), checker.Unknown, "op 3: read → 7: it returned 7, want a set or vector"},
	} {
		if c.got.Verdict != c.verdict || !strings.Contains(c.got.Reason, c.says) {
			t.Errorf("%s: %v: %s", name, c.got.Verdict, c.got.Reason)
		}
	}
}
