package chain_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history"
)

var update = flag.String("update", "", "cut the pairs of testdata anew from the runs in this folder (testdata/README.md)")

// real is a pair of histories in testdata that were cut from real runs: one of
// honest nodes, one of nodes with a planted bug.
type real struct {
	checker string
	bug     string // the run of the bad one
	says    string // the anomaly, or part of the warning or reason of one that never accuses
	clean   string // the run of the good one, "" for clean
}

var pairs = []real{
	{checker: "fork", bug: "fork", says: "fork"},
	{checker: "finality", bug: "rewind", says: "finality-reverted"},
	{checker: "state-agree", bug: "wrong-root", says: "root-mismatch"},
	{checker: "call-at", bug: "hash-ignored", says: "call-at-changed"},
	{checker: "immutable-by-hash", bug: "receipt-changes", says: "receipt-changed"},
	{checker: "index", bug: "index-off", says: "index-mismatch"},
	{checker: "logs-receipts", bug: "log-lost", says: "log-missing"},
	{checker: "durability", bug: "lost-payment", says: "lost-transaction"},
	{checker: "nonce", bug: "nonce-behind", says: "account-nonce"},
	{checker: "exactly-once", bug: "body-repeats", says: "transaction-twice"},
	{checker: "replay", bug: "lost-write", says: "lost-write"},
	{checker: "session", bug: "old-view", says: "monotonic-reads"},
	{checker: "staleness", bug: "views-behind", says: "local reads at latest on n4, while no fault was in force"},
	{checker: "reorg-depth", bug: "reorg", says: "reorg-too-deep"},
	{checker: "head-regress", bug: "head-back", says: "head-fell"},
	{checker: "chain-time", bug: "clock-falls", says: "time-went-back"},
	{checker: "sub", bug: "stream-lacks-logs", says: "sub-complete"},
	{checker: "equivocation", bug: "two-votes", says: "commit-fork"},
	{checker: "participation", bug: "absent-vote", says: "signed 0 of", clean: "calm"},
	{checker: "crash-log", bug: "panic-line", says: "panic"},
	{checker: "resource-slope", bug: "leak", says: "of n4", clean: "calm"},
	{checker: "liveness", bug: "halt", says: "chain-stopped"},
	{checker: "tx-lifecycle", bug: "lost-submission", says: "is in no block up to"},
	{checker: "converge", bug: "split", says: "split"},
	{checker: "stats", bug: "no-views", says: `operation "count" never succeeded`},
	{checker: "linear", bug: "stale-read", says: "nonlinearizable"},
	{checker: "counter", bug: "counter-over", says: "read-too-high"},
	{checker: "set-full", bug: "set-lost", says: "lost"},
	{checker: "bank", bug: "bank-made", says: "wrong-total"},
	{checker: "list-append", bug: "list-short", says: "G-single-item"},
}

// TestRealRuns judges the pairs by the checkers that judge runs, as these are
// judged.
func TestRealRuns(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.checker, func(t *testing.T) {
			good, bad := p.file("ok"), p.file("bad")
			if *update != "" {
				p.cut(t, *update)
			}
			r, info := ask(t, p.checker, read(t, good))
			if r.Verdict != checker.Valid || r.Facts == 0 || len(r.Warnings) > 0 || info.Bug != "" {
				t.Errorf("%s, of bug %q: %v, %d facts, %s, %q; want valid, of honest nodes", good, info.Bug, r.Verdict, r.Facts, r.Reason, r.Warnings)
			}
			h := read(t, bad)
			r, info = ask(t, p.checker, h)
			if !p.convicts(h, r) || info.Bug != p.bug {
				t.Errorf("%s, of bug %q: %v, %d facts, %s, %q; want %s", bad, info.Bug, r.Verdict, r.Facts, r.Reason, r.Warnings, p.says)
			}
		})
	}
}

// TestEveryCheckerHasARealPair: faults has none, as no node can make it say no.
func TestEveryCheckerHasARealPair(t *testing.T) {
	streams, _, err := claims.Streams(checker.TestInfo{Profile: "bft", Workloads: claims.Workloads()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		if s.Name() != "faults" && !slices.ContainsFunc(pairs, func(p real) bool { return p.checker == s.Name() }) {
			t.Errorf("checker %s has no pair of real histories", s.Name())
		}
	}
}

func (p real) file(kind string) string {
	return filepath.Join("testdata", p.checker+"-real-"+kind+".edn")
}

// convicts reports whether the checker says of a run with the bug what it should,
// with a witness of ten operations at most.
func (p real) convicts(h *history.History, r checker.Result) bool {
	if len(r.Anomalies) > 0 {
		n := 0
		for _, op := range operations(h) {
			if slices.ContainsFunc(r.Anomalies[0].Witness, func(ref checker.Ref) bool { return slices.Contains(op, ref.Index) }) {
				n++
			}
		}
		return r.Verdict == checker.Invalid && r.Facts > 0 && r.Anomalies[0].Name == p.says && 0 < n && n <= 10
	}
	said := append([]string{r.Reason}, r.Warnings...)
	return r.Verdict != checker.Invalid && r.Facts > 0 && (r.Verdict == checker.Unknown || len(r.Warnings) > 0) &&
		slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, p.says) })
}

func read(t *testing.T, file string) *history.History {
	t.Helper()
	h, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask asks the checker of that name as a run with this history does.
func ask(t *testing.T, name string, h *history.History) (checker.Result, checker.TestInfo) {
	t.Helper()
	info, ok := checker.ReadTest(h)
	if !ok {
		t.Fatal("the history has no :test op")
	}
	fair, _, err := claims.Checkers(info)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(fair, func(c checker.Checker) bool { return c.Name() == name })
	if i < 0 {
		t.Fatalf("%v are not judged by %s", info.Workloads, name)
	}
	return fair[i].Check(t.Context(), h), info
}

// write replaces a history of testdata.
func write(t *testing.T, file string, h *history.History) {
	t.Helper()
	var out []byte
	for i := range h.Ops {
		out = history.EDN().Append(out, &h.Ops[i])
	}
	if err := os.WriteFile(file, out, 0o644); err != nil {
		t.Fatal(err)
	}
}
