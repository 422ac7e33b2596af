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

func show(r checker.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s\n", r.Verdict, r.Reason)
	for _, a := range r.Anomalies {
		fmt.Fprintf(&b, "%s: %s\n", a.Name, a.Message)
		for _, w := range a.Witness {
			fmt.Fprintf(&b, "  %d %s\n", w.Index, w.Op)
		}
		for _, w := range a.Order {
			fmt.Fprintf(&b, "  order %d\n", w.Index)
		}
		fmt.Fprintf(&b, "  state %s\n", a.State)
		for _, w := range a.Blocked {
			fmt.Fprintf(&b, "  blocked %d: %s\n", w.Index, w.Why)
		}
	}
	return b.String()
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
		fmt.Fprintf(&b, "{:process %d :type :invoke :f :%s :value %s}\n", i%3, f, arg)
		fmt.Fprintf(&b, "{:process %d :type :ok :f :%s :value %s}\n", i%3, f, result)
	}
	return b.String()
}

func TestShow(t *testing.T) {
	fmt.Println(show(judge(t, "fifo-queue", Options{}, seq("enqueue 1", "enqueue 2", "enqueue 3", "dequeue nil -> 1", "enqueue 4", "dequeue nil -> 3", "dequeue nil -> 2"))))
	fmt.Println(show(judge(t, "fifo-queue", Options{}, seq("enqueue 1", "enqueue 1", "enqueue 3", "dequeue nil -> 1", "enqueue 4", "dequeue nil -> 3", "dequeue nil -> 1"))))
	fmt.Println(show(judge(t, "stack", Options{}, seq("push 9", "push 1", "push 2", "pop nil -> 2", "push 3", "pop nil -> 9"))))
	fmt.Println(show(judge(t, "kv", Options{}, seq(`put ["x" "a"]`, `append ["x" "b"]`, `put ["y" "a"]`, `get ["x" nil] -> ["x" "ab"]`, `append ["x" "c"]`, `get ["x" nil] -> ["x" "ab"]`))))
	fmt.Println(show(judge(t, "kv", Options{Whole: true}, seq(`put ["x" "a"]`, `append ["x" "b"]`, `put ["y" "a"]`, `get ["x" nil] -> ["x" "ab"]`, `append ["x" "c"]`, `get ["x" nil] -> ["x" "ab"]`))))
	fmt.Println(show(judge(t, "counter", Options{}, seq("add 1", "add 2", "add 3", "read nil -> 6", "add 4", "read nil -> 6"))))
	fmt.Println(show(judge(t, "semaphore", Options{}, seq("acquire nil", "release nil", "acquire nil", "acquire nil"))))
	fmt.Println(show(judge(t, "set", Options{}, seq("add 1", "add 2", "read nil -> #{1 2}", "add 3", "read nil -> #{1 2}"))))
	fmt.Println(show(judge(t, "multi-register", Options{}, seq("txn [[:write :x 1] [:write :y 1]]", "txn [[:read :x nil]] -> [[:read :x 1]]", "txn [[:write :y 2]]", "txn [[:read :x nil] [:read :y nil]] -> [[:read :x 1] [:read :y 1]]"))))
	fmt.Println(show(judge(t, "fetch-and-increment", Options{}, seq("fetch-and-increment nil -> 0", "increment-and-get nil -> 2", "fetch-and-increment nil -> 1"))))
}
