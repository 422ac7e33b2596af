//go:build live

package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/workloads"
)

// quick are the bugs that -short tries, of one kind each: those that show within
// seconds on a busy machine.
var quick = []string{"fork", "lost-write", "index-off", "log-twice", "two-votes"}

// smallWitness is how many operations a witness of the checker that is meant for a
// bug may have.
const smallWitness = 10

// TestBugs starts nodes with each planted bug: the checker that is there for it
// must say so, with a small witness where it accuses. A bug whose workload or
// checker does not exist is skipped, and says so.
func TestBugs(t *testing.T) {
	for _, bug := range validator.Bugs() {
		for round := 1; round <= *rounds; round++ {
			t.Run(fmt.Sprintf("%s/round=%d", bug.Name, round), func(t *testing.T) {
				if testing.Short() && !slices.Contains(quick, bug.Name) {
					t.Skipf("SKIPPED: -short tries %v only", quick)
				}
				for _, w := range bug.Workloads {
					if _, err := workloads.Get(w); err != nil {
						t.Skipf("NOT PROVEN: %v", err)
					}
				}
				catch(t, bug, round)
			})
		}
	}
}

// catch runs the bug until its checker says so. A bug shows itself at some height,
// so that a slow machine needs a longer run: each next one is twice as long, and
// three are enough.
func catch(t *testing.T, bug validator.Bug, seed int) {
	dir := t.TempDir()
	defer clean(t, dir)
	long := max(*length, bug.Time)
	for try := 1; ; try++ {
		r, j := runBug(t, dir, bug, seed, long)
		judged, ok := j.Checkers[bug.Checker]
		want, said := "an invalid run", r.status == 1 && judged.Valid == false
		switch bug.Says {
		case validator.Warns:
			want, said = "a warning", judged.Valid == true && len(judged.Warnings) > 0
		case validator.Unsure:
			want, said = "an unknown run", r.status == 2 && judged.Valid == "unknown"
		}
		switch {
		case !ok:
			t.Skipf("NOT PROVEN: bug %s needs the checker %s, which does not judge %v yet", bug.Name, bug.Checker, bug.Workloads)
		case said && bug.Says == validator.Warns:
			t.Logf("warning: %s", judged.Warnings[0])
			return
		case said && bug.Says == validator.Unsure:
			t.Logf("unknown: %s", judged.Reason)
			return
		case said:
			witnessed(t, bug, j)
			return
		case try == 3:
			t.Fatalf("in %s checker %s says %v (%s), want %s: %s", long, bug.Checker, judged.Valid, judged.Reason, want, r)
		}
		t.Logf("not within %s (%v: %s)", long, judged.Valid, judged.Reason)
		long *= 2
	}
}

func runBug(t *testing.T, dir string, bug validator.Bug, seed int, long time.Duration) (result, judgement) {
	nemesis := bug.Nemesis
	if nemesis == "" {
		nemesis = "none"
	}
	r := jepgo(t, dir, "test", "--bug", bug.Name, "--nemesis", nemesis, "--nemesis-interval", "5s", "--time", long.String(), "--seed", fmt.Sprint(seed),
		"--workload", strings.Join(bug.Workloads, ","))
	return r, latest(t, dir)
}

// witnessed holds the anomalies of a run that was called invalid to what they must
// show.
func witnessed(t *testing.T, bug validator.Bug, j judgement) {
	found := 0
	for name, anomalies := range j.Anomalies {
		for _, a := range anomalies {
			if len(a.Witness) == 0 {
				t.Errorf("anomaly %s of %s has no witness: %s", name, a.Checker, a.Message)
			}
			if a.Checker != bug.Checker {
				continue // how small a witness can be there is up to the chance of the run
			}
			if n := a.operations(); n > smallWitness {
				t.Errorf("anomaly %s of %s has a witness of %d operations, want at most %d: %s", name, a.Checker, n, smallWitness, a.Message)
			}
			if found++; found == 1 {
				t.Logf("%s: %s, %d operations in the witness", name, a.Message, a.operations())
			}
		}
	}
	if found == 0 {
		t.Errorf("checker %s has no anomaly to show: %+v", bug.Checker, j.Anomalies)
	}
}
