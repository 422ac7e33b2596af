package txn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

func checkAppend(h *history.History, o Options) checker.Result {
	return checker.Streamed(func() checker.Stream { return ListAppend(o) }).Check(context.Background(), h)
}

// namesOf returns the names of the anomalies that a result counts.
func namesOf(r checker.Result) (names []string) {
	for _, a := range r.Anomalies {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// planted holds, for each class of anomaly, the shortest history that has it, and
// a model that it breaks and one that allows it ("" where every model forbids it).
// A line is process, type and value; without a type it is invocation and ok at once.
var planted = []struct {
	class, breaks, allows string
	ops                   string
}{
	{"G0", "read-uncommitted", "", `
		0 [[:append 1 1] [:append 2 1]]
		1 [[:append 1 2] [:append 2 2]]
		2 [[:r 1 [1 2]]]
		3 [[:r 2 [2 1]]]`},
	{"G1c", "read-committed", "read-uncommitted", `
		0 [[:append 1 1] [:r 2 [1]]]
		1 [[:append 2 1] [:r 1 [1]]]`},
	{"G-single-item", "snapshot-isolation", "read-committed", `
		0 [[:append 1 1] [:append 2 1]]
		1 [[:r 1 [1]] [:r 2 []]]`},
	{"G-nonadjacent-item", "snapshot-isolation", "consistent-view", `
		0 [[:append 1 1]]
		1 [[:r 1 []] [:r 2 [1]]]
		2 [[:append 2 1]]
		3 [[:r 2 []] [:r 1 [1]]]`},
	{"G2-item", "serializable", "snapshot-isolation", `
		0 [[:r 1 []] [:append 2 1]]
		1 [[:r 2 []] [:append 1 1]]
		2 [[:r 1 [1]] [:r 2 [1]]]`},
	{"G0-process", "strong-session-read-uncommitted", "read-uncommitted", `
		0 [[:append 1 1]]
		0 [[:append 1 2]]
		1 [[:r 1 [2 1]]]`},
	{"G1c-process", "strong-session-read-committed", "serializable", `
		0 [[:append 1 1] [:r 2 [1]]]
		1 [[:r 1 [1]]]
		1 [[:append 2 1]]`},
	{"G-single-item-process", "strong-session-snapshot-isolation", "serializable", `
		0 [[:append 1 1]]
		0 [[:r 1 []]]`},
	{"G-single-item-realtime", "strong-snapshot-isolation", "strong-session-serializable", `
		0 [[:append 1 1]]
		1 [[:r 1 []]]`},
	{"G1c-realtime", "strong-read-committed", "strong-session-serializable", `
		0 [[:r 1 [1]]]
		1 [[:append 1 1]]`},
	{"G0-realtime", "strong-read-uncommitted", "strong-session-serializable", `
		0 [[:append 1 1]]
		1 [[:append 1 2]]
		2 [[:r 1 [2 1]]]`},
	{"G1a", "read-committed", "read-uncommitted", `
		0 :fail [[:append 1 1]]
		1 [[:r 1 [1]]]`},
	{"G1b", "read-committed", "read-uncommitted", `
		0 [[:append 1 1] [:append 1 2]]
		1 [[:r 1 [1]]]`},
	{"internal", "read-atomic", "read-committed", `
		0 [[:append 1 1] [:r 1 []]]`},
	{"internal", "serializable", "read-committed", `
		0 [[:append 1 1]]
		1 [[:r 1 []] [:r 1 [1]]]`},
	{"future-read", "read-committed", "read-uncommitted", `
		0 [[:r 1 [1]] [:append 1 1]]`},
	{"lost-update", "snapshot-isolation", "read-committed", `
		0 [[:r 1 []] [:append 1 1]]
		1 [[:r 1 []] [:append 1 2]]`},
	{"dirty-update", "read-committed", "read-uncommitted", `
		0 :fail [[:append 1 1]]
		1 [[:append 1 2]]
		2 [[:r 1 [1 2]]]`},
	{"incompatible-order", "read-committed", "read-uncommitted", `
		0 [[:append 1 1]]
		1 [[:append 1 2]]
		2 [[:r 1 [1 2]]]
		3 [[:r 1 [2]]]`},
	{"incompatible-order", "read-committed", "read-uncommitted", `
		0 [[:append 1 1] [:append 1 2]]
		1 [[:r 1 [2 1]]]`},
	{"incompatible-order", "read-committed", "read-uncommitted", `
		0 [[:append 1 1] [:append 1 2]]
		1 [[:r 1 [2]]]`},
	{"duplicate-elements", "read-uncommitted", "", `
		0 [[:append 1 1]]
		1 [[:r 1 [1 1]]]`},
	{GarbageRead, "read-uncommitted", "", `
		0 [[:append 1 1]]
		1 [[:r 1 [1 9]]]`},
	{GarbageRead, "read-uncommitted", "", `
		0 [[:r 1 []]]
		1 [[:r 1 [9]]]`},
}

// lines makes EDN of the short lines of planted, with positions from first on,
// processes from process on, and keys from key on.
func lines(ops string, process, key int) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(ops), "\n") {
		p, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind := ":ok"
		if strings.HasPrefix(rest, ":") {
			kind, rest, _ = strings.Cut(rest, " ")
		}
		if key > 0 {
			for _, f := range []string{"append", "r"} {
				for k := 3; k > 0; k-- {
					rest = strings.ReplaceAll(rest, fmt.Sprintf("[:%s %d ", f, k), fmt.Sprintf("[:%s %d ", f, k+key))
				}
			}
		}
		for _, kind := range []string{":invoke", kind} {
			fmt.Fprintf(&b, "{:type %s, :process %d%s, :f :txn, :value %s}\n", kind, process/10, p, rest)
		}
	}
	return b.String()
}

