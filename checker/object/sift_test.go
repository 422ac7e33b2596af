package object

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// verdicts is a table of histories and what is said of them.
type verdicts map[string]struct {
	model   string
	options Options
	ops     []string
	verdict checker.Verdict
	says    string
}

func (vs verdicts) run(t *testing.T) {
	for name, c := range vs {
		for _, c.options.Whole = range []bool{false, true} {
			r := judge(t, c.model, c.options, seq(c.ops...))
			if r.Verdict != c.verdict || !strings.Contains(r.Reason, c.says) {
				t.Errorf("%s: %v: %s", name, r.Verdict, r.Reason)
			}
		}
	}
}

// TestRejected judges histories with values that are none of their operation's.
func TestRejected(t *testing.T) {
	const no, bad = checker.Unknown, checker.Invalid
	txn, set, keyed := "multi-register", "set", Options{Keyed: true}
	initial := func(v history.Value) Options { return Options{Initial: v} }
	verdicts{
		"micro-op append":     {txn, Options{}, []string{"txn [[:write 1 1]]", "txn [[:append 1 5]]"}, no, "op 3: txn [[:append 1 5]]: its micro-op is [:append 1 5], want [:read key value] or [:write key value]"},
		"micro-op dance":      {txn, Options{}, []string{"txn [[:dance 1 5]]"}, no, "[:dance 1 5]"},
		"no txn":              {txn, Options{}, []string{"txn 5"}, no, "its value is 5, want micro-ops"},
		"text for a txn":      {txn, Options{}, []string{`txn "x"`}, no, `its value is "x", want micro-ops`},
		"no micro-op":         {txn, Options{}, []string{"txn [5]"}, no, "its micro-op is 5"},
		"long micro-op":       {txn, Options{}, []string{"txn [[:write 1 2 3]]"}, no, "[:write 1 2 3]"},
		"txn of nothing":      {txn, Options{}, []string{"txn [[:write 1 1]] -> nil"}, no, "returned, its value is nil"},
		"another txn":         {txn, Options{}, []string{"txn [[:write 1 1]] -> [[:write 1 2]]"}, no, "want [:write 1 1] as in its invocation"},
		"shorter txn":         {txn, Options{}, []string{"txn [[:read 1 nil] [:write 1 1]] -> [[:read 1 nil]]"}, no, "1 micro-ops, want the 2"},
		"invalid before":      {txn, Options{}, []string{"txn [[:read 1 nil]] -> [[:read 1 7]]", "txn [[:append 1 5]]"}, bad, "not linearizable"},
		"explained by append": {txn, Options{}, []string{"txn [[:append 1 5]]", "txn [[:read 1 nil]] -> [[:read 1 5]]"}, no, "[:append 1 5]"},
		"registers":           {txn, initial(history.Int(1)), []string{"txn [[:write 1 1]]"}, no, "initial value 1, want a map"},

		"counter read":      {"counter", Options{}, []string{"add 1", `read nil -> "foo"`}, no, `it returned "foo", want an integer`},
		"read, yet invalid": {"counter", Options{}, []string{"add 1", `read nil -> "foo"`, "read nil -> 7"}, bad, "read → 7"},
		"counter add":       {"counter", Options{}, []string{"add 1.5", "read nil -> 1"}, no, "its value is 1.5"},
		"counter answers":   {"counter", Options{}, []string{"add 1 -> 2"}, no, "it returned 2, want 1"},
		"counter wraps":     {"counter", Options{}, []string{"add 9223372036854775807", "add 9223372036854775807", "read nil -> -2"}, no, "larger sums might wrap"},
		"counter wraps low": {"counter", Options{}, []string{"add -9223372036854775808", "add -9223372036854775808", "read nil -> 0"}, no, "larger sums might wrap"},
		"far read":          {"counter", initial(history.Int(-mostSum)), []string{"add 1", "read nil -> 9223372036854775807"}, bad, "read → 9223372036854775807"},
		"large read":        {"counter", Options{}, []string{"add 1", "read nil -> 18446744073709551617"}, no, "want an integer of 64 bits"},
		"counter start":     {"counter", initial(history.Text("x")), []string{"add 1"}, no, `initial value "x", want an integer`},
		"fetching":          {"fetch-and-increment", Options{}, []string{"fetch-and-increment nil -> :x"}, no, "it returned :x"},
		"fetching by 5":     {"fetch-and-increment", Options{}, []string{"fetch-and-increment 5 -> 0"}, no, "its value is 5"},
		"fetching far":      {"fetch-and-increment", Options{}, []string{"increment-and-get nil -> 9223372036854775807", "read nil -> -9223372036854775808"}, bad, "increment-and-get"},
		"fetching start":    {"fetch-and-increment", initial(history.Int(1 << 62)), []string{"read nil -> 1"}, no, "initial value"},
		"permits":           {"semaphore", Options{}, []string{"acquire 2"}, no, "its value is 2"},
		"no permit":         {"semaphore", Options{}, []string{"acquire nil -> false"}, no, "it returned false"},
		"permits start":     {"semaphore", initial(history.Int(-1)), []string{"acquire nil"}, no, "initial value -1"},

		"contains 5":    {set, Options{}, []string{"add 1", "contains 1 -> 5"}, no, "it returned 5, want true, false or [1 true]"},
		"contains nil":  {set, Options{}, []string{"contains 1 -> nil"}, no, "it returned nil"},
		"of another":    {set, Options{}, []string{"contains 1 -> [2 false]"}, no, "it returned [2 false]"},
		"add of others": {set, Options{}, []string{"add 1 -> 2"}, no, "it returned 2"},
		"read a map":    {set, Options{}, []string{"read nil -> {1 2}"}, no, "want a set or vector"},

		"another key":    {"kv", Options{}, []string{`get ["a" nil] -> ["b" "x"]`}, no, `its key is "b", want "a" as in its invocation`},
		"put of another": {"kv", Options{}, []string{`put ["a" "x"] -> ["a" "y"]`}, no, `want "x" as in its invocation`},
		"no pair":        {"kv", Options{}, []string{`put 5`}, no, "its value is"},
		"keyed":          {"counter", keyed, []string{"add [1 1] -> [2 1]", "read [2 nil] -> [2 1]"}, no, "its key is 2, want 1"},
		"keyed, invalid": {"counter", keyed, []string{"read [2 nil] -> [2 1]", "add [1 1] -> [2 1]"}, bad, "key 2 is not linearizable"},

		"enqueue nil":       {"fifo-queue", Options{}, []string{"enqueue nil", "dequeue nil"}, no, "its value is nil, want an element"},
		"enqueued other":    {"fifo-queue", Options{}, []string{"enqueue 1 -> 2"}, no, "it returned 2, want 1"},
		"enqueue was full":  {"unordered-queue", Options{}, []string{"enqueue 1 -> false"}, no, "it returned false"},
		"push nil":          {"stack", Options{}, []string{"push nil"}, no, "want an element"},
		"priority of text":  {"priority-queue", Options{}, []string{`enqueue "x"`, `dequeue nil -> "x"`}, no, `its value is "x", want an integer`},
		"priority dequeued": {"priority-queue", Options{}, []string{"enqueue 1", `dequeue nil -> "x"`}, no, `it returned "x"`},
	}.run(t)
	doubt := "{:process 0 :type :invoke :f :txn :value [[:append 1 5]]}\n{:process 1 :type :invoke :f :txn :value [[:read 1 nil]]}\n{:process 1 :type :ok :f :txn :value [[:read 1 nil]]}\n"
	for name, text := range map[string]string{"info": doubt + "{:process 0 :type :info :f :txn}", "open": doubt} {
		if r := judge(t, txn, Options{}, text); r.Verdict != no || !strings.Contains(r.Reason, "op 0: txn [[:append 1 5]], in doubt: ") {
			t.Errorf("%s: %v: %s", name, r.Verdict, r.Reason)
		}
	}
	if r := judge(t, txn, Options{}, doubt+"{:process 0 :type :fail :f :txn}"); r.Verdict != checker.Valid {
		t.Errorf("failed: %v: %s", r.Verdict, r.Reason)
	}
}

