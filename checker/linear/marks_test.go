package linear

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
)

// However far back is asked for, a mark lies at most four times as far back.
func TestMarks(t *testing.T) {
	var m marks
	for next := int32(1); next <= 400; next++ {
		m.add(&frontier{next: next})
		if len(m) > marksKept || m[len(m)-1].next != next {
			t.Fatalf("%d marks after %d, the last at %d", len(m), next, m[len(m)-1].next)
		}
		for back := int32(1); back < next; back++ {
			kept := append(marks(nil), m...)
			mark, at := kept.before(next-back), int32(0) // none: all the way
			if mark != nil {
				at = mark.next
			}
			if next-at > 4*back {
				t.Fatalf("at %d, %d back was wanted, and it is %d", next, back, next-at)
			}
			if mark != nil && kept[len(kept)-1] != mark {
				t.Fatal("the last mark is not the one to go back to")
			}
		}
	}
}

// A read near the middle finds a value that only a call in doubt can have set, of a
// kind that could have served before. The walk has to go far back for that, and no
// proof can be had that there is no order: trying to find one must not be what
// takes the time.
func TestDoubtsMissedLate(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: takes half a second: run without -short")
	}
	path := filepath.Join(t.TempDir(), "history.edn")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := gen.Options{Workload: "cas-register", Ops: 10_000, Clients: 10, Values: 5, Crash: 0.01, Plant: []string{"stale-read"}, Seed: 1}
	if err := gen.Write(t.Context(), file, o); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const steps = 10_000_000 // twice what it takes
	r := Register(Options{}).Check(context.Background(), h)
	if r.Verdict != checker.Valid {
		t.Fatalf("%v: %s", r.Verdict, r.Reason)
	}
	found := false
	for _, s := range r.Stats {
		if s.Name == "steps" {
			found = true
			if n, err := strconv.Atoi(s.Value); err != nil || n > steps {
				t.Errorf("took %q steps, want at most %d", s.Value, steps)
			}
		}
	}
	if !found {
		t.Error("no statistic says how many steps it took")
	}
}
