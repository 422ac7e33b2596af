package txn

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// levelOf reads the option of a row of the session formats.
func levelOf(row historytest.Row) string {
	level := strings.TrimSuffix(strings.TrimPrefix(row.Options, "isolation level "), " consistency")
	if strings.HasSuffix(level, "causal") {
		return "causal-cerone"
	}
	return strings.ReplaceAll(level, " ", "-")
}

// TestCorpusSessions holds every verdict that a source states for histories of
// sessions, and that a level which holds has all weaker ones hold.
func TestCorpusSessions(t *testing.T) {
	agree := 0
	var files []string
	for _, row := range historytest.Rows(t) {
		if row.Model != "rw-register" || !strings.HasPrefix(row.Format, "other:") {
			continue
		}
		if !slices.Contains(files, row.Path) {
			files = append(files, row.Path)
		}
		if row.Expected == "?" {
			continue
		}
		r := judgedSessions(t, row.Path, levelOf(row))
		if r.Verdict.String() != row.Expected {
			t.Errorf("%s [%s]: %s (%s), the source says %s", row.Name, row.Options, r.Verdict, r.Reason, row.Expected)
			continue
		}
		agree++
		if r.Verdict == checker.Invalid && len(r.Anomalies) == 0 {
			t.Errorf("%s [%s]: no anomaly explains that it is invalid", row.Name, row.Options)
		}
		if testing.Verbose() {
			for _, a := range r.Anomalies {
				t.Logf("%s [%s]: %s\n%s", row.Name, row.Options, a.Name, a.Message)
			}
		}
	}
	t.Logf("%d verdicts agree", agree)
	for _, file := range files {
		before := checker.Valid
		for _, level := range []string{"read-committed", "read-atomic", "causal-cerone", "prefix", "snapshot-isolation", "serializable", ""} {
			r := judgedSessions(t, file, level)
			t.Logf("%s [%s]: %s, %s", file[strings.LastIndex(file, "corpus"):], level, r.Verdict, r.Reason)
			if r.Verdict == checker.Unknown || r.Verdict == checker.Valid && before == checker.Invalid {
				t.Errorf("%s [%s]: %s, %s, after a weaker level was %s", file, level, r.Verdict, r.Reason, before)
			}
			before = r.Verdict
		}
	}
}

func judgedSessions(t *testing.T, path, level string) checker.Result {
	t.Helper()
	f, err := format.Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := Options{Sessions: f.Traits().NoRealtime, InitialTxn: f.Traits().InitialTxn}
	if level != "" {
		o.Models = []string{level}
	}
	s := RWRegister(o)
	if err := f.Each(context.Background(), func(e *history.Event) error { s.Take(e); return nil }); err != nil {
		t.Fatal(err)
	}
	return s.Finish(context.Background(), f.Source())
}
