package checker_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// saneSize is up to which size histories are looked at here: larger ones take long,
// and are of the same sources.
const saneSize = 300_000

// TestSanityOfCorpus holds that sanity spoils no verdict: real histories are sane.
func TestSanityOfCorpus(t *testing.T) {
	seen := make(map[string]bool)
	for _, row := range historytest.Rows(t) {
		size, _ := strconv.Atoi(row.Columns["bytes"])
		if seen[row.Name] || size > saneSize || row.Expected == "-" || row.Format != "jepsen-edn" && row.Format != "jepsen-json" {
			continue
		}
		seen[row.Name] = true
		f, err := format.Open(row.Path, format.Auto)
		if err != nil {
			t.Error(err)
			continue
		}
		stream := checker.Sanity(checker.SanityOptions{})
		if err := f.Each(context.Background(), func(e *history.Event) error { stream.Take(e); return nil }); err != nil {
			t.Error(row.Name, err)
		}
		r := stream.Finish(context.Background(), f.Source())
		if r.Verdict != checker.Valid && row.Expected == "valid" || r.Verdict == checker.Invalid {
			t.Errorf("%s (%s, %s): sanity says %v: %s", row.Name, row.Model, row.Expected, r.Verdict, r.Reason)
		}
		f.Close()
	}
}
