package object

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history/historytest"
)

func judge(t *testing.T, model string, o Options, text string) checker.Result {
	t.Helper()
	h := historytest.Read(t, text)
	for _, m := range Models() {
		if m.Name == model {
			return checker.Streamed(func() checker.Stream { return m.Begin(o) }).Check(context.Background(), h)
		}
	}
	t.Fatalf("no model %q", model)
	return checker.Result{}
}

// seq writes a history of clients one after the other: each op its invocation and
// its completion.
func seq(ops ...string) string {
	var b strings.Builder
	for i, op := range ops {
		f, values, _ := strings.Cut(op, " ")
		arg, result, both := strings.Cut(values, " -> ")
		if !both {
			result = arg
		}
		kind := "ok"
		if rest, fails := strings.CutSuffix(result, " fails"); fails {
			kind, result, arg = "fail", rest, strings.TrimSuffix(arg, " fails")
		}
		fmt.Fprintf(&b, "{:process %d :type :invoke :f :%s :value %s}\n", i%3, f, arg)
		fmt.Fprintf(&b, "{:process %d :type :%s :f :%s :value %s}\n", i%3, kind, f, result)
	}
	return b.String()
}

// explained is what an explanation must come to.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, model string
		options     Options
		ops         []string
		culprit     string
		witness     []int // positions of completions
		state       string
		why         string
		says        string // part of the message
	}{
		{"overtaken", "fifo-queue", Options{},
			[]string{"enqueue 1", "enqueue 2", "enqueue 3", "dequeue nil -> 1", "enqueue 4", "dequeue nil -> 3", "dequeue nil -> 2"},
			"dequeue → 3 by process 2 (ops 10 and 11)", []int{3, 5, 11, 13}, "[2 3]", "takes 3, but 2 is at the head", "put first was taken last"},
		{"equal elements", "fifo-queue", Options{},
			[]string{"enqueue 1", "enqueue 1", "enqueue 3", "dequeue nil -> 1", "dequeue nil -> 3", "dequeue nil -> 1"},
			"dequeue → 3 by process 1 (ops 8 and 9)", []int{1, 3, 5, 7, 9}, "[1 3]", "takes 3, but 1 is at the head", ""},
		{"not empty", "unordered-queue", Options{},
			[]string{"enqueue 1", "enqueue 2", "dequeue nil -> 1", "dequeue nil", "dequeue nil -> 2"},
			"dequeue → nil by process 0 (ops 6 and 7)", []int{3, 7, 9}, "#{2}", "finds nothing, but there are 1 elements: [2]", "surely inside"},
		{"failed put", "stack", Options{},
			[]string{"push 9", "push 5 fails", "pop nil -> 5"},
			"pop → 5 by process 2 (ops 4 and 5)", []int{3, 5}, "[] (top last)", "takes 5, but there is nothing", "push 5, failed by process 1 (ops 2 and 3) would explain it, but it failed."},
		{"lost append", "kv", Options{},
			[]string{`put ["x" "a"]`, `append ["x" "b"]`, `put ["y" "q"]`, `append ["x" "c"]`, `get ["x" nil] -> ["x" "ab"]`},
			`get → "ab" by process 1 (ops 8 and 9)`, []int{1, 3, 7, 9}, `"abc"`, `gets "ab", but the value is "abc"`, ""},
		{"lost append, unsplit", "kv", Options{Whole: true},
			[]string{`put ["x" "a"]`, `append ["x" "b"]`, `put ["y" "q"]`, `append ["x" "c"]`, `get ["x" nil] -> ["x" "ab"]`},
			`get ["x" nil] → ["x" "ab"] by process 1 (ops 8 and 9)`, []int{1, 3, 7, 9}, `{"x": "abc"}`, `gets "ab", but the value of "x" is "abc"`, ""},
		{"stale sum", "counter", Options{},
			[]string{"add 1", "add 2", "add 3", "read nil -> 6", "add 4", "read nil -> 6"},
			"read → 6 by process 2 (ops 10 and 11)", []int{5, 9, 11}, "7", "reads 6, but the counter is at 7", "More was added"},
		{"too many", "semaphore", Options{},
			[]string{"acquire nil", "release nil", "acquire nil", "acquire nil"},
			"acquire → nil by process 0 (ops 6 and 7)", []int{5, 7}, "0 of 1 permits free", "takes a permit, but all 1 are taken", ""},
		{"lost element", "set", Options{},
			[]string{"add 1", "add 2", "read nil -> #{1 2}", "add 3", "read nil -> #{1 2}"},
			"read → #{1 2} by process 1 (ops 8 and 9)", []int{1, 3, 7, 9}, "#{1 2 3}", "lacks 3, but that is in the set", "the read lacks it"},
		{"torn read", "multi-register", Options{},
			[]string{"txn [[:write :x 1] [:write :y 1]]", "txn [[:write :y 2]]", "txn [[:read :x nil] [:read :y nil]] -> [[:read :x 1] [:read :y 1]]"},
			"txn [[:read :x nil] [:read :y nil]] → [[:read :x 1] [:read :y 1]] by process 2 (ops 4 and 5)", []int{1, 3, 5}, "{:x 1, :y 2}", "reads 1 from :y, but that holds 2", ""},
		{"same answer", "fetch-and-increment", Options{},
			[]string{"fetch-and-increment nil -> 0", "increment-and-get nil -> 2", "fetch-and-increment nil -> 1"},
			"fetch-and-increment → 1 by process 2 (ops 4 and 5)", []int{1, 3, 5}, "2", "returns 1, but the counter is at 2", "incremented the same number"},
		{"least first", "priority-queue", Options{},
			[]string{"enqueue 5", "enqueue 3", "enqueue 7", "dequeue nil -> 5", "dequeue nil -> 3"},
			"dequeue → 5 by process 0 (ops 6 and 7)", []int{1, 3, 7, 9}, "[3 5]", "takes 5, but 3 is the least", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, c.model, c.options, seq(c.ops...))
			if r.Verdict != checker.Invalid || len(r.Anomalies) != 1 {
				t.Fatalf("%v: %s", r.Verdict, r.Reason)
			}
			a := r.Anomalies[0]
			if !strings.Contains(a.Message, c.culprit+" cannot be given a place") || !strings.Contains(a.Message, c.says) {
				t.Errorf("message is %q", a.Message)
			}
			var witness []int
			for _, ref := range a.Witness {
				if ref.Index%2 == 1 {
					witness = append(witness, ref.Index)
				}
			}
			if fmt.Sprint(witness) != fmt.Sprint(c.witness) {
				t.Errorf("witness is %v, want %v: %s", witness, c.witness, a.Message)
			}
			if a.State != c.state || len(a.Blocked) == 0 || a.Blocked[0].Why != c.why {
				t.Errorf("state is %s, blocked %+v", a.State, a.Blocked)
			}
		})
	}
}

func TestNodesAndKeys(t *testing.T) {
	r := judge(t, "fifo-queue", Options{Keyed: true}, `
{:process 0 :type :invoke :f :enqueue :value [:a 1] :node "n1"}
{:process 0 :type :ok :f :enqueue :value [:a 1] :node "n1"}
{:process 0 :type :invoke :f :dequeue :value [:a nil] :node "n2"}
{:process 0 :type :ok :f :dequeue :value [:a nil] :node "n2"}
{:process 0 :type :invoke :f :enqueue :value [:b 1]}
{:process 0 :type :ok :f :enqueue :value [:b 1]}`)
	if r.Verdict != checker.Invalid || r.Reason != "key :a is not linearizable, and the other one is" {
		t.Fatalf("%v: %s", r.Verdict, r.Reason)
	}
	if got := fmt.Sprint(r.Anomalies[0].Nodes); got != "[n1 n2]" {
		t.Errorf("nodes are %s", got)
	}
}
