package txn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// check judges a history in memory.
func check(h *history.History, o Options) checker.Result {
	return checker.Streamed(func() checker.Stream { return RWRegister(o) }).Check(context.Background(), h)
}

// What a simulated store promises it is not accused of having broken, whatever of
// what is true of its keys may be assumed.
func TestRegisterAccusesNoStore(t *testing.T) {
	keys := []Options{
		{},
		{WFRKeys: true},
		{SequentialKeys: true},
		{LinearizableKeys: true},
		{WFRKeys: true, SequentialKeys: true, LinearizableKeys: true},
	}
	for _, c := range []struct {
		isolation string
		models    string
		options   []Options
	}{
		{"strict-serializable", "strict-serializable", keys},
		{"strict-serializable", "serializable", keys},
		{"serializable", "serializable", keys[:2]},
		{"snapshot-isolation", "strong-snapshot-isolation", keys},
		{"snapshot-isolation", "snapshot-isolation", keys},
		{"read-committed", "strong-read-committed", keys},
		{"read-committed", "read-committed", keys},
	} {
		for seed := range uint64(6) {
			h := generated(t, gen.Options{
				Workload: "rw", Ops: 500, Clients: 5 + 5*int(seed%4), Keys: 3, Isolation: c.isolation,
				Crash: 0.05, Fail: 0.05, Seed: seed,
			})
			for _, o := range c.options {
				o.Models = []string{c.models}
				if r := check(h, o); r.Verdict != checker.Valid {
					for _, a := range r.Anomalies {
						t.Log(a.Name, a.Message)
					}
					t.Errorf("%s, seed %d, judged by %+v: %s, %s", c.isolation, seed, o, r.Verdict, r.Reason)
				}
			}
		}
	}
}

// Stores that promise less are found out.
func TestRegisterTellsStoresApart(t *testing.T) {
	for isolation, model := range map[string]string{
		"serializable":       "strict-serializable",
		"snapshot-isolation": "serializable",
		"read-committed":     "snapshot-isolation",
		"read-uncommitted":   "read-committed",
	} {
		h := generated(t, gen.Options{Workload: "rw", Ops: 2000, Isolation: isolation, Seed: 1})
		if r := check(h, Options{Models: []string{model}, WFRKeys: true, LinearizableKeys: true}); r.Verdict != checker.Invalid {
			t.Errorf("%s judged by %s: %s, %s", isolation, model, r.Verdict, r.Reason)
		}
	}
}

func TestRegisterFindsWhatIsPlanted(t *testing.T) {
	for _, name := range gen.Anomalies("rw") {
		h := generated(t, gen.Options{Workload: "rw", Ops: 1000, Plant: []string{name}, Seed: 3})
		r := check(h, Options{})
		if r.Verdict != checker.Invalid || !slices.ContainsFunc(r.Anomalies, func(a checker.Anomaly) bool {
			return a.Name == name || strings.Replace(a.Name, "-item", "", 1) == name
		}) {
			t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
		}
	}
}

