package txn

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestCorpusRWRegister holds every verdict that a source states for rw-register
// histories that Elle and its followers judge.
func TestCorpusRWRegister(t *testing.T) {
	files := make(map[string][]historytest.Row)
	for _, row := range historytest.Rows(t) {
		if row.Model == "rw-register" && strings.HasPrefix(row.Format, "jepsen-") {
			files[row.Path] = append(files[row.Path], row)
		}
	}
	agree, silent := 0, 0
	for _, path := range slices.Sorted(maps.Keys(files)) {
		rows := files[path]
		var streams []checker.Stream
		for _, row := range rows {
			o, ok := optionsOf(t, row)
			if !ok {
				t.Fatalf("%s: options %q are not understood", row.Name, row.Options)
			}
			if strings.Contains(row.Options, ".log beside it") {
				if err := o.ReadOrder(strings.TrimSuffix(path, ".edn") + ".log"); err != nil {
					t.Fatal(err)
				}
			}
			streams = append(streams, RWRegister(o))
		}
		for i, r := range judged(t, path, streams) {
			row := rows[i]
			switch {
			case r.Verdict.String() == row.Expected:
				agree++
				if !strings.HasPrefix(row.Name, "grail") {
					missing(t, row, r)
				}
			case row.Expected == "?":
				silent++
				t.Logf("%s: %s, %s", row.Name, r.Verdict, r.Reason)
			default:
				t.Errorf("%s [%s]: %s (%s), the source says %s %s", row.Name, row.Options, r.Verdict, r.Reason, row.Expected, row.Anomalies)
			}
			if r.Verdict == checker.Invalid && len(r.Anomalies) == 0 {
				t.Errorf("%s [%s]: no anomaly explains that it is invalid", row.Name, row.Options)
			}
			if testing.Verbose() {
				for _, a := range r.Anomalies {
					t.Logf("%s [%s]: %s\n%s", row.Name, row.Options, a.Name, a.Message)
				}
			}
		}
	}
	t.Logf("%d verdicts agree, and %d are given where the source has none", agree, silent)
}
