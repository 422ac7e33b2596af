package runner

import (
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/claims"
)

// TestEveryCheckerHasABug: whatever judges the nodes of the devnet has a planted bug
// that is meant for it, and a bug's workloads bring its checker along. The checker
// faults judges jepgo itself.
func TestEveryCheckerHasABug(t *testing.T) {
	judges := func(workloads []string) (names []string) {
		streams, _, err := claims.Streams(checker.TestInfo{Profile: "bft", Workloads: workloads})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range streams {
			names = append(names, s.Name())
		}
		return names
	}
	found := []string{checker.NemesisFaults().Name()}
	for _, bug := range PlantedBugs() {
		found = append(found, bug.Checker)
		if names := judges(bug.Workloads); !slices.Contains(names, bug.Checker) {
			t.Errorf("bug %s is meant for the checker %s, but %v are judged by %v", bug.Name, bug.Checker, bug.Workloads, names)
		}
	}
	for _, name := range judges(claims.Workloads()) {
		if !slices.Contains(found, name) {
			t.Errorf("no bug is meant for the checker %s", name)
		}
	}
}
