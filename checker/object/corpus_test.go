package object

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// judgeFile gives a file of the corpus to a stream.
func judgeFile(t testing.TB, path string, begin func(format.Traits) checker.Stream) checker.Result {
	t.Helper()
	f, err := format.Open(path, format.Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := begin(f.Traits())
	if err := f.Each(context.Background(), func(e *history.Event) error { s.Take(e); return nil }); err != nil {
		t.Fatal(err)
	}
	return s.Finish(context.Background(), f.Source())
}

// initialOf reads the initial column of a row.
func initialOf(t testing.TB, text string) history.Value {
	if text == "" || !strings.HasPrefix(text, "{") {
		return history.Value{}
	}
	return historytest.Read(t, "{:type :ok :f :x :value "+text+"}").Ops[0].Value
}

func TestCorpus(t *testing.T) {
	rows, decided := 0, map[string]int{}
	run := func(row historytest.Row, label string, begin func(format.Traits) checker.Stream) {
		rows++
		start := time.Now()
		r := judgeFile(t, row.Path, begin)
		if r.Verdict.String() != row.Expected {
			t.Errorf("%s (%s): %v, the source says %s: %s", row.Name, label, r.Verdict, row.Expected, r.Reason)
			return
		}
		decided[label]++
		if r.Verdict == checker.Invalid {
			checkWitness(t, row.Name, r)
		}
		if took := time.Since(start); took > time.Second {
			t.Logf("%s (%s) took %v", row.Name, label, took)
		}
	}
	for _, row := range historytest.Rows(t) {
		if row.Expected != "valid" && row.Expected != "invalid" {
			continue
		}
		switch row.Model {
		case "kv":
			run(row, "kv", func(format.Traits) checker.Stream { return Stream(kvCell(), Options{}) })
			if strings.Contains(row.Name, "c01") || strings.Contains(row.Name, "c10") {
				run(row, "kv whole", func(format.Traits) checker.Stream { return Stream(kvWhole(), Options{Whole: true}) })
			}
		case "multi-register":
			run(row, row.Model, func(format.Traits) checker.Stream {
				o := Options{NilAny: true, Initial: initialOf(t, row.Initial)}
				return Stream(multiRegister(o.Initial, o.NilAny), o)
			})
		case "mutex":
			run(row, row.Model, func(format.Traits) checker.Stream { return Stream(semaphore(history.Value{}), Options{}) })
		case "register", "cas-register":
			if strings.Contains(row.Options, "sequential") {
				continue
			}
			run(row, "a user's register", func(traits format.Traits) checker.Stream {
				keyed := strings.Contains(row.Options, "independent keys") || traits.Keyed
				return Stream(userRegister(!traits.NilAbsent), Options{Keyed: keyed, EmptyValid: true})
			})
		}
	}
	t.Logf("%d rows, agreement: %v", rows, decided)
	if rows < 100 {
		t.Errorf("only %d rows were judged", rows)
	}
}

// checkWitness judges a witness by what it must have.
func checkWitness(t *testing.T, name string, r checker.Result) {
	t.Helper()
	if len(r.Anomalies) == 0 {
		t.Errorf("%s: invalid without an anomaly", name)
	}
	for _, a := range r.Anomalies {
		if len(a.Witness) == 0 || a.Message == "" || len(a.Blocked) == 0 {
			t.Errorf("%s: anomaly says too little: %+v", name, a)
		}
		if len(a.Witness) > 40 {
			t.Logf("%s: witness of %d ops", name, len(a.Witness))
		}
	}
}

// userRegister is the cas-register that a user might write, with strings for
// states.
func userRegister(nilAny bool) Model[string] {
	return Model[string]{
		Name: "register", Ops: []string{"read", "write", "cas", "cas-miss"}, Init: history.Value{}.Key(),
		Pure: func(op Op) bool { return op.F == "read" || op.F == "cas-miss" },
		Step: func(state string, op Op) (string, bool) {
			switch op.F {
			case "write":
				return op.Arg.Key(), true
			case "cas", "cas-miss":
				e := op.Arg.Elems()
				if len(e) != 2 {
					return state, false
				}
				if op.F == "cas-miss" {
					return state, e[0].Key() != state
				}
				return e[1].Key(), e[0].Key() == state
			}
			return state, op.Type == history.Info || op.Result.Key() == state || nilAny && op.Result.IsNil()
		},
	}
}
