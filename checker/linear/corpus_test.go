package linear

import (
	"context"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestMain has the garbage collector run less often: the tests make many small
// histories, and would mostly collect them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestCorpus judges every register and mutex history of the corpus, etcd logs
// too. A verdict that is not the source's fails.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves the corpus of known verdicts out")
	}
	agree, open := make(map[string]int), 0
	var etcd time.Duration
	for _, row := range historytest.Rows(t) {
		switch row.Format {
		case "jepsen-edn", "jepsen-json", "porcupine-etcd-log", "other:jepsen-in-java-jsonl":
		default:
			continue
		}
		o := Options{
			Keyed:  strings.Contains(row.Options, "independent keys"),
			NilAny: strings.Contains(row.Options, "nil reads always legal"),
			// The corpus calls a history in which nothing happened valid.
			EmptyValid: true,
		}
		switch {
		case row.Initial == "0":
			o.Initial = history.Int(0)
		case strings.HasPrefix(row.Initial, ":nil"):
			o.Initial = history.Keyword("nil")
		}
		var c checker.Checker
		switch row.Model {
		case "register", "cas-register":
			c = Register(o)
			if strings.HasPrefix(row.Options, "sequential consistency") {
				c = Sequential(o)
			}
		case "mutex":
			c = Mutex(o)
		default:
			continue
		}
		file, err := format.Open(row.Path, format.Auto)
		if err != nil {
			t.Fatal(err)
		}
		h, err := file.History()
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r := c.Check(context.Background(), h)
		took := time.Since(begun)
		if row.Format == "porcupine-etcd-log" {
			etcd += took
		}
		switch {
		case row.Expected == "?":
			open++
			t.Logf("%s: no verdict is known; we say %v (%s)", row.Name, r.Verdict, r.Reason)
		case r.Verdict.String() == row.Expected:
			agree[row.Format]++
		default:
			t.Errorf("%s (initial %q, %s): we say %v (%s), expected %s", row.Name, row.Initial, row.Options, r.Verdict, r.Reason, row.Expected)
		}
		if r.Verdict == checker.Invalid {
			standsAlone(t, row.Name, c, r)
		}
		if took > time.Second {
			t.Logf("%s: %v after %v", row.Name, r.Verdict, took)
		}
	}
	t.Logf("corpus: %v agree, %d without a known verdict; etcd logs took %v", agree, open, etcd)
	if len(agree) == 0 {
		t.Error("no history of the corpus was judged")
	}
}

// standsAlone judges every witness by itself, from its text alone.
func standsAlone(t *testing.T, name string, c checker.Checker, r checker.Result) {
	t.Helper()
	if len(r.Anomalies) == 0 {
		t.Errorf("%s: invalid without an anomaly", name)
	}
	for _, a := range r.Anomalies {
		var text strings.Builder
		for _, ref := range a.Witness {
			text.WriteString(ref.Op + "\n")
		}
		if len(a.Blocked) == 0 || a.State == "" {
			t.Errorf("%s: nothing is said of what is blocked: %+v", name, a)
		}
		if strings.Contains(a.Message, "hang together") {
			t.Logf("%s: witness does not stand alone: %s", name, a.Message)
			continue
		}
		again := c.Check(context.Background(), historytest.Read(t, text.String()))
		if again.Verdict != checker.Invalid {
			t.Errorf("%s: witness alone is %v: %s\n%s", name, again.Verdict, a.Message, text.String())
		}
	}
}
