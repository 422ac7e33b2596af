package claims

import (
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

func TestProfilesExplainThemselves(t *testing.T) {
	for _, p := range Profiles() {
		text := p.Explain()
		for _, want := range []string{p.Doc, "latest", "safe", "finalized", "pending", "Judged:", "head", "fork"} {
			if !strings.Contains(text, want) {
				t.Errorf("profile %s does not say %q:\n%s", p.Name, want, text)
			}
		}
		for i, tag := range p.Tags {
			if tag == "" {
				t.Errorf("profile %s says nothing of tag %d", p.Name, i)
			}
		}
		if p.FinalTag != latest && p.Depth == 0 {
			t.Errorf("profile %s may reorganise, and has no bound of the depth", p.Name)
		}
	}
}

func TestLevels(t *testing.T) {
	for level, want := range map[string]string{"final": latest, "finalized": finalized, "none": "", "rollup": finalized} {
		p, err := ParseLevel(level)
		if err != nil || p.FinalTag != want {
			t.Errorf("claim %s: final tag %q, %v, want %q", level, p.FinalTag, err, want)
		}
	}
	if _, err := ParseLevel("strong"); err == nil || !strings.Contains(err.Error(), `"strong"`) || !strings.Contains(err.Error(), "final") {
		t.Errorf("unknown claim: %v", err)
	}
}

func TestEverySightIsThere(t *testing.T) {
	for _, c := range all() {
		found := false
		for _, s := range sights {
			found = found || s.workload == c.workload
		}
		if !found {
			t.Errorf("nothing says what a run without the workload %s could not have seen", c.workload)
		}
	}
}

func TestBlind(t *testing.T) {
	info := checker.TestInfo{Nodes: []string{"n1"}, Workloads: []string{"head"}}
	faults := []checker.Result{{Checker: "faults", Stats: []checker.Stat{{Name: "kill", Value: "once, 3s in force"}, {Name: "clock-bump", Value: "0 times"}}}}
	text := strings.Join(Blind(info, faults), "\n")
	for _, want := range []string{"did not run", "register", "one node", "never split", "no clock was wrong"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said of:\n%s", want, text)
		}
	}
	for _, wrong := range []string{"head", "no node died", "no fault was injected"} {
		if strings.Contains(text, wrong) {
			t.Errorf("%q is said of:\n%s", wrong, text)
		}
	}
	info.Workloads = slices.DeleteFunc(Workloads(), func(w string) bool { return w == "register" })
	if text := strings.Join(Blind(info, nil), "\n"); !strings.Contains(text, "without the workload register: a read") {
		t.Errorf("all but one workload: %s", text)
	}
	if text := strings.Join(Blind(info, nil), "\n"); !strings.Contains(text, "no fault was injected") {
		t.Errorf("no faults: %s", text)
	}
}

// TestOneNodeReads: a stale local read is an anomaly where one node answers all.
func TestOneNodeReads(t *testing.T) {
	h, err := history.ReadAll(strings.NewReader(`{:process 0, :type :invoke, :f :write, :value [1 1], :node "n1"}
{:process 0, :type :ok, :f :write, :value [1 1], :node "n1"}
{:process 1, :type :invoke, :f :peek, :value [1 nil], :node "n1", :tag "latest"}
{:process 1, :type :ok, :f :peek, :value [1 nil], :node "n1", :tag "latest"}
{:process 0, :type :invoke, :f :write, :value [1 2], :node "n1"}
{:process 0, :type :ok, :f :write, :value [1 2], :node "n1"}
{:process 1, :type :invoke, :f :peek, :value [1 nil], :node "n1", :tag "latest"}
{:process 1, :type :ok, :f :peek, :value [1 1], :node "n1", :tag "latest"}
`), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]checker.Verdict{"single": checker.Invalid, "bft": checker.Valid} {
		fair, _, err := Checkers(checker.TestInfo{Profile: profile, Workloads: []string{"register"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range fair {
			if c.Name() != "linear" {
				continue
			}
			if r := c.Check(t.Context(), h); r.Verdict != want {
				t.Errorf("profile %s: %s: %s", profile, r.Verdict, r.Reason)
			}
		}
	}
}
