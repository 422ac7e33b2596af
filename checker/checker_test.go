package checker

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/history"
)

// TestWalls holds the import rules of this room and of history: whatever judges
// histories must not pull in a chain.
func TestWalls(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("SKIPPED: no go tool to list the imports with: %v", err)
	}
	out, err := exec.Command(goTool, "list", "-deps", "github.com/jepgo/jepgo/checker/...", "github.com/jepgo/jepgo/history/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	seen := 0
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		seen++
		for _, banned := range []string{"github.com/ethereum/", "github.com/cometbft/", "github.com/jepgo/jepgo/"} {
			allowed := strings.HasPrefix(dep, "github.com/jepgo/jepgo/checker") || strings.HasPrefix(dep, "github.com/jepgo/jepgo/history")
			if strings.HasPrefix(dep, banned) && !allowed {
				t.Errorf("checker or history imports %s", dep)
			}
		}
	}
	if seen < 10 {
		t.Errorf("go list named only %d packages: %s", seen, out)
	}
}

// says is a checker that answers what it is told.
type says struct {
	name  string
	check func(ctx context.Context) Result
}

func (s says) Name() string { return s.name }

func (s says) Check(ctx context.Context, _ *history.History) Result { return s.check(ctx) }

func answer(name string, v Verdict, facts int) says {
	return says{name, func(context.Context) Result { return Result{Verdict: v, Facts: facts} }}
}

func TestComposeTakesTheWorst(t *testing.T) {
	ok, bad, dunno := answer("ok", Valid, 1), answer("bad", Invalid, 1), answer("dunno", Unknown, 1)
	for _, test := range []struct {
		checkers []Checker
		want     Verdict
	}{
		{nil, Unknown},
		{[]Checker{ok}, Valid},
		{[]Checker{ok, ok}, Valid},
		{[]Checker{ok, dunno}, Unknown},
		{[]Checker{dunno, ok}, Unknown},
		{[]Checker{dunno, bad, ok}, Invalid},
		{[]Checker{answer("empty", Valid, 0), ok}, Unknown},
	} {
		results, got := Compose(context.Background(), &history.History{}, test.checkers...)
		if got != test.want {
			t.Errorf("%v gives %v, want %v", test.checkers, got, test.want)
		}
		for i, r := range results {
			if r.Checker != test.checkers[i].Name() {
				t.Errorf("result %d is of %q, want %q", i, r.Checker, test.checkers[i].Name())
			}
		}
	}
}