func TestEveryClassIsFoundWhereItIsForbidden(t *testing.T) {
	for _, c := range planted {
		h := historytest.Read(t, lines(c.ops, 0, 0))
		r := checkAppend(h, Options{Models: []string{c.breaks}})
		if r.Verdict != checker.Invalid || !slices.Contains(namesOf(r), c.class) {
			t.Errorf("%s%s\nis %s for %s: %s", c.class, c.ops, r.Verdict, c.breaks, r.Reason)
		}
		r = checkAppend(h, Options{Anomalies: []string{c.class}})
		if r.Verdict != checker.Invalid || !slices.Contains(namesOf(r), c.class) {
			t.Errorf("%s%s\nis %s when only that is looked for: %s", c.class, c.ops, r.Verdict, r.Reason)
		}
		for _, a := range r.Anomalies {
			if len(a.Witness) == 0 || a.Message == "" {
				t.Errorf("%s: the anomaly is not explained: %+v", c.class, a)
			}
		}
		if c.allows == "" {
			continue
		}
		if r = checkAppend(h, Options{Models: []string{c.allows}}); r.Verdict == checker.Invalid {
			t.Errorf("%s%s\nis invalid for %s: %s", c.class, c.ops, c.allows, r.Reason)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct{ why, model, in, want string }{
		{"nothing happened", "serializable", ``, "no transaction completed"},
		{"nothing is ordered", "serializable", `{:process 0, :type :ok, :value [[:append 1 1]]}`, "nothing orders"},
		{"an element appended twice", "serializable", `
{:process 0, :type :ok, :value [[:append 1 1]]}
{:process 1, :type :ok, :value [[:append 1 1]]}`, "1 was appended to key 1 twice, by the ops at 0 and 1"},
		{"history has no beginning", "serializable", `
{:process 0, :type :ok, :value [[:append 1 1]]}
{:process 1, :type :ok, :value [[:r 1 [0 1]]]}`, "began with elements that nobody in this history appended"},
		{"another model", "serializable", `{:process 0, :type :ok, :value [[:w 1 1]]}`, "want [:append k v] or [:r k v]"},
		{"half a transaction", "serializable", `{:process 0, :type :ok, :value [[:r 1 [5]] [:r]]}`, "has the micro-op [:r]"},
		{"not a list", "serializable", `{:process 0, :type :ok, :value [[:r 1 5]]}`, "not a list"},
		{"a name that is not known", "serialisable", `{:process 0, :type :ok, :value [[:append 1 1]]}`, "not known"},
	} {
		r := checkAppend(historytest.Read(t, c.in), Options{Models: []string{c.model}})
		if r.Verdict != checker.Unknown || !strings.Contains(r.Reason, c.want) {
			t.Errorf("%s: %s, %q; want unknown and %q", c.why, r.Verdict, r.Reason, c.want)
		}
	}
	h := historytest.Read(t, lines(planted[0].ops, 0, 0))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := ListAppend(Options{})
	for e := range h.Events() {
		s.Take(e)
	}
	if r := s.Finish(ctx, h.Source()); r.Verdict != checker.Unknown {
		t.Errorf("ended early: %s", r.Verdict)
	}
}

func TestInDoubt(t *testing.T) {
	for _, c := range []struct {
		why, in string
		want    checker.Verdict
	}{
		{"unseen, it did not happen", `
{:process 0, :type :invoke, :value [[:append 1 1] [:append 2 1]]}
{:process 0, :type :info, :value [[:append 1 1] [:append 2 1]]}
{:process 1, :type :invoke, :value [[:r 1 nil] [:r 2 nil]]}
{:process 1, :type :ok, :value [[:r 1 []] [:r 2 []]]}
{:process 1, :type :invoke, :value [[:append 3 1]]}
{:process 1, :type :ok, :value [[:append 3 1]]}`, checker.Valid},
		{"seen, all of it happened", `
{:process 0, :type :invoke, :value [[:append 1 1] [:append 2 1]]}
{:process 1, :type :ok, :value [[:r 1 [1]] [:r 2 []]]}`, checker.Invalid},
		{"seen, but not before it was invoked", `
{:process 1, :type :invoke, :value [[:r 1 nil]]}
{:process 1, :type :ok, :value [[:r 1 [1]]]}
{:process 0, :type :invoke, :value [[:append 1 1]]}`, checker.Invalid},
		{"seen long after", `
{:process 0, :type :invoke, :value [[:append 1 1]]}
{:process 0, :type :info, :value nil}
{:process 1, :type :invoke, :value [[:r 1 nil]]}
{:process 1, :type :ok, :value [[:r 1 []]]}
{:process 1, :type :invoke, :value [[:r 1 nil]]}
{:process 1, :type :ok, :value [[:r 1 [1]]]}`, checker.Valid},
		{"what one unseen read does not matter", `
{:process 0, :type :invoke, :value [[:append 1 1] [:append 2 1]]}
{:process 0, :type :ok, :value [[:append 1 1] [:append 2 1]]}
{:process 1, :type :invoke, :value [[:r 1 nil] [:r 2 nil]]}
{:process 1, :type :info, :value [[:r 1 [1]] [:r 2 [7 8]]]}
{:process 2, :type :invoke, :value [[:r 1 nil]]}
{:process 2, :type :ok, :value [[:r 1 [1]]]}`, checker.Valid},
	} {
		if r := checkAppend(historytest.Read(t, c.in), Options{}); r.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.why, r.Verdict, r.Reason, c.want)
		}
	}
}

