//go:build live

package live

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNemesis runs the main job under each nemesis: never a false alarm, every
// checker compares something, nothing is left, and the files alone give the
// same verdict.
func TestNemesis(t *testing.T) {
	for _, nemesis := range []string{"partition", "kill", "pause", "partition,kill,pause"} {
		for seed := 1; seed <= *seeds; seed++ {
			t.Run(fmt.Sprintf("%s/seed=%d", nemesis, seed), func(t *testing.T) {
				dir := t.TempDir()
				// Each kind that is named must have its turn.
				total := *length * time.Duration(1+strings.Count(nemesis, ","))
				r := jepgo(t, dir, "test", "--nemesis", nemesis, "--time", total.String(),
					"--nemesis-interval", "4s", "--seed", fmt.Sprint(seed))
				if r.status != 0 {
					t.Fatalf("want a valid run: %s", r)
				}
				j := latest(t, dir)
				for name, c := range j.Checkers {
					if c.Valid != true || c.Facts == 0 {
						t.Errorf("checker %s: valid %v, %d facts: %s", name, c.Valid, c.Facts, c.Reason)
					}
				}
				t.Logf("%d ops, %s", j.Ops, j.Reason)
				if again := jepgo(t, dir, "check", "store/latest"); again.status != 0 || !strings.Contains(again.stdout, "\tvalid\t") {
					t.Errorf("jepgo check disagrees with the run: %s", again)
				}
				clean(t, dir)
			})
		}
	}
}

// TestWorkloadsTogether runs every workload at once under faults: no alarm, and
// every checker compares something.
func TestWorkloadsTogether(t *testing.T) {
	dir := t.TempDir()
	r := jepgo(t, dir, "test", "--workload", "all", "--nemesis", "partition,kill,pause", "--time", (3 * *length).String(),
		"--nemesis-interval", "4s", "--seed", "1")
	if r.status != 0 {
		t.Fatalf("want a valid run: %s", r)
	}
	j := latest(t, dir)
	for name, c := range j.Checkers {
		if c.Valid != true || c.Facts == 0 {
			t.Errorf("checker %s: valid %v, %d facts: %s", name, c.Valid, c.Facts, c.Reason)
		}
	}
	clean(t, dir)
}