// TestPairElements judges sets whose elements are pairs.
func TestPairElements(t *testing.T) {
	verdicts{
		"true":          {"set", Options{}, []string{"add [1 2]", "contains [1 2] -> true"}, checker.Valid, ""},
		"answer":        {"set", Options{}, []string{"add [1 2]", "contains [1 2] -> [[1 2] true]"}, checker.Valid, ""},
		"not there":     {"set", Options{}, []string{"add [1 2]", "contains [1 3] -> true"}, checker.Invalid, "set"},
		"not the first": {"set", Options{}, []string{"add [1 2]", "contains 1 -> [1 true]"}, checker.Invalid, "set"},
		"with booleans": {"set", Options{}, []string{"add [1 true]", "contains [1 true] -> true", "contains [1 false] -> false"}, checker.Valid, ""},
		"echo":          {"set", Options{}, []string{"add [1 true]", "add [1 true]", "contains 1 -> false"}, checker.Valid, ""},
		"to fill in":    {"set", Options{}, []string{"add 1", "contains [1 nil] -> [1 true]", "contains [2 nil] -> [2 false]"}, checker.Valid, ""},
		"filled wrong":  {"set", Options{}, []string{"add 1", "contains [1 nil] -> [1 false]"}, checker.Invalid, "contains"},
	}.run(t)
	r := judge(t, "set", Options{}, "{:type :ok :f :add :value 1}\n{:type :ok :f :contains :value [1 true]}")
	if r.Verdict != checker.Valid {
		t.Errorf("completions only: %v: %s", r.Verdict, r.Reason)
	}
}

