package txn

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// A strong model is broken exactly when every order of versions breaks it, or some
// read does by itself: nothing is left open in small histories.
func TestRegisterDecidesStrongModels(t *testing.T) {
	count := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		h := drawTiny(t)
		worlds := h.worlds()
		doubt := slices.ContainsFunc(h.txns, func(x tinyTxn) bool { return x.status == inDoubt })
		for _, model := range []string{
			"snapshot-isolation", "serializable", "strong-session-snapshot-isolation", "strong-session-serializable",
			"strong-snapshot-isolation", "strict-serializable",
		} {
			if doubt && strings.Contains(model, "session") {
				continue // the oracle gives uncertain transactions no place in a session
			}
			all := &history.History{Ops: h.ops}
			r := check(all, Options{Models: []string{model}})
			if r.Verdict == checker.Unknown {
				if !strings.Contains(r.Reason, "nothing orders") && !strings.Contains(r.Reason, "no transaction") {
					t.Fatalf("%s: %s\n%s", model, r.Reason, h)
				}
				continue
			}
			point := slices.ContainsFunc(r.Anomalies, func(a checker.Anomaly) bool { return len(a.Steps) == 0 })
			broken := !slices.ContainsFunc(worlds, func(w world) bool { return !slices.Contains(w.broken, model) })
			if got := r.Verdict == checker.Invalid; got != (broken || point) {
				t.Fatalf("%s: %s, %s, but all orders of versions break it: %v\n%s", model, r.Verdict, r.Reason, broken, h)
			}
			count[r.Verdict.String()]++
		}
	})
	t.Log(count)
}

// No store is accused of breaking a model that it keeps.
func TestWeakModelsAccuseNoStore(t *testing.T) {
	for _, c := range []struct {
		isolation string
		models    string
	}{
		{"strict-serializable", "causal-cerone prefix read-atomic monotonic-atomic-view strong-session-serializable repeatable-read"},
		{"serializable", "prefix read-atomic monotonic-atomic-view parallel-snapshot-isolation snapshot-isolation repeatable-read"},
		{"snapshot-isolation", "causal-cerone prefix read-atomic strong-session-snapshot-isolation parallel-snapshot-isolation"},
		{"read-committed", "monotonic-atomic-view read-committed strong-session-read-committed"},
		{"read-uncommitted", "read-uncommitted"},
	} {
		for seed := range uint64(4) {
			h := generated(t, gen.Options{
				Workload: "rw", Ops: 400, Clients: 4 + 8*int(seed%3), Keys: 3, Isolation: c.isolation,
				Crash: 0.05, Fail: 0.05, Seed: seed,
			})
			for model := range strings.FieldsSeq(c.models) {
				if r := check(h, Options{Models: []string{model}}); r.Verdict != checker.Valid {
					for _, a := range r.Anomalies {
						t.Log(a.Name, a.Message)
					}
					t.Errorf("%s, seed %d, judged by %s: %s, %s", c.isolation, seed, model, r.Verdict, r.Reason)
				}
			}
		}
	}
}

// Stores that keep less are found out by models that Elle's inference says nothing of.
func TestWeakModelsTellStoresApart(t *testing.T) {
	for _, c := range []struct{ isolation, model, name string }{
		{"serializable", "causal-cerone", "causal-cycle fractured-read"},
		{"read-committed", "read-atomic", "fractured-read internal"},
		{"read-uncommitted", "monotonic-atomic-view", "non-monotonic-read G1b G1c"},
	} {
		h := generated(t, gen.Options{Workload: "rw", Ops: 1000, Isolation: c.isolation, Seed: 2})
		r := check(h, Options{Models: []string{c.model}})
		if r.Verdict != checker.Invalid || !strings.Contains(c.name, r.Anomalies[0].Name) {
			t.Errorf("%s judged by %s: %s, %s", c.isolation, c.model, r.Verdict, r.Reason)
		}
	}
}

