package format

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// formatOf is our name of a format of the manifest; "" is no history.
func formatOf(t *testing.T, manifest string) string {
	switch manifest {
	case "jepsen-edn":
		return "edn"
	case "jepsen-json":
		return "json"
	case "porcupine-etcd-log":
		return "etcd-log"
	case "porcupine-kv-log":
		return "kv-log"
	case "other:plume-text":
		return "plume"
	case "other:awdit-test":
		return "awdit"
	case "other:dbcop-yaml":
		return "dbcop"
	case "other:jepsen-in-java-jsonl":
		return "jsonl"
	case "other:jepsen-history-txt":
		return "history-txt"
	case "other:arangodb-wal-jsonl":
		return ""
	}
	t.Fatalf("manifest has the unknown format %q", manifest)
	return ""
}

// counts are the columns of the manifest that a reader can be held to.
type counts struct{ invocations, ok, fail, info, processes int }

func (c *counts) take(e *history.Event) {
	if !e.Process.IsClient() && !e.Process.IsZero() {
		return
	}
	switch {
	case e.Type == history.Invoke:
		c.invocations++
	case e.Type == history.Fail || e.F == casMiss:
		c.fail++
	case e.Type == history.OK:
		c.ok++
	case e.Type == history.Info:
		c.info++
	}
}

// TestCorpus opens every file by its content, finds the manifest's format, and the
// manifest's numbers of events.
func TestCorpus(t *testing.T) {
	seen := map[string]bool{}
	formats := map[string]int{}
	for _, row := range historytest.Rows(t) {
		if seen[row.Name] {
			continue
		}
		seen[row.Name] = true
		want := formatOf(t, row.Format)
		f, err := Open(row.Path, Auto)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "--format") {
				t.Errorf("%s: opened as a history, error %v", row.Name, err)
			}
			continue
		}
		if err == nil && row.Columns["bytes"] == "0" {
			f, err = Open(row.Path, want) // an empty file is of any format
		}
		if err != nil {
			t.Errorf("%s: %v", row.Name, err)
			continue
		}
		if f.Format() != want {
			t.Errorf("%s: taken for %s, is %s", row.Name, f.Format(), want)
			continue
		}
		formats[want]++
		if want == "edn" {
			continue // history's own test counts these
		}
		var got counts
		processes := map[history.Process]bool{}
		at := 0
		err = f.Each(context.Background(), func(e *history.Event) error {
			if e.Position != at {
				t.Fatalf("%s: event %d says it is %d", row.Name, at, e.Position)
			}
			at++
			got.take(e)
			if e.Process.IsClient() {
				processes[e.Process] = true
			}
			return nil
		})
		if err != nil || f.Cut() != nil {
			t.Errorf("%s: %v, cut %v", row.Name, err, f.Cut())
			continue
		}
		got.processes = len(processes)
		if f.Traits().NoRealtime {
			got.invocations = got.ok
		}
		wanted := counts{number(t, row, "invocations"), number(t, row, "ok"), number(t, row, "fail"), number(t, row, "info"), number(t, row, "processes")}
		if got != wanted {
			t.Errorf("%s: read %+v, the manifest has %+v", row.Name, got, wanted)
		}
	}
	t.Logf("files by format: %v", formats)
	if len(formats) != len(Names()) {
		t.Errorf("the corpus showed only the formats %v", formats)
	}
}

// number reads a column; an empty one is 0.
func number(t *testing.T, row historytest.Row, column string) int {
	text := row.Columns[column]
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: column %s is %q", row.Name, column, text)
	}
	return n
}

// TestTwins holds the JSON files of the corpus to the EDN ones beside them.
func TestTwins(t *testing.T) {
	twins := 0
	for _, row := range historytest.Rows(t) {
		if row.Format != "jepsen-json" {
			continue
		}
		path, found := twin(row.Path)
		if !found {
			t.Logf("%s has no twin here", row.Name)
			continue
		}
		twins++
		compare(t, row.Name, whole(t, row.Path), whole(t, path))
	}
	if twins < 5 {
		t.Errorf("only %d JSON files have a twin", twins)
	}
}

// twin is the EDN file of a JSON one: beside it, or in the folder of the source
// that elle-cli had it from.
func twin(path string) (string, bool) {
	edn := strings.TrimSuffix(path, ".json") + ".edn"
	for _, edn := range []string{edn, strings.Replace(edn, "elle-cli/knossos/", "knossos/", 1)} {
		for _, packed := range []string{"", ".gz"} {
			if _, err := os.Stat(edn + packed); err == nil {
				return edn + packed, true
			}
		}
	}
	return "", false
}

func whole(t testing.TB, path string) *history.History {
	t.Helper()
	f, err := Open(path, Auto)
	if err != nil {
		t.Fatal(err)
	}
	h, err := f.History()
	if err != nil || h.Cut != nil {
		t.Fatalf("%v, cut %v", err, h.Cut)
	}
	return h
}

func compare(t *testing.T, name string, got, want *history.History) {
	if len(got.Ops) != len(want.Ops) {
		t.Errorf("%s: %d ops, its twin has %d", name, len(got.Ops), len(want.Ops))
		return
	}
	for i := range got.Ops {
		g, w := got.Ops[i], want.Ops[i]
		// What a client's value means must not differ. Elsewhere a string of JSON may
		// stand for a keyword.
		g.Error, w.Error = asStrings(g.Error), asStrings(w.Error)
		if !g.Process.IsClient() {
			g.Value, w.Value = asStrings(g.Value), asStrings(w.Value)
		}
		for _, op := range []*history.Op{&g, &w} {
			for i := range op.Extra {
				op.Extra[i].Value = asStrings(op.Extra[i].Value)
			}
		}
		if !sameOps(&g, &w) {
			t.Errorf("%s: op %d is\n%s, its twin has\n%s", name, i, g.String(), w.String())
			return
		}
	}
}

// asStrings puts a string in the place of every keyword and symbol.
func asStrings(v history.Value) history.Value {
	var elems []history.Value
	for _, e := range v.Elems() {
		elems = append(elems, asStrings(e))
	}
	switch v.Kind() {
	case history.KeywordKind, history.Symbol:
		return history.Text(v.Text())
	case history.Vector, history.List:
		return history.Vec(elems...)
	case history.Map:
		return history.MapOf(elems...)
	}
	return v
}

// sameOps reports whether ops are equal in all but the order of extra fields.
func sameOps(a, b *history.Op) bool {
	if a.Index != b.Index || a.Time != b.Time || a.Type != b.Type || a.Process != b.Process || a.F != b.F ||
		a.Node != b.Node || a.Tag != b.Tag || !a.Value.Equal(b.Value) || !a.Error.Equal(b.Error) || len(a.Extra) != len(b.Extra) {
		return false
	}
	for _, field := range a.Extra {
		if v, ok := b.Lookup(field.Key); !ok || !v.Equal(field.Value) {
			return false
		}
	}
	return true
}
