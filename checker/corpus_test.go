package checker_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// streamOf begins the stream that the options column of a row asks for.
func streamOf(t *testing.T, row historytest.Row) checker.Stream {
	t.Helper()
	var begin func() checker.Stream
	switch row.Model {
	case "set":
		begin = checker.Set
	case "set-full":
		linearizable := strings.Contains(row.Options, "linearizable") && !strings.Contains(row.Options, "not linearizable")
		begin = func() checker.Stream {
			return checker.SetFull(checker.SetFullOptions{Linearizable: linearizable})
		}
	case "queue":
		begin = func() checker.Stream {
			return checker.Queue(checker.QueueOptions{FIFO: strings.Contains(row.Options, "fifo")})
		}
	case "total-queue":
		begin = checker.TotalQueue
	case "unique-ids":
		begin = checker.UniqueIDs
	case "counter":
		begin = func() checker.Stream { return checker.Counter(checker.CounterOptions{}) }
	case "bank":
		allowed := strings.Contains(row.Options, "negative balances allowed")
		begin = func() checker.Stream { return checker.Bank(checker.BankOptions{NegativeBalances: allowed}) }
	case "long-fork":
		size := 0
		if _, digits, ok := strings.Cut(row.Options, "group-size "); ok {
			size, _ = strconv.Atoi(strings.TrimRight(digits, "}"))
		}
		begin = func() checker.Stream { return checker.LongFork(checker.LongForkOptions{GroupSize: size}) }
	case "causal-reverse":
		begin = checker.CausalReverse
	case "comments":
		return checker.Comments()
	default:
		return nil
	}
	if strings.Contains(row.Options, "independent keys") {
		return checker.Independent(row.Model, begin)
	}
	return begin()
}

// TestCorpus holds every verdict of these models.
func TestCorpus(t *testing.T) {
	judged := 0
	for _, row := range historytest.Rows(t) {
		stream := streamOf(t, row)
		if stream == nil || row.Expected == "-" {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			f, err := format.Open(row.Path, format.Auto)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Each(context.Background(), func(e *history.Event) error { stream.Take(e); return nil }); err != nil {
				t.Fatal(err)
			}
			r := stream.Finish(context.Background(), f.Source())
			t.Logf("%s: %v: %s %v %v", row.Model, r.Verdict, r.Reason, r.Stats, r.Warnings)
			if row.Expected != "?" && r.Verdict.String() != row.Expected {
				t.Errorf("%s says %v (%s), want %s %s", row.Model, r.Verdict, r.Reason, row.Expected, row.Anomalies)
			}
			if r.Verdict == checker.Valid && r.Facts == 0 {
				t.Error("valid without facts")
			}
			for _, a := range r.Anomalies {
				if len(a.Witness) == 0 || a.Witness[0].Op == "" {
					t.Errorf("anomaly without a witness: %+v", a)
				}
			}
			if r.Verdict == checker.Invalid && len(r.Anomalies) == 0 {
				t.Error("invalid without an anomaly")
			}
		})
		judged++
	}
	if judged < 40 {
		t.Errorf("%d rows were judged, want all that the models have", judged)
	}
}