// The same histories without real time, and each process a session.
func TestSessionsOfStores(t *testing.T) {
	for _, c := range []struct {
		isolation, model string
		want             checker.Verdict
	}{
		{"strict-serializable", "", checker.Valid},
		{"strict-serializable", "causal-cerone", checker.Valid},
		{"snapshot-isolation", "snapshot-isolation", checker.Valid},
		{"snapshot-isolation", "serializable", checker.Invalid},
		{"read-committed", "read-committed", checker.Valid},
		{"read-committed", "read-atomic", checker.Invalid},
		{"read-uncommitted", "read-committed", checker.Invalid},
		{"serializable", "read-atomic", checker.Invalid}, // its reads may be older than what the session did
	} {
		h := generated(t, gen.Options{Workload: "rw", Ops: 1000, Isolation: c.isolation, Seed: 4})
		h.Ops = slices.DeleteFunc(h.Ops, func(op history.Op) bool { return op.Type == history.Invoke })
		o := Options{Sessions: true}
		if c.model != "" {
			o.Models = []string{c.model}
		}
		if r := check(h, o); r.Verdict != c.want {
			t.Errorf("%s judged by %q: %s, %s", c.isolation, c.model, r.Verdict, r.Reason)
		}
	}
}

// Of each kind of violation one that can be read in a minute.
func TestWeakAnomalies(t *testing.T) {
	for name, c := range map[string]struct {
		in         string
		o          Options
		want, says string
	}{
		"thin air": {in: `{:process 0, :type :ok, :f :txn, :value [[:r 1 7]]}`,
			o: Options{Sessions: true, Models: []string{"read-committed"}}, want: "garbage-read", says: "which nobody wrote"},
		"thin air may be older than a history that is not closed": {in: `
{:process 0, :type :ok, :f :txn, :value [[:r 1 7] [:w 2 1]]}
{:process 0, :type :ok, :f :txn, :value [[:r 2 1]]}`,
			o: Options{Models: []string{"read-committed"}}, want: ""},
		"somebody else's write instead of one's own": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2] [:r 1 1]]}`,
			o: Options{Sessions: true, Models: []string{"read-committed"}}, want: "not-own-write", says: "T1 wrote 2 of key 1"},
		"a cycle through a session": {in: `
{:process 0, :type :ok, :f :txn, :value [[:r 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:w 2 1]]}
{:process 1, :type :ok, :f :txn, :value [[:r 2 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 1]]}`,
			o: Options{Sessions: true, Models: []string{"read-committed"}}, want: "G1c-process", says: "process 0 did T1 before T2"},
		"a write of the session not seen": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 nil]]}`,
			o: Options{Models: []string{"causal"}}, want: "fractured-read", says: "process 0 did T1 before T2"},
		"a cause not seen": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 0, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 2] [:w 2 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 1] [:r 2 1]]}`,
			o: Options{Models: []string{"causal-cerone"}}, want: "causal-cycle", says: "though it had to see that T2 wrote 2 there (T3 read 2 of key 1, which T2 wrote, and T4 read 1 of key 2, which T3 wrote)"},
		"long fork": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 1]]}
{:process 1, :type :ok, :f :txn, :value [[:w 1 2]]}
{:process 2, :type :ok, :f :txn, :value [[:w 2 1]]}
{:process 3, :type :ok, :f :txn, :value [[:w 2 2]]}
{:process 4, :type :ok, :f :txn, :value [[:r 1 1] [:r 2 2] [:w 3 1]]}
{:process 5, :type :ok, :f :txn, :value [[:r 1 2] [:r 2 1] [:w 3 2]]}
{:process 6, :type :ok, :f :txn, :value [[:r 1 1] [:r 2 1] [:w 3 3]]}
{:process 7, :type :ok, :f :txn, :value [[:r 1 2] [:r 2 2] [:w 3 4]]}`,
			o: Options{Models: []string{"snapshot-isolation"}}, want: "G-nonadjacent-item", says: "8 transactions"},
		"initial transaction": {in: `
{:process 0, :type :ok, :f :txn, :value [[:w 1 0] [:w 2 0]]}
{:process 1, :type :ok, :f :txn, :value [[:r 1 0] [:w 2 1]]}
{:process 2, :type :ok, :f :txn, :value [[:r 2 0] [:w 1 1]]}`,
			o: Options{Sessions: true, InitialTxn: true, Models: []string{"serializable"}}, want: "G2-item", says: "which was there from the start"},
	} {
		if len(c.o.Models) == 1 && c.o.Models[0] == "causal" {
			c.o.Models = []string{"causal-cerone"}
		}
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

// A search that runs out of work is no verdict.
func TestWeakWorkLimit(t *testing.T) {
	h := generated(t, gen.Options{Workload: "rw", Ops: 2000, Isolation: "serializable", Seed: 5})
	r := checker.Streamed(func() checker.Stream {
		return RWRegister(Options{Models: []string{"serializable"}, Work: 3000})
	}).Check(context.Background(), h)
	if r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "pairs of transactions open") {
		t.Errorf("%s, %s", r.Verdict, r.Reason)
	}
}