// Of each kind of anomaly one that can be read in a minute.
func TestRegisterAnomalies(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		o    Options
		want string // anomalies, in the order of severity
		says string
	}{
		"stale read": {in: `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :invoke, :f :txn, :value [[:w 1 2]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 2, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}`,
			want: "G-single-item-realtime", says: "which T1 overwrote with 2"},
		"the same without real time": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}`, want: ""},
		"back and forth in a process": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}`,
			o: Options{Models: []string{"strong-session-serializable"}}, want: "G-single-item-process", says: "in the same process"},
		"the same of keys that are said to be sequential": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1]]}`,
			o: Options{Models: []string{"read-uncommitted"}, SequentialKeys: true}, want: "cyclic-versions", says: "The order of processes is left out"},
		"an update over a value that was read again later": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 1] [:w 1 2] [:w 2 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 2 1] [:r 1 1]]}`,
			o: Options{Models: []string{"serializable"}}, want: "G-single-item", says: "T1 read 1 before it wrote 2"},
		"the same where only G2 is asked for": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 1] [:w 1 2] [:w 2 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 2 1] [:r 1 1]]}`, o: Options{Anomalies: []string{"G2"}}, want: ""},
		"in doubt, but seen": {in: `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1] [:w 2 1]]}
{:process 0, :type :info, :f :txn, :value [[:w 1 1] [:w 2 1]]}
{:process 1, :type :invoke, :f :txn, :value [[:r 1] [:r 2]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 1] [:r 2 nil]]}`, want: "G-single-item"},
		"in doubt and not seen": {in: `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1] [:w 2 1]]}
{:process 1, :type :invoke, :f :txn, :value [[:r 1] [:r 2]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 nil] [:r 2 nil]]}
{:process 1, :type :invoke, :f :txn, :value [[:r 1] [:r 2]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 nil] [:r 2 nil]]}`, want: ""},
		"a failed write again": {in: `
{:process 0, :type :fail, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 1]]}`, want: ""},
		"future": {in: `{:process 0, :type :ok, :f :txn, :value [[:r "k" :v] [:w "k" :v]]}`, want: "future-read", says: `T1 read :v of key "k", and only then wrote it`},
	} {
		r := check(historytest.Read(t, c.in), c.o)
		var got []string
		text := ""
		for _, a := range r.Anomalies {
			got = append(got, a.Name)
			text += a.Message + "\n"
			if len(a.Witness) == 0 {
				t.Errorf("%s: %s has no witness", name, a.Name)
			}
		}
		if strings.Join(got, " ") != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s (%s), found %v, want %q that says %q:\n%s", name, r.Verdict, r.Reason, got, c.want, c.says, text)
		}
	}
}

func TestRegisterUnknown(t *testing.T) {
	for in, want := range map[string]string{
		`{:process 0, :type :ok, :f :txn, :value [[:w 1 5]]} {:process 1, :type :ok, :f :txn, :value [[:w 1 5]]} {:process 1, :type :ok, :f :txn, :value [[:r 1 5]]}`: "both write 5 to key 1",
		`{:process 0, :type :ok, :f :txn, :value [[:w 1 5] [:r 1 5]]} {:process 0, :type :ok, :f :txn, :value [[:w 1 nil]]}`:                                          "writes nil",
		`{:process 0, :type :ok, :f :txn, :value [[:append 1 5]]}`:                                                                                                    "[:append 1 5]",
		`{:process 0, :type :ok, :f :txn, :value [[:w 1 5]]}`:                                                                                                         "nothing orders",
		``: "no transaction",
	} {
		if r := check(historytest.Read(t, in), Options{}); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, want) {
			t.Errorf("%s\n%s: %s does not tell of %q", in, r.Verdict, r.Reason, want)
		}
	}
}

// Other names for keys and values, and a history beside that has its own, change
// nothing.
func TestRegisterNamesDoNotMatter(t *testing.T) {
	for _, isolation := range []string{"serializable", "snapshot-isolation", "read-uncommitted"} {
		h := generated(t, gen.Options{Workload: "rw", Ops: 800, Isolation: isolation, Crash: 0.02, Seed: 9})
		other := &history.History{}
		for _, op := range h.Ops {
			other.Ops = append(other.Ops, op)
			op.Value = renamed(op.Value)
			if n, ok := op.Process.Client(); ok {
				op.Process = history.Client(n + 1_000_000)
			}
			other.Ops = append(other.Ops, op)
		}
		a, b := check(h, Options{}), check(other, Options{})
		if a.Verdict != b.Verdict || a.Reason != b.Reason {
			t.Errorf("%s: %s, %s; with a twin %s, %s", isolation, a.Verdict, a.Reason, b.Verdict, b.Reason)
		}
	}
}

func renamed(txn history.Value) history.Value {
	var ops []history.Value
	for _, op := range txn.Elems() {
		m := op.Elems()
		val := m[2]
		if !val.IsNil() {
			val = history.Text(fmt.Sprint("v", val))
		}
		ops = append(ops, history.Vec(m[0], history.Vec(history.Keyword("key"), m[1]), val))
	}
	return history.Vec(ops...)
}
