package chain

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// TestFarBehindIsExcusedByFaults: a node that a fault has cut off is behind, and
// nobody's concern.
func TestFarBehindIsExcusedByFaults(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("testdata", "staleness-real-bad.edn"))
	if err != nil {
		t.Fatal(err)
	}
	if r := Staleness().Check(context.Background(), h); len(r.Warnings) != 1 {
		t.Fatalf("warnings %q, want one", r.Warnings)
	}
	cut := parse(t, `{:type :info :process :nemesis :f :start-partition :value {:cut {"n4" ["n1"]}} :time 0}`)
	h.Ops = append(cut.Ops, h.Ops...)
	if r := Staleness().Check(context.Background(), h); len(r.Warnings) != 0 || r.Facts == 0 {
		t.Errorf("%d facts, warnings %q while a partition is in force, want none", r.Facts, r.Warnings)
	}
}
