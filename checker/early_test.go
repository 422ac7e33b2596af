package checker

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// cutBefore is a good run up to its first op that matches.
func cutBefore(t *testing.T, match func(op *history.Op) bool) *history.History {
	t.Helper()
	h, err := history.ReadFile(filepath.Join("testdata", "run-ok.edn"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(h.Ops, func(op history.Op) bool { return match(&op) })
	if at < 0 {
		t.Fatal("nothing matches")
	}
	return &history.History{Ops: h.Ops[:at]}
}

func isPhase(name string) func(op *history.Op) bool {
	return func(op *history.Op) bool { return op.F == "phase" && op.Value.Text() == name }
}

// TestEarlyEndIsTheFirstReason holds that a run that was cut off is called that,
// and not blamed for what it had no time for.
func TestEarlyEndIsTheFirstReason(t *testing.T) {
	small := Floor{Run: 2}
	inRun, inFinal := cutBefore(t, isPhase("heal")), cutBefore(t, isPhase("end"))
	for _, test := range []struct {
		c    Checker
		h    *history.History
		want string
	}{
		{Stats(small), inRun, "the history ends in phase run: the run was stopped or killed; phase final has fewer"},
		{Converge(), inRun, "the history ends in phase run: the run was stopped or killed; history has no :converge op"},
		{NemesisFaults(), inRun, "the history ends in phase run: the run was stopped or killed; start-partition of n1, n2 (op 9) was never taken back"},
		{NemesisFaults(), cutBefore(t, func(op *history.Op) bool { return op.F == "kill" }), "the history ends in phase run: the run was stopped or killed; none of the faults"},
		{Stats(small), cutBefore(t, isPhase("run")), "the history ends before phase run: the run was stopped or killed; history has no client"},
	} {
		r := test.c.Check(context.Background(), test.h)
		if r.Verdict != Unknown || !strings.HasPrefix(r.Reason, test.want) {
			t.Errorf("%s: %v: %q, want %q", r.Checker, r.Verdict, r.Reason, test.want)
		}
	}
	r := Stats(small).Check(context.Background(), inFinal)
	if r.Verdict != Unknown || !strings.HasPrefix(r.Reason, "the history ends in phase final: the run was stopped or killed") {
		t.Errorf("all phases, but no end: %v: %q, warnings %q", r.Verdict, r.Reason, r.Warnings)
	}
	foreign := read(t, `{:type :invoke :process 0 :f :read} {:type :ok :process 0 :f :read}`)
	if cause := EndsEarly(foreign); cause != "" {
		t.Errorf("a history of another tool: %s", cause)
	}
}

// TestMissingFaults holds that a kind of fault that was asked for and never came
// is named, whatever its spec.
func TestMissingFaults(t *testing.T) {
	const one = `
{:type :info :process :nemesis :f :kill :value ["n2"]}
{:type :info :process :nemesis :f :kill :value {:targets ["n2"] :evidence {:pid 7}}}
{:type :info :process :nemesis :f :start :value ["n2"]}
{:type :info :process :nemesis :f :start :value {:targets ["n2"] :evidence {:pid 8}}}
{:type :info :process :jepgo :f :phase :value :end}`
	const short = " was asked for but never injected: the run was too short"
	for asked, want := range map[string]struct {
		reason   string // "" for valid
		warnings []string
		never    int
	}{
		":nemesis [:kill]":     {},
		":nemesis [:kill:one]": {}, // as jepgo wrote it before there were :faults
		`:nemesis [:kill :pause] :faults ["kill:one@height=5" "pause+5s"]`: {reason: "pause" + short, never: 1},
		`:nemesis [:all] :faults ["partition" "kill" "pause"]`: {
			warnings: []string{"partition" + short, "pause" + short}, never: 2},
		`:nemesis [:all :pause] :faults ["partition" "kill" "pause" "pause:one"]`: {
			reason: "pause" + short, warnings: []string{"partition" + short}, never: 2},
	} {
		h := read(t, `{:type :info :process :jepgo :f :test :value {`+asked+`}}`+one)
		r := NemesisFaults().Check(context.Background(), h)
		slices.Sort(r.Warnings)
		verdict, reason := Valid, "the one fault was seen to bite and to be undone"
		if want.reason != "" {
			verdict, reason = Unknown, want.reason
		}
		if r.Verdict != verdict || r.Reason != reason || !slices.Equal(r.Warnings, want.warnings) {
			t.Errorf("%s: %v: %q, warnings %q, want %+v", asked, r.Verdict, r.Reason, r.Warnings, want)
		}
		never := 0
		for _, s := range r.Stats {
			if s.Value == "0 times" {
				never++
			}
		}
		if never != want.never || !slices.Contains(r.Stats, Stat{"kill", "once"}) {
			t.Errorf("%s: stats %v", asked, r.Stats)
		}
	}
}

// TestMomentThatNeverCame: other faults of the same kind do not make up for it.
func TestMomentThatNeverCame(t *testing.T) {
	const test = `{:type :info :process :jepgo :f :test :value {:nemesis [:kill] :faults ["kill:one" "kill@height=5000"]}}`
	const one = `
{:type :info :process :nemesis :f :kill :value ["n2"]}
{:type :info :process :nemesis :f :kill :value {:targets ["n2"] :evidence {:pid 7}}}
{:type :info :process :nemesis :f :start :value ["n2"]}
{:type :info :process :nemesis :f :start :value {:targets ["n2"] :evidence {:pid 8}}}`
	const never = `
{:type :info :process :nemesis :f :not-injected :value {:fault "kill@height=5000"} :error [:not-injected "its moment did not come"]}
{:type :info :process :jepgo :f :phase :value :end}`
	r := NemesisFaults().Check(context.Background(), read(t, test+one+never))
	if r.Verdict != Unknown || r.Reason != "kill@height=5000 was never injected (op 5): its moment did not come" || len(r.Warnings) != 0 {
		t.Errorf("%v: %q, warnings %q", r.Verdict, r.Reason, r.Warnings)
	}
	r = NemesisFaults().Check(context.Background(), read(t, test+never))
	if r.Verdict != Unknown || len(r.Warnings) != 1 {
		t.Errorf("alone: %v: %q, warnings %q", r.Verdict, r.Reason, r.Warnings)
	}
}

func TestOneSuccessOfEachIsEnough(t *testing.T) {
	h := &history.History{}
	add := func(typ history.Type, f string) {
		h.Ops = append(h.Ops, history.Op{Type: typ, Process: history.Client(1), F: f})
	}
	for range 10 {
		add(history.Invoke, "read")
		add(history.OK, "read")
	}
	add(history.Invoke, "cas")
	add(history.OK, "cas")
	if r := Stats(Floor{}).Check(context.Background(), h); r.Verdict != Valid {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// TestMovedLinesAreNotJudged: jepgo numbers its own lines; a file that was cut
// and pasted is no run.
func TestMovedLinesAreNotJudged(t *testing.T) {
	h := read(t, `{:index 0 :type :info :process :jepgo :f :test :value {:profile :bft}}
{:index 1 :type :info :process :jepgo :f :phase :value :run}
{:index 2 :type :invoke :process 0 :f :head} {:index 3 :type :ok :process 0 :f :head}
{:index 4 :type :info :process :jepgo :f :phase :value :final}
{:index 5 :type :invoke :process 0 :f :block} {:index 6 :type :ok :process 0 :f :block}
{:index 7 :type :info :process :jepgo :f :phase :value :end}`)
	floor := Floor{Run: 1}
	if r := Stats(floor).Check(context.Background(), h); r.Verdict != Valid {
		t.Fatalf("untouched: %v: %q", r.Verdict, r.Reason)
	}
	h.Ops = append(h.Ops[:2:2], h.Ops[4:]...)
	if r := Stats(floor).Check(context.Background(), h); r.Verdict != Unknown || !strings.Contains(r.Reason, "line 3 of the history has :index 4") {
		t.Errorf("two lines gone: %v: %q", r.Verdict, r.Reason)
	}
}

// TestSilentNodeIsNotApproved: each node of the run is asked at the end.
func TestSilentNodeIsNotApproved(t *testing.T) {
	text := `{:index 0 :type :info :process :jepgo :f :test :value {:profile :bft :nodes ["n1" "n2"]}}
{:index 1 :type :info :process :jepgo :f :phase :value :run}
{:index 2 :type :invoke :process 0 :f :head} {:index 3 :type :ok :process 0 :f :head :node "n1"}
{:index 4 :type :info :process :jepgo :f :phase :value :final}
{:index 5 :type :invoke :process 0 :f :block} {:index 6 :type :ok :process 0 :f :block :node "n1"}
{:index 7 :type :invoke :process 0 :f :block} {:index 8 :type :ok :process 0 :f :block :node "n2"}
{:index 9 :type :info :process :jepgo :f :phase :value :end}`
	for history, want := range map[string]Verdict{text: Valid, strings.ReplaceAll(text, `:node "n2"`, `:node "n1"`): Unknown} {
		if r := Stats(Floor{Run: 1}).Check(context.Background(), read(t, history)); r.Verdict != want {
			t.Errorf("%v, want %v: %q", r.Verdict, want, r.Reason)
		}
	}
}

// TestEmptyEvidenceIsNone: evidence says what was measured, or it is none.
func TestEmptyEvidenceIsNone(t *testing.T) {
	text := `{:type :info :process :jepgo :f :test :value {:profile :bft :nemesis [:kill]}}
{:type :info :process :nemesis :f :kill :value ["n2"]}
{:type :info :process :nemesis :f :kill :value {:targets ["n2"] :requested 1 :measured 2 :evidence {"n2" {:gone true}}}}
{:type :info :process :nemesis :f :start :value ["n2"]}
{:type :info :process :nemesis :f :start :value {:targets ["n2"] :requested 3 :measured 4 :evidence {"n2" {:ready true}}}}
{:type :info :process :jepgo :f :phase :value :end}`
	for _, evidence := range []string{`{"n2" {:gone true}}`, `{}`, `false`} {
		want := Unknown
		if evidence != `{}` && evidence != `false` {
			want = Valid
		}
		h := read(t, strings.Replace(text, `{"n2" {:gone true}}`, evidence, 1))
		if r := NemesisFaults().Check(context.Background(), h); r.Verdict != want {
			t.Errorf("evidence %s: %v, want %v: %q", evidence, r.Verdict, want, r.Reason)
		}
	}
}