// TestEqualNumbers judges histories that write one number in several ways.
func TestEqualNumbers(t *testing.T) {
	ok := checker.Valid
	verdicts{
		"fifo":     {"fifo-queue", Options{}, []string{"enqueue 1", "dequeue nil -> 1.0", "enqueue 2.0", "dequeue nil -> 2N"}, ok, ""},
		"bag":      {"unordered-queue", Options{}, []string{"enqueue 1.0", "dequeue nil -> 1"}, ok, ""},
		"stack":    {"stack", Options{}, []string{"push [1 2.0]", "pop nil -> [1.0 2]"}, ok, ""},
		"priority": {"priority-queue", Options{}, []string{"enqueue 2", "enqueue 1.0", "dequeue nil -> 1"}, ok, ""},
		"counter":  {"counter", Options{}, []string{"add 1.0", "read nil -> 1"}, ok, ""},
		"set":      {"set", Options{}, []string{"add 1", "contains 1.0 -> [1 true]", "read nil -> [1.0]"}, ok, ""},
		"kv keys":  {"kv", Options{}, []string{`put [1 "x"]`, `get [1.0 nil] -> [1 "x"]`, `get [1.0 nil] -> [1 ""]`}, checker.Invalid, ""},
		"kv":       {"kv", Options{}, []string{"put [1 1]", "get [1.0 nil] -> [1 1.0]"}, ok, ""},
		"keys":     {"counter", Options{Keyed: true}, []string{"add [1 1]", "read [1.0 nil] -> [1N 1]"}, ok, ""},
		"txn":      {"multi-register", Options{}, []string{"txn [[:write 1 1]]", "txn [[:read 1.0 nil]] -> [[:read 1 1.0]]"}, ok, ""},
	}.run(t)
}

// TestRejectedIsSound spoils values in histories of objects that work: whatever was
// there, that is neither valid any more nor proof of anything.
func TestRejectedIsSound(t *testing.T) {
	queue := container("enqueue", "dequeue", 1)
	queue.model = fifo
	adds := subject[int64]{
		model: func() Model[int64] { return counter(history.Value{}) },
		draw: func(t *rapid.T, fresh func() history.Value) (string, history.Value) {
			if rapid.Bool().Draw(t, "read") {
				return "read", history.Value{}
			}
			return "add", history.Int(rapid.Int64Range(1, 3).Draw(t, "n"))
		},
		results: func(f string, arg history.Value) []history.Value {
			if f == "add" {
				return []history.Value{arg}
			}
			return ints(30)
		},
	}
	t.Run("queue", func(t *testing.T) { spoiled(t, queue, "enqueue") })
	t.Run("counter", func(t *testing.T) { spoiled(t, adds, "add", "read") })
}

