package txn

import (
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// An ok completion that says nothing did what its invocation says.
func TestCompletionsWithoutAValue(t *testing.T) {
	type checks func(h *history.History, o Options) checker.Result
	for name, c := range map[string]struct {
		check    checks
		in       string
		o        Options
		want     string // an anomaly, "" for none
		says     string
		mentions int // a position that its witness must have
	}{
		"an append": {checkAppend, `
{:process 0, :type :invoke, :f :txn, :value [[:append 1 1]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 1, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 nil]]}`, Options{}, "G-single-item-realtime", "T1 = {:process 0, :type :ok, :value [[:append 1 1]]}", 0},
		"an append between reads": {checkAppend, `
{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil] [:append 1 1] [:r 2 nil]]}
{:process 0, :type :ok, :f :txn}
{:process 1, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 []]]}`, Options{}, "G-single-item-realtime", "[:append 1 1]", 0},
		"appends in a cycle": {checkAppend, `
{:process 0, :type :invoke, :f :txn, :value [[:append 1 1] [:append 2 1]]}
{:process 1, :type :invoke, :f :txn, :value [[:append 1 2] [:append 2 2]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 1, :type :ok, :f :txn, :value nil}
{:process 2, :type :ok, :f :txn, :value [[:r 1 [1 2]] [:r 2 [2 1]]]}`, Options{Models: []string{"read-uncommitted"}}, "G0", "appended", 1},
		"a write": {check, `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 1, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 nil]]}`, Options{}, "G-single-item-realtime", "[[:w 1 1]]", 0},
		"a write of linearizable keys": {check, `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 1, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 nil]]}`, Options{LinearizableKeys: true, Models: []string{"read-uncommitted"}}, "cyclic-versions", "[[:w 1 1]]", 0},
		"a write that a weak model forbids not to see": {check, `
{:process 0, :type :invoke, :f :txn, :value [[:w 1 1] [:w 2 1]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 1, :type :ok, :f :txn, :value [[:r 1 1] [:r 2 nil]]}`, Options{Models: []string{"read-atomic"}}, "non-monotonic-read", "[:w 1 1] [:w 2 1]", 0},
		"only reads": {check, `
{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 1]]}`, Options{}, "", "", 0},
		"only reads of lists": {checkAppend, `
{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :value nil}
{:process 0, :type :ok, :f :txn, :value [[:append 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 [1]]]}`, Options{}, "", "", 0},
	} {
		r := c.check(historytest.Read(t, c.in), c.o)
		if c.want == "" {
			if r.Verdict != checker.Valid {
				t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
			}
			continue
		}
		at := slices.IndexFunc(r.Anomalies, func(a checker.Anomaly) bool { return a.Name == c.want })
		if r.Verdict != checker.Invalid || at < 0 {
			t.Errorf("%s: %s, %s; want %s", name, r.Verdict, r.Reason, c.want)
			continue
		}
		a := r.Anomalies[at]
		if !strings.Contains(a.Message, c.says) {
			t.Errorf("%s: want words that say %q: %s", name, c.says, a.Message)
		}
		if !slices.ContainsFunc(a.Witness, func(ref checker.Ref) bool { return ref.Index == c.mentions }) {
			t.Errorf("%s: witness %v lacks the op at %d", name, a.Witness, c.mentions)
		}
	}
}

// Numbers are what they denote, as everywhere in history.Value.
func TestEqualNumbersAreOne(t *testing.T) {
	for name, c := range map[string]struct {
		got  checker.Result
		want string
	}{
		"keys of lists": {checkAppend(historytest.Read(t, lines(`
			0 [[:append 1 1]]
			1 [[:r 1.0 []]]`, 0, 0)), Options{}), "G-single-item-realtime"},
		"elements": {checkAppend(historytest.Read(t, lines(`
			0 [[:append 1 1]]
			1 [[:r 1 [1.0]] [:append 1 2.0]]
			2 [[:r 1M [1N 2]]]`, 0, 0)), Options{}), ""},
		"elements beyond 30 bits": {checkAppend(historytest.Read(t, lines(`
			0 [[:append 1 4611686018427387904]]
			1 [[:r 1 [4611686018427387904.0 2]]]
			2 [[:append 1 2]]`, 0, 0)), Options{}), "G0-realtime"},
		"parts of keys": {checkAppend(historytest.Read(t, lines(`
			0 [[:append [:a 1] 1]]
			1 [[:r [:a 1.0] []]]`, 0, 0)), Options{}), "G-single-item-realtime"},
		"keys and values of registers": {check(historytest.Read(t, lines(`
			0 [[:w 1 1]]
			1 [[:r 1.0 1.0] [:w 1 3/2]]
			2 [[:r 2/2 1.5]]`, 0, 0)), Options{}), ""},
		"a register not seen": {check(historytest.Read(t, lines(`
			0 [[:w 1 1]]
			1 [[:r 1.0 nil]]`, 0, 0)), Options{}), "G-single-item-realtime"},
		"one value written twice": {check(historytest.Read(t, lines(`
			0 [[:w 1 1]]
			1 [[:w 1 1.0]]`, 0, 0)), Options{}), "unknown"},
		"text is no number": {check(historytest.Read(t, lines(`
			0 [[:w 1 1]]
			1 [[:r "1" nil]]
			1 [[:r 1 1]]`, 0, 0)), Options{}), ""},
	} {
		switch r := c.got; {
		case c.want == "" && r.Verdict != checker.Valid, c.want == "unknown" && r.Verdict != checker.Unknown:
			t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
		case c.want != "" && c.want != "unknown" && !slices.Contains(namesOf(r), c.want):
			t.Errorf("%s: %s, %s; want %s", name, r.Verdict, r.Reason, c.want)
		}
	}
}
