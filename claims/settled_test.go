package claims

import (
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// run is a history with that :test op, of these lines.
func run(t *testing.T, workload, lines string) *history.History {
	t.Helper()
	text := `{:time 0, :type :info, :process :jepgo, :f :test, :value {:profile :bft, :workloads [:` + workload + `], :nodes ["n1" "n2"]}}
{:time 1, :type :info, :process :jepgo, :f :phase, :value :run}
` + lines
	h, err := history.ReadAll(strings.NewReader(text), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

const (
	finalPhase = "{:time 50, :type :info, :process :jepgo, :f :phase, :value :final}\n"
	endPhase   = "{:time 99, :type :info, :process :jepgo, :f :phase, :value :end}\n"
)

// done is an operation from its invocation to its completion.
func done(process, f, invoked, typ, value, extra string) string {
	return "{:time 2, :type :invoke, :process " + process + ", :f :" + f + ", :value " + invoked + "}\n" +
		"{:time 3, :type :" + typ + ", :process " + process + ", :f :" + f + ", :value " + value + extra + "}\n"
}

// Local reads are those of replicas: what they lack is held against them only
// where they name a block that has it.
func TestSettled(t *testing.T) {
	at := func(n string) string { return `, :height ` + n + `, :hash "0x0` + n + `"` }
	inc := func(p, d, typ, n string) string { return done(p, "inc", d, typ, d, at(n)) }
	count := func(v, n string) string { return done("9", "count", "nil", "ok", v, at(n)) }
	add := func(p, ke, typ, n string) string { return done(p, "add", ke, typ, ke, at(n)) }
	elements := func(k, all, n string) string {
		return done("9", "elements", "["+k+" nil]", "ok", "["+k+" "+all+"]", at(n))
	}
	for _, test := range []struct {
		name, workload, checker, lines string
		want                           checker.Verdict
	}{
		{"all counted", "counter", "counter", inc("1", "2", "ok", "5") + inc("2", "3", "ok", "6") + finalPhase + count("5", "7"), checker.Valid},
		{"a replica behind", "counter", "counter", inc("1", "2", "ok", "5") + count("0", "4") + finalPhase + count("0", "4") + count("2", "5"), checker.Valid},
		{"only replicas behind", "counter", "counter", inc("1", "2", "ok", "5") + finalPhase + count("0", "4"), checker.Unknown},
		{"lost", "counter", "counter", inc("1", "2", "ok", "5") + inc("2", "3", "ok", "6") + finalPhase + count("2", "7"), checker.Invalid},
		{"twice", "counter", "counter", inc("1", "2", "ok", "5") + finalPhase + count("4", "7"), checker.Invalid},
		{"in doubt and done", "counter", "counter", inc("1", "2", "ok", "5") + inc("2", "3", "info", "6") + finalPhase + count("5", "7"), checker.Valid},
		{"in doubt and not done", "counter", "counter", inc("1", "2", "ok", "5") + inc("2", "3", "info", "6") + finalPhase + count("2", "7"), checker.Valid},
		{"failed and done", "counter", "counter", inc("1", "2", "ok", "5") + inc("2", "3", "fail", "6") + finalPhase + count("5", "7"), checker.Invalid},
		{"never ended and done", "counter", "counter", inc("1", "2", "ok", "5") + "{:time 2, :type :invoke, :process 7, :f :inc, :value 3}\n" + finalPhase + count("5", "7"), checker.Valid},
		{"a read without a block", "counter", "counter", inc("1", "2", "ok", "5") + finalPhase + done("9", "count", "nil", "ok", "0", ""), checker.Unknown},
		{"all there", "set", "set-full", add("1", "[0 1]", "ok", "5") + add("2", "[0 2]", "ok", "6") + finalPhase + elements("0", "[2 1]", "7"), checker.Valid},
		{"a set behind", "set", "set-full", add("1", "[0 1]", "ok", "5") + elements("0", "[]", "4") + finalPhase + elements("0", "[1]", "7") + elements("0", "[]", "4"), checker.Valid},
		{"an element lost", "set", "set-full", add("1", "[0 1]", "ok", "5") + add("2", "[0 2]", "ok", "6") + finalPhase + elements("0", "[2]", "7"), checker.Invalid},
		{"an element twice", "set", "set-full", add("1", "[0 1]", "ok", "5") + finalPhase + elements("0", "[1 1]", "7"), checker.Invalid},
		{"a set of which nothing is sure", "set", "set-full", add("1", "[0 1]", "ok", "5") + add("2", "[1 1]", "info", "6") + finalPhase + elements("0", "[1]", "7") + elements("1", "[]", "7"), checker.Valid},
		{"doubt before what is sure", "set", "set-full", add("1", "[0 1]", "info", "5") + add("2", "[0 2]", "ok", "6") + finalPhase + elements("0", "[1 2]", "7"), checker.Valid},
		{"money", "bank", "bank", done("1", "balances", "nil", "ok", "{0 10, 1 10, 2 10, 3 10, 4 10, 5 10, 6 7, 7 13}", at("5")), checker.Valid},
		{"money made", "bank", "bank", done("1", "balances", "nil", "ok", "{0 10, 1 10, 2 10, 3 10, 4 10, 5 10, 6 7, 7 14}", at("5")), checker.Invalid},
		{"an account too many", "bank", "bank", done("1", "balances", "nil", "ok", "{0 10, 1 10, 2 10, 3 10, 4 10, 5 10, 6 7, 7 3, 8 10}", at("5")), checker.Invalid},
		{"a list read", "append", "list-append", done("1", "txn", "[[:append 1 1] [:r 1 nil]]", "ok", "[[:append 1 1] [:r 1 [1]]]", at("5")) + done("2", "txn", "[[:r 1 nil]]", "ok", "[[:r 1 [1]]]", at("6")), checker.Valid},
		{"a list not read", "append", "list-append", done("1", "txn", "[[:append 1 1] [:r 1 nil]]", "ok", "[[:append 1 1] [:r 1 []]]", at("5")), checker.Invalid},
		{"an append lost", "append", "list-append", done("1", "txn", "[[:append 1 1]]", "ok", "[[:append 1 1]]", at("5")) + done("2", "txn", "[[:append 1 2]]", "ok", "[[:append 1 2]]", at("6")) +
			done("1", "txn", "[[:r 1 nil]]", "ok", "[[:r 1 [2]]]", at("7")), checker.Invalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := run(t, test.workload, test.lines+endPhase)
			info, ok := checker.ReadTest(h)
			if !ok {
				t.Fatal("no :test op")
			}
			fair, _, err := Checkers(info)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range fair {
				if c.Name() != test.checker {
					continue
				}
				r := c.Check(t.Context(), h)
				if r.Verdict != test.want || r.Verdict != checker.Unknown && r.Facts == 0 {
					t.Errorf("%s with %d facts, want %s: %s", r.Verdict, r.Facts, test.want, r.Reason)
				}
				for _, a := range r.Anomalies {
					if len(a.Witness) == 0 || len(a.Witness) > 10 {
						t.Errorf("%s has a witness of %d ops", a.Name, len(a.Witness))
					}
				}
				return
			}
			t.Errorf("%s is not judged by %s", test.workload, test.checker)
		})
	}
}