func spoiled[S any](t *testing.T, s subject[S], spoil ...string) {
	judged := 0
	rapid.Check(t, func(t *rapid.T) {
		m := s.model()
		h := s.histories(t, m, rapid.Bool().Draw(t, "unique"), rapid.SampledFrom([]int{0, 25}).Draw(t, "crash"))
		if !bruteForce(m, pairUp(h, false), m.Init) {
			return
		}
		var at []int
		for i := range h.Ops {
			if h.Ops[i].Type == history.OK && slices.Contains(spoil, h.Ops[i].F) {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return
		}
		h.Ops[rapid.SampledFrom(at).Draw(t, "spoiled")].Value = history.Text("spoiled")
		if r := check(h, m, Options{}); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "spoiled") {
			t.Fatalf("%v: %s of\n%s", r.Verdict, r.Reason, text(h))
		}
		judged++
	})
	if judged < 5 {
		t.Fatalf("%d histories show nothing", judged)
	}
}

// TestUnfit gives models that cannot be searched.
func TestUnfit(t *testing.T) {
	h := historytest.Read(t, seq("x 1", "x 2"))
	push := func(s []int64, op Op) ([]int64, bool) {
		n, _ := op.Arg.Int()
		return append(slices.Clone(s), n), true
	}
	log := Model[[]int64]{Name: "log", Step: push}
	keyed := log
	keyed.Key = func(s []int64) string { return history.Int(int64(len(s))).String() }
	type both struct{ items []int64 }
	for name, c := range map[string]struct {
		got     checker.Result
		verdict checker.Verdict
		says    string
	}{
		"slice":     {Check(context.Background(), log, h, Options{}), checker.Unknown, `model "log": state type []int64 cannot be compared: set Model.Key`},
		"with key":  {Check(context.Background(), keyed, h, Options{}), checker.Valid, "2 operations on the log"},
		"struct":    {check(h, Model[both]{Name: "b", Step: func(s both, _ Op) (both, bool) { return s, true }}, Options{}), checker.Unknown, "object.both cannot be compared"},
		"interface": {check(h, Model[any]{Name: "any", Init: []int{1}, Step: func(s any, _ Op) (any, bool) { return s, true }}, Options{}), checker.Unknown, "state type []int cannot be compared"},
		"later":     {check(h, Model[any]{Name: "any", Step: func(any, Op) (any, bool) { return []int{1}, true }}, Options{}), checker.Unknown, "needs a Key"},
		"no step":   {check(h, Model[int]{Name: "none"}, Options{}), checker.Unknown, "has no Step"},
		"partition": {check(h, Model[int]{Name: "p", Step: func(n int, _ Op) (int, bool) { return n, true }, Partition: func(Op) history.Value { panic("boom") }}, Options{}), checker.Unknown, "the model of p panicked: boom"},
		"reject":    {check(h, Model[int]{Name: "r", Step: func(n int, _ Op) (int, bool) { return n, true }, Reject: func(Op) string { panic("boom") }}, Options{}), checker.Unknown, "the model of r panicked: boom"},
	} {
		if c.got.Verdict != c.verdict || !strings.Contains(c.got.Reason, c.says) {
			t.Errorf("%s: %v: %s", name, c.got.Verdict, c.got.Reason)
		}
	}
	// Of an op in doubt that nobody began, its :info is the place.
	r := judge(t, "stack", Options{}, "{:process 0 :type :info :f :push :value 1}\n"+seq("pop nil -> 1", "pop nil -> 1"))
	if r.Verdict != checker.Invalid || len(r.Anomalies) == 0 || !slices.ContainsFunc(r.Anomalies[0].Order, func(ref checker.Ref) bool { return ref.Index == 0 }) {
		t.Errorf("in doubt before the history: %v: %s", r.Verdict, r.Reason)
	}
}
