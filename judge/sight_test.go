package judge

import (
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history/historytest"
)

// TestRecognised: operations that tell their model are judged by it, those that do
// not are nobody's.
func TestRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"{:process 0, :type :ok, :f :read, :value 1} {:process 0, :type :ok, :f :write, :value 2}":                   "register",
		"{:process 0, :type :ok, :f :cas, :value [1 2]} {:process 0, :type :ok, :f :read, :value 2}":                 "cas-register",
		"{:process 0, :type :ok, :f :cas, :value [1 2]}":                                                             "cas-register",
		"{:process 0, :type :ok, :f :acquire} {:process 0, :type :ok, :f :release}":                                  "mutex",
		"{:process 0, :type :ok, :f :txn, :value [[:append 1 2] [:r 1 [2]]]}":                                        "list-append",
		"{:process 0, :type :ok, :value [[:append 1 2]]}":                                                            "list-append",
		"{:process 0, :type :ok, :f :txn, :value [[:w 1 2] [:r 1 2]]}":                                               "rw-register",
		"{:process 0, :type :ok, :f :txn, :value [[:read 1 2] [:write 1 2]]}":                                        "multi-register",
		"{:process 0, :type :ok, :f :write, :value [[:w 1 2]]} {:process 0, :type :ok, :f :read, :value [[:r 1 2]]}": "",
		"{:process 0, :type :ok, :f :add, :value 2} {:process 0, :type :ok, :f :read, :value [2]}":                   "set-full",
		"{:process 0, :type :ok, :f :add, :value 2} {:process 0, :type :ok, :f :read, :value #{2}}":                  "set-full",
		"{:process 0, :type :ok, :f :add, :value 2} {:process 0, :type :ok, :f :read, :value 2}":                     "counter",
		"{:process 0, :type :ok, :f :write, :value 2} {:process 0, :type :ok, :f :read, :value [1 2 3]}":             "causal-reverse",
		"{:process 0, :type :ok, :f :read, :value {0 1}} {:process 0, :type :ok, :f :transfer, :value {}}":           "bank",
		"{:process 0, :type :ok, :f :generate, :value 1}":                                                            "unique-ids",
		"{:process 0, :type :ok, :f :get, :value [1 \"\"]} {:process 0, :type :ok, :f :put, :value [1 \"\"]}":        "kv",
		"{:process 0, :type :ok, :f :read, :value 1}":                                                                "",
		"{:process 0, :type :ok, :f :fetch-and-increment, :value 1}":                                                 "fetch-and-increment",
		"{:process 0, :type :ok, :f :push, :value 1}":                                                                "stack",
		// Pairs may be keys and values, or values; nobody but the user knows.
		"{:process 0, :type :ok, :f :read, :value [1 2]} {:process 0, :type :ok, :f :write, :value [1 2]}":     "",
		"{:process 0, :type :ok, :f :read, :value [1 2]} {:process 0, :type :ok, :f :add, :value [1 2]}":       "",
		"{:process 0, :type :ok, :f :read, :value [1 [2]]} {:process 0, :type :ok, :f :add, :value [1 2]}":     "",
		"{:process 0, :type :ok, :f :acquire, :value [1 nil]}":                                                 "",
		"{:process 0, :type :ok, :f :write, :value [1 0]} {:process 0, :type :ok, :f :cas, :value [1 [0 5]]}":  "",
		"{:process 0, :type :ok, :f :push, :value [1 7]} {:process 0, :type :ok, :f :pop, :value [1 7]}":       "",
		"{:process 0, :type :ok, :f :fetch-and-increment, :value [1 0]}":                                       "",
		"{:process 0, :type :ok, :f :write, :value [1 2 3]} {:process 0, :type :ok, :f :read, :value [9]}":     "",
		"{:process 0, :type :ok, :f :write, :value #{1}} {:process 0, :type :ok, :f :read, :value #{1}}":       "",
		"{:process 0, :type :ok, :f :enqueue, :value 1} {:process 0, :type :ok, :f :dequeue, :value 1}":        "",
		"{:process 0, :type :ok, :f :txn, :value [[:w 1 2] [:append 1 2]]}":                                    "",
		"{:process 0, :type :ok, :f :add, :value 2}":                                                           "",
		"{:process 0, :type :ok, :f :read, :value 1} {:process 0, :type :ok, :f :dance, :value 2}":             "",
		"{:process 0, :type :ok, :f :txn, :value [[:w 1 2]]} {:process 0, :type :ok, :f :txn, :value \"odd\"}": "",
	} {
		m, because, err := chooseModel(look(whole{historytest.Read(t, text)}, false), &Options{})
		if m.name != want || (want == "") != (err != nil) {
			t.Errorf("%s\nmodel %q (%s), error %v, want %q", text, m.name, because, err, want)
		}
		if pairs := strings.Count(text, "[1 2]") == 2 && strings.Contains(text, ":read"); pairs && !strings.Contains(err.Error(), "--independent") {
			t.Errorf("%s: error %v does not think of --independent", text, err)
		}
	}
}