func TestComposeSurvivesItsCheckers(t *testing.T) {
	boom := says{"boom", func(context.Context) Result { panic("index out of sorts") }}
	results, verdict := Compose(context.Background(), &history.History{}, boom, answer("ok", Valid, 1))
	if verdict != Unknown || !strings.Contains(results[0].Reason, "index out of sorts") || results[1].Verdict != Valid {
		t.Errorf("after a panic: %v: %+v", verdict, results)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(context.DeadlineExceeded)
	results, verdict = Compose(ctx, &history.History{}, answer("ok", Valid, 1))
	if verdict != Unknown || !strings.Contains(results[0].Reason, "deadline") {
		t.Errorf("after the end: %v: %+v", verdict, results)
	}
}

func TestReadTest(t *testing.T) {
	h := read(t, `{:index 0 :type :info :process :jepgo :f :test :value {:version "v0" :seed 42 :profile :bft :workloads [:register :head] :nodes ["n1" "n2"] :nemesis [:partition :kill] :processes 20 :bug nil :claim nil}}`)
	info, ok := ReadTest(h)
	if !ok || info.Version != "v0" || info.Seed != 42 || info.Profile != "bft" || info.Processes != 20 || info.Bug != "" ||
		strings.Join(info.Workloads, " ") != "register head" || strings.Join(info.Nodes, " ") != "n1 n2" || strings.Join(info.Nemesis, " ") != "partition kill" {
		t.Errorf("read %v: %+v", ok, info)
	}
	if info, ok := ReadTest(read(t, `{:type :invoke :process 0 :f :read} {:type :info :process :jepgo :f :test :value {}}`)); ok {
		t.Errorf("a :test op behind a client op was taken: %+v", info)
	}
}

func read(t *testing.T, text string) *history.History {
	t.Helper()
	h, err := history.ReadAll(strings.NewReader(text), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFixtures judges the pairs of good and bad histories in testdata.
func TestFixtures(t *testing.T) {
	small := Floor{Run: 2, Each: 1}
	for _, test := range []struct {
		file  string
		c     Checker
		want  Verdict
		says  string // in the reason
		facts int
	}{
		{"run-ok.edn", Stats(small), Valid, "every operation had successes, 5 in all", 6},
		{"run-ok.edn", Stats(Floor{}), Unknown, "phase run has fewer successes than the floor: 3 of 10: run longer (--time) or with more clients", 6},
		{"run-ok.edn", Stats(Floor{Run: 2, Each: 2}), Unknown, `operation "write" has fewer successes in phase run than the floor: 1 of 2: run longer (--time) or with more clients`, 6},
		{"never-worked-bad.edn", Stats(small), Unknown, `operation "cas" never succeeded: 1 failed, 1 in doubt of 2`, 5},
		{"never-worked-bad.edn", Stats(Floor{Run: 1, Of: []string{}, Spare: []string{"cas"}}), Valid, "every operation had successes", 5},
		{"run-ok.edn", NemesisFaults(), Valid, "each of 2 faults was seen to bite and to be undone", 4},
		{"no-evidence-bad.edn", NemesisFaults(), Unknown, "start-partition of n1, n2 (op 1) was not seen to bite (op 2): no connection crossed the cut", 2},
		{"not-undone-bad.edn", NemesisFaults(), Unknown, "dirty: pause of n3 (op 1) could not be seen to be undone (op 4): process is still stopped", 2},
		{"never-ended-bad.edn", NemesisFaults(), Unknown, "kill of n2 (op 1) was never taken back in this history", 2},
		{"never-began-bad.edn", NemesisFaults(), Unknown, "none of the faults that were asked for happened: kill, pause", 0},
		{"no-nemesis-ok.edn", NemesisFaults(), Valid, "no fault was asked for", 1},
		{"run-ok.edn", Converge(), Valid, "nodes reached one head 1.2s after the heal", 1},
		{"not-converged-bad.edn", Converge(), Unknown, "nodes did not reach one head after the heal, in 1m0s of at most 1m0s (op 1): n1 at 34, n2 at 30", 1},
		{"split-bad.edn", Converge(), Invalid, "the network is split: block 5 is 0xa5 on n1, n2, and 0xb5 on n3; nothing was in force, and in 1m28s they did not come together (heads: n1 at 104, n2 at 104, n3 at 6)", 3},
		{"reorg-under-way-unknown.edn", Converge(), Unknown, "nodes did not reach one head after the heal", 1},
		{"no-nemesis-ok.edn", Converge(), Unknown, "history has no :converge op, so final reads cannot be trusted", 0},
	} {
		t.Run(test.file+"/"+test.c.Name(), func(t *testing.T) {
			h, err := history.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			r := test.c.Check(context.Background(), h)
			if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) || r.Facts != test.facts {
				t.Errorf("got %v, %d facts: %q; want %v, %d facts: %q; warnings %q", r.Verdict, r.Facts, r.Reason, test.want, test.facts, test.says, r.Warnings)
			}
		})
	}
}

func TestStatsMeasures(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("testdata", "run-ok.edn"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"write": "1 ok (29.4/s in the run), 0 fail, 1 info; ok took p50 5ms, p95 5ms, p99 5ms, max 5ms",
		"peek":  "4 ok (2 in phase run, 58.8/s), 0 fail, 0 info; ok took p50 1ms, p95 2ms, p99 2ms, max 2ms",
	}
	for _, s := range Stats(Floor{}).Check(context.Background(), h).Stats {
		if s.Value != want[s.Name] {
			t.Errorf("%s is %q, want %q", s.Name, s.Value, want[s.Name])
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not measured: %v", want)
	}
	for _, s := range NemesisFaults().Check(context.Background(), h).Stats {
		if s.Name == "kill" && s.Value != "once, 4ms in force (n2 0.0s to 0.0s)" {
			t.Errorf("kill was in force %q", s.Value)
		}
	}
}

// TestInForce: only a fault that bit, stayed and was undone was in force for a
// known time.
func TestInForce(t *testing.T) {
	nemesis := func(f string, value history.Value, problem string) history.Op {
		op := history.Op{Type: history.Info, Process: history.Nemesis(), F: f, Value: value}
		if problem != "" {
			op.Error = history.Vec(history.Keyword(problem), history.Text("because"))
		}
		return op
	}
	targets := history.Vec(history.Text("n1"))
	outcome := func(f string, requested, measured int64, problem string) history.Op {
		kvs := []history.Value{history.Keyword("targets"), targets, history.Keyword("requested"), history.Int(requested), history.Keyword("measured"), history.Int(measured)}
		if problem == "" {
			kvs = append(kvs, history.Keyword("evidence"), history.MapOf(history.Keyword("seen"), history.Flag(true)))
		}
		return nemesis(f, history.MapOf(kvs...), problem)
	}
	fault := func(bites, end string) []history.Op {
		return []history.Op{
			nemesis("start-delay", targets, ""), outcome("start-delay", 5e8, 1e9, bites),
			nemesis("stop-delay", targets, ""), outcome("stop-delay", 3e9, 9e9, end),
		}
	}
	for _, c := range []struct {
		ops  [][]history.Op
		want string
	}{
		{[][]history.Op{fault("", "")}, "once, 2s in force (n1 1.0s to 3.0s)"},
		{[][]history.Op{fault("", ""), fault("", "")}, "2 times, 4s in force (n1 1.0s to 3.0s, n1 1.0s to 3.0s)"},
		{[][]history.Op{fault("no-evidence", "")}, "once, not known to have been in force"},
		{[][]history.Op{fault("", "lapsed")}, "once, not known to have been in force"},
		{[][]history.Op{fault("", ""), fault("no-evidence", ""), fault("", "lapsed")}, "3 times, 2s in force in 1 of them (n1 1.0s to 3.0s); of the others it is not known"},
		{[][]history.Op{fault("", "not-undone")}, "once, not known to have been in force"},
	} {
		h := &history.History{Ops: slices.Concat(c.ops...)}
		for i := range h.Ops {
			h.Ops[i].Index, h.Ops[i].Time = int64(i), int64(i)
		}
		stats := NemesisFaults().Check(context.Background(), h).Stats
		if len(stats) != 1 || stats[0].Value != c.want {
			t.Errorf("got %v, want %q", stats, c.want)
		}
	}
}

func TestPhases(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("testdata", "run-ok.edn"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	phases := Phases(h)
	for i, p := range phases {
		names = append(names, p.Name)
		if i > 0 && phases[i-1].To != p.From {
			t.Errorf("phase %s begins at %d, the one before ends at %d", p.Name, p.From, phases[i-1].To)
		}
	}
	if strings.Join(names, " ") != "run heal final end" || phases[3].To != len(h.Ops) {
		t.Errorf("phases are %+v", phases)
	}
}

func TestQuantile(t *testing.T) {
	sample := []time.Duration{1, 2, 3, 4}
	for q, want := range map[float64]time.Duration{0: 1, 0.25: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := Quantile(sample, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestValuesNumberEqualValuesAlike(t *testing.T) {
	var vs Values
	if vs.Number(history.Value{}) != 0 || vs.Len() != 1 {
		t.Error("nil is not 0")
	}
	one := vs.Number(history.FloatOf(42))
	if vs.Number(history.Int(42)) != one || vs.Number(history.Int(42)) != one || vs.Number(history.Text("42")) == one {
		t.Error("42, 42.0 and \"42\" are mixed up")
	}
	if !vs.Value(one).Equal(history.Int(42)) || !vs.Value(99).IsNil() {
		t.Error("a number does not lead back to its value")
	}
}

// TestFaultRemarks: what is worth knowing of a fault that bit and was undone.
func TestFaultRemarks(t *testing.T) {
	h, err := history.ReadAll(strings.NewReader(`
{:type :info :process :jepgo :f :test :value {:version "1" :profile :bft :workloads [:head] :nodes ["n1" "n2"] :nemesis [:disk-flip :wipe :power]}}
{:type :info :process :nemesis :f :start-disk-flip :value {:nodes ["n1" "n2"]}}
{:type :info :process :nemesis :f :start-disk-flip :value {:targets {:nodes ["n1" "n2"]} :requested 1 :measured 1000000000 :evidence {"n1" {:canary-flipped 1} "n2" {:canary-flipped 1}}}}
{:type :info :process :nemesis :f :stop-disk-flip :value {:nodes ["n1" "n2"]}}
{:type :info :process :nemesis :f :stop-disk-flip :value {:targets {:nodes ["n1" "n2"]} :requested 3000000000 :measured 4000000000 :evidence {"n1" {:operations 5 :hits 0} "n2" {:operations 7 :hits 0}}}}
{:type :info :process :nemesis :f :start-disk-flip :value {:nodes ["n1" "n2"]}}
{:type :info :process :nemesis :f :start-disk-flip :value {:targets {:nodes ["n1" "n2"]} :requested 1 :measured 5000000000 :evidence {"n1" {:canary-flipped 1} "n2" {:canary-flipped 1}}}}
{:type :info :process :nemesis :f :stop-disk-flip :value {:nodes ["n1" "n2"]}}
{:type :info :process :nemesis :f :stop-disk-flip :value {:targets {:nodes ["n1" "n2"]} :requested 6000000000 :measured 7000000000 :evidence {"n1" {:operations 5 :hits 0} "n2" {:operations 7 :hits 1}}}}
{:type :info :process :nemesis :f :start-wipe :value {:nodes ["n2"]}}
{:type :info :process :nemesis :f :start-wipe :value {:targets {:nodes ["n2"]} :requested 1 :measured 8000000000 :evidence {"n2" {:files 3}}}}
{:type :info :process :nemesis :f :stop-wipe :value {:nodes ["n2"]}}
{:type :info :process :nemesis :f :stop-wipe :value {:targets {:nodes ["n2"]} :requested 9000000000 :measured 9500000000 :evidence {"n2" {:finding "node n2 did not come back: it ended; the end of its log"}}}}
{:type :info :process :jepgo :f :interrupted :value nil}
`), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	r := NemesisFaults().Check(context.Background(), h)
	if want := "power was asked for but never injected: the run was interrupted"; r.Verdict != Unknown || r.Reason != want {
		t.Errorf("%v: %q, want unknown: %q", r.Verdict, r.Reason, want)
	}
	want := []string{
		"disk-flip of n1, n2 (op 1) hit jepgo's own file on the disk, but none of 12 operations of the node (op 4)",
		"wipe of n2 (op 9): node n2 did not come back: it ended (op 12)",
	}
	if !slices.Equal(r.Warnings, want) {
		t.Errorf("warnings %q, want %q", r.Warnings, want)
	}
	if len(r.Stats) == 0 || r.Stats[0].Value != "2 times, 3s in force (n1 n2 1.0s to 3.0s, n1 n2 5.0s to 6.0s)" {
		t.Errorf("stats %v", r.Stats)
	}
}
