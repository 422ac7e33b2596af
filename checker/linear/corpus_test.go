package linear

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// corpusDir finds the corpus of histories with known verdicts, which is not part
// of this repository.
func corpusDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("JEPGO_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "MANIFEST.tsv")); err != nil {
		t.Skipf("SKIPPED: corpus is absent, set JEPGO_CORPUS to its folder: %v", err)
	}
	return dir
}

func readAll(t *testing.T, in io.Reader) *history.History {
	t.Helper()
	h, err := history.ReadAll(in, history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestCorpus judges every register and mutex history of the corpus. A wrong
// verdict fails; running into a limit is reported and does not.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves the corpus of known verdicts out")
	}
	dir := corpusDir(t)
	limit := 60 * time.Second
	if text := os.Getenv("JEPGO_CORPUS_LIMIT"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	agree, disagree, unknown, open := 0, 0, 0, 0
	for line := range strings.Lines(string(manifest)) {
		row := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(row) < 6 || row[1] != "jepsen-edn" || strings.HasPrefix(row[4], "sequential consistency") {
			continue
		}
		path, initial, options, expected := row[0], row[3], row[4], row[5]
		limit := limit
		if expected == "?" {
			limit = min(limit, 5*time.Second) // nothing to agree with
		}
		o := Options{
			Keyed:   strings.Contains(options, "independent keys"),
			NilAny:  strings.Contains(options, "nil reads always legal"),
			Timeout: limit,
			// The corpus calls a history without successes valid.
			EmptyValid: true,
		}
		switch {
		case initial == "0":
			o.Initial = history.Int(0)
		case strings.HasPrefix(initial, ":nil"):
			o.Initial = history.Keyword("nil")
		}
		var c checker.Checker
		switch row[2] {
		case "register", "cas-register":
			c = Register(o)
		case "mutex":
			c = Mutex(o)
		default:
			continue
		}
		h, err := history.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		r := c.Check(context.Background(), h)
		took := time.Since(started)
		got := r.Verdict
		switch {
		case expected == "?":
			open++
			t.Logf("%s: no verdict is known; we say %v (%s)", path, got, r.Reason)
		case got.String() == expected:
			agree++
		case got == checker.Unknown:
			unknown++
			t.Logf("%s: unknown after %v, expected %s: %s", path, took, expected, r.Reason)
		default:
			disagree++
			t.Errorf("%s (initial %q, %s): we say %v (%s), expected %s", path, initial, options, got, r.Reason, expected)
		}
		if got == checker.Invalid {
			recheck(t, path, c, r)
			if took > 2*time.Second {
				t.Logf("%s: invalid after %v: %d ops in the witness: %s", path, took, len(r.Anomalies[0].Witness), r.Anomalies[0].Message)
			}
		} else if took > 2*time.Second {
			t.Logf("%s: %v after %v", path, got, took)
		}
	}
	t.Logf("corpus: %d agree, %d disagree, %d unknown, %d without a known verdict", agree, disagree, unknown, open)
	if agree == 0 {
		t.Error("no history of the corpus was judged")
	}
}

// recheck judges every witness by itself, from its text alone.
func recheck(t *testing.T, name string, c checker.Checker, r checker.Result) {
	t.Helper()
	if len(r.Anomalies) == 0 {
		t.Errorf("%s: invalid without an anomaly", name)
	}
	for _, a := range r.Anomalies {
		var text strings.Builder
		for _, ref := range a.Witness {
			text.WriteString(ref.Op + "\n")
		}
		if strings.Contains(a.Message, "hang together") {
			t.Logf("%s: witness does not stand alone: %s", name, a.Message)
			continue
		}
		again := c.Check(context.Background(), readAll(t, strings.NewReader(text.String())))
		if again.Verdict != checker.Invalid {
			t.Errorf("%s: witness alone is %v: %s\n%s", name, again.Verdict, a.Message, text.String())
		}
	}
}
