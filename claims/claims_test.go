package claims

import (
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
)

func TestCheckersByProfile(t *testing.T) {
	for _, test := range []struct {
		profile, claim string
		linear         bool
	}{
		{"bft", "", true}, {"pos", "", false}, {"longest-chain", "", false}, {"longest-chain", "bft", true}, {"bft", "pos", false},
	} {
		fair, notClaimed, err := Checkers(checker.TestInfo{Profile: test.profile, Claim: test.claim, Workloads: Workloads()})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range fair {
			names = append(names, c.Name())
		}
		if got := slices.Contains(names, "linear"); got != test.linear {
			t.Errorf("profile %s, claim %q: checkers %v", test.profile, test.claim, names)
		}
		for _, always := range []string{"stats", "fork", "finality", "replay", "session", "staleness"} {
			if !slices.Contains(names, always) {
				t.Errorf("profile %s: checkers %v lack %s", test.profile, names, always)
			}
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(fair) {
			t.Errorf("a checker runs twice: %v", names)
		}
		if len(notClaimed) == 0 {
			t.Errorf("profile %s claims everything", test.profile)
		}
	}
}

func TestCheckersNameWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		info checker.TestInfo
		want []string
	}{
		{checker.TestInfo{Profile: "pow", Workloads: Workloads()}, []string{`"pow"`, "bft", "pos", "longest-chain"}},
		{checker.TestInfo{Profile: "bft", Workloads: []string{"casino"}}, []string{`"casino"`, "register", "head"}},
		{checker.TestInfo{Profile: "bft"}, []string{"register", "head"}},
	} {
		_, _, err := Checkers(test.info)
		for _, w := range test.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: error %v does not say %s", test.info, err, w)
			}
		}
	}
}
