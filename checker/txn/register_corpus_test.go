package txn

import (
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestCorpusRWRegister holds every verdict that a source states for rw-register
// histories that Elle and its followers judge.
func TestCorpusRWRegister(t *testing.T) {
	agree, silent := 0, 0
	eachJudged(t,
		func(row historytest.Row) bool {
			return row.Model == "rw-register" && strings.HasPrefix(row.Format, "jepsen-")
		},
		func(row historytest.Row, o Options) checker.Stream {
			if strings.Contains(row.Options, ".log beside it") {
				if err := o.ReadOrder(strings.TrimSuffix(row.Path, ".edn") + ".log"); err != nil {
					t.Fatal(err)
				}
			}
			return RWRegister(o)
		},
		func(row historytest.Row, r checker.Result) {
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
			if testing.Verbose() {
				for _, a := range r.Anomalies {
					t.Logf("%s [%s]: %s\n%s", row.Name, row.Options, a.Name, a.Message)
				}
			}
		})
	t.Logf("%d verdicts agree, and %d are given where the source has none", agree, silent)
}
