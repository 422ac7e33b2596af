package linear

import (
	"context"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestEmptyValidNeedsItsOwnOperations holds that a model does not approve of a
// history that has none of its operations.
func TestEmptyValidNeedsItsOwnOperations(t *testing.T) {
	const registers = `{:type :invoke :process 0 :f :write :value 1} {:type :ok :process 0 :f :write :value 1}
{:type :invoke :process 0 :f :cas :value [1 2]} {:type :ok :process 0 :f :cas :value [1 2]}`
	o := Options{EmptyValid: true}
	for _, test := range []struct {
		name string
		c    checker.Checker
		text string
		want checker.Verdict
		says string
	}{
		{"lock on registers", Mutex(o), registers, checker.Unknown, "clients did :cas, :write, and this model judges only :acquire, :release"},
		{"register on transactions", Register(o), `{:type :invoke :process 0 :f :txn} {:type :ok :process 0 :f :txn}`,
			checker.Unknown, "clients did :txn, and this model judges only :cas, :read, :write"},
		{"register on anybody's transactions", Register(o), `{:type :invoke :f :txn} {:type :ok :f :txn}`,
			checker.Unknown, "clients did :txn, and this model judges only :cas, :read, :write"},
		{"sequential on transactions", Sequential(o), `{:type :invoke :process 0 :f :txn} {:type :info :process 0 :f :txn}`,
			checker.Unknown, "clients did :txn, and this model judges only :cas, :read, :write"},
		{"sequential in vain", Sequential(o), `{:type :invoke :process 0 :f :write :value 1} {:type :fail :process 0 :f :write :value 1}`,
			checker.Valid, "no operation completed; Knossos calls that valid"},
		{"nothing at all", Register(o), "", checker.Unknown, "history has no client operation"},
		{"nemesis only", Mutex(o), `{:type :info :process :nemesis :f :acquire}`, checker.Valid, "no client did anything, so no operation completed; Knossos calls that valid"},
		{"nemesis only, not allowed", Mutex(Options{}), `{:type :info :process :nemesis :f :acquire}`, checker.Unknown, "history has no client operation"},
		{"tried in vain", Mutex(o), `{:type :invoke :process 0 :f :acquire} {:type :info :process 0 :f :acquire}`, checker.Valid, "no operation completed; Knossos calls that valid"},
		{"tried in vain, not allowed", Mutex(Options{}), `{:type :invoke :process 0 :f :acquire} {:type :info :process 0 :f :acquire}`,
			checker.Unknown, "no completed operation of those that this model judges: :acquire, :release"},
	} {
		r := test.c.Check(context.Background(), historytest.Read(t, test.text))
		if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) {
			t.Errorf("%s: %v: %q, want %v: %q", test.name, r.Verdict, r.Reason, test.want, test.says)
		}
	}
}

// TestReasonNamesTheObject holds that what is fine is called by its name and
// counted in the right number.
func TestReasonNamesTheObject(t *testing.T) {
	const acquire, write, other = `{:type :ok :process 0 :f :acquire}`, `{:type :ok :process 0 :f :write :value [1 1]}`, `{:type :ok :process 0 :f :write :value [2 1]}`
	keyed := Options{Keyed: true}
	for _, test := range []struct {
		c    checker.Checker
		text string
		want string
	}{
		{Mutex(Options{}), acquire, "1 operation on the lock is linearizable"},
		{Mutex(Options{}), acquire + `{:type :ok :process 0 :f :release}`, "2 operations on the lock are linearizable"},
		{Mutex(keyed), `{:type :ok :process 0 :f :acquire :value [1 nil]} {:type :ok :process 0 :f :acquire :value [2 nil]}`, "2 operations on 2 locks are linearizable"},
		{Register(Options{}), write, "1 operation on the register is linearizable"},
		{Register(keyed), write, "1 operation on 1 register is linearizable"},
		{Register(keyed), write + other, "2 operations on 2 registers are linearizable"},
		{Sequential(Options{}), write, "1 operation on the register is sequentially consistent"},
		{Sequential(keyed), write + write, "2 operations on 1 register are sequentially consistent"},
	} {
		if r := test.c.Check(context.Background(), historytest.Read(t, test.text)); r.Verdict != checker.Valid || r.Reason != test.want {
			t.Errorf("%v: %q, want %q", r.Verdict, r.Reason, test.want)
		}
	}
}

// TestReasonInWords holds that the reason counts only where there is something
// to count.
func TestReasonInWords(t *testing.T) {
	bad := func(key int64) []history.Op {
		value := func(v int64) history.Value { return history.Vec(history.Int(key), history.Int(v)) }
		return []history.Op{
			{Type: history.OK, Process: history.Client(1), F: "write", Value: value(1)},
			{Type: history.OK, Process: history.Client(1), F: "read", Value: value(2)},
		}
	}
	good := func(key int64) []history.Op { return bad(key)[:1] }
	for want, parts := range map[string][][]history.Op{
		"key 2 is not linearizable":                        {bad(2)},
		"key 2 is not linearizable, and the other one is":  {bad(2), good(3)},
		"key 2 is not linearizable, and the 2 others are":  {good(1), bad(2), good(3)},
		"key 2 is not linearizable, nor is 1 of 2 others":  {bad(2), bad(3), good(4)},
		"key 2 is not linearizable, nor are 2 of 3 others": {bad(2), bad(3), good(4), bad(5)},
	} {
		h := &history.History{}
		for _, ops := range parts {
			h.Ops = append(h.Ops, ops...)
		}
		if r := Register(Options{Keyed: true}).Check(context.Background(), h); r.Verdict != checker.Invalid || r.Reason != want {
			t.Errorf("%v: %q, want %q", r.Verdict, r.Reason, want)
		}
	}
	h := historytest.Read(t, `{:type :ok :process 1 :f :write :value 1} {:type :ok :process 1 :f :read :value 2}`)
	const want = "the register is not linearizable: no order has a place for the read of 2 by process 1 (op 1)"
	if r := Register(Options{}).Check(context.Background(), h); r.Reason != want {
		t.Errorf("%q, want %q", r.Reason, want)
	}
}