func TestCycleIsExplained(t *testing.T) {
	r := checkAppend(historytest.Read(t, `
{:process 0, :type :invoke, :value [[:append 8 3] [:append :y 1]], :index 10}
{:process 0, :type :ok, :value [[:append 8 3] [:append :y 1]], :index 11}
{:process 1, :type :invoke, :value [[:r 8 nil] [:r :y nil]], :index 12}
{:process 1, :type :ok, :value [[:r 8 [3]] [:r :y nil]], :index 13}`), Options{})
	if len(r.Anomalies) != 1 {
		t.Fatalf("%d anomalies, want 1: %+v", len(r.Anomalies), r)
	}
	want := `Let:
  T1 = {:index 11, :process 0, :type :ok, :value [[:append 8 3] [:append :y 1]]}
  T2 = {:index 13, :process 1, :type :ok, :value [[:r 8 [3]] [:r :y nil]]}
Then:
  - T1 comes before T2, as T2 observed T1's append of 3 to key 8.
  - T2 comes before T1, as T2 did not observe T1's append of 1 to key :y.
So each of them would have to come before itself.`
	a := r.Anomalies[0]
	if a.Name != "G-single-item" || a.Message != want {
		t.Errorf("%s\n%s\nwant\n%s", a.Name, a.Message, want)
	}
	if want := []checker.Step{
		{From: 1, To: 3, Rel: "wr", Why: "T2 observed T1's append of 3 to key 8"},
		{From: 3, To: 1, Rel: "rw", Why: "T2 did not observe T1's append of 1 to key :y"},
	}; !slices.Equal(a.Steps, want) {
		t.Errorf("steps %+v, want %+v", a.Steps, want)
	}
	if !strings.Contains(r.Reason, "G-single-item: not ") {
		t.Errorf("reason %q does not say what is broken", r.Reason)
	}
}

func TestMemoryLimit(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "{:process 0, :type :ok, :value [[:append %d 1]]}\n", i)
	}
	h := historytest.Read(t, b.String())
	if r := checkAppend(h, Options{Memory: 100_000}); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "memory limit") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	if r := checkAppend(h, Options{Memory: 2_000_000}); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "may need") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	if r := checkAppend(h, Options{Memory: 10_000_000}); r.Verdict != checker.Valid {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}
