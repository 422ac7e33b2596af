//go:build live

package live

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// TestClockOfOneValidator skews one validator of four, one way after the other.
// The skew is measured to the millisecond, the host's clock and the other three
// do not move, and what the chain's own rules make of it is no anomaly.
func TestClockOfOneValidator(t *testing.T) {
	if err := clock.Probe(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	if testing.Short() {
		t.Skip("SKIPPED: takes minutes: run it without -short")
	}
	dir := t.TempDir()
	before := snapshot(t)
	r := jepgo(t, dir, "test", "--seed", "5", "--time", "2m", "--nemesis-interval", "4s", "--nemesis",
		"clock-bump:n1:+10s,clock-bump:n1:-10s,clock-bump:n1:+2h,clock-bump:n1:-2h,clock-drift:n1:1%,clock-strobe:n1")
	if r.status != 0 {
		t.Errorf("want a valid run: %s", r)
	}
	rows := faults(t, dir)
	if len(rows) < 6 {
		t.Errorf("%d faults, want each of the six", len(rows))
	}
	for _, row := range rows {
		evidence, _ := row.Field("evidence")
		one, ok := evidence.Field("n1")
		if !ok {
			t.Errorf("no evidence of n1: %s", row)
			continue
		}
		if ended, _ := one.Field("ended"); ended.IsNil() {
			asked, measured := number(one, "offset-ms"), number(one, "measured-ms")
			if !(math.Abs(asked-measured) <= 1) {
				t.Errorf("asked for %g ms, measured %g: %s", asked, measured, row)
			}
		}
		if moved := number(evidence, "host-moved-ms"); !(math.Abs(moved) <= 1) {
			t.Errorf("the host's clock moved by %g ms: %s", moved, row)
		}
		others, _ := evidence.Field("others-ms")
		for _, name := range []string{"n2", "n3", "n4"} {
			if off := number(others, name); !(math.Abs(off) <= 1) {
				t.Errorf("%s is off by %g ms: %s", name, off, row)
			}
		}
		t.Log(row)
	}
	clean(t, dir)
	untouched(t, before)
}

// TestPowerLoss cuts the power of validators under load: what was not fsynced is
// really lost, and a node comes back or the evidence says that it did not.
func TestPowerLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: takes minutes: run it without -short")
	}
	dir := t.TempDir()
	before := snapshot(t)
	r := jepgo(t, dir, "test", "--seed", "6", "--time", "6m", "--nemesis-interval", "2s", "--nemesis", "power:one")
	if r.status != 0 {
		t.Errorf("want a valid run: %s", r)
	}
	rows := faults(t, dir)
	lost, cuts := 0.0, 0
	for _, row := range rows {
		undo, _ := row.Field("undo")
		for _, name := range []string{"n1", "n2", "n3", "n4"} {
			one, ok := undo.Field(name)
			if !ok {
				continue
			}
			cuts++
			lost += number(one, "lost-bytes")
			ready, _ := one.Field("ready")
			if back, _ := ready.Flag(); !back {
				if finding, ok := one.Field("finding"); !ok {
					t.Errorf("%s is not back, and nothing says why: %s", name, row)
				} else {
					t.Logf("finding: %s", finding)
				}
			}
		}
	}
	t.Logf("%d power cuts, %g bytes lost", cuts, lost)
	if cuts < 20 || !(lost > 0) {
		t.Errorf("%d power cuts lost %g bytes: too few to show anything", cuts, lost)
	}
	clean(t, dir)
	untouched(t, before)
}

// faults reads faults.edn of the latest run.
func faults(t *testing.T, dir string) []history.Value {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "store", "latest", "faults.edn"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := history.ParseValue("[" + string(text) + "]")
	if err != nil {
		t.Fatal(err)
	}
	return v.Elems()
}

// number is a field as a float; NaN, of which every comparison is false, when
// it has none.
func number(v history.Value, field string) float64 {
	f, ok := v.Field(field)
	if !ok {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(f.String(), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
