package format

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// fuzz reads anything as one format: no panic, errors of the documented sorts only,
// the same ops as events and as a history, and what was read survives EDN.
func fuzz(f *testing.F, name string) {
	for _, s := range samples() {
		if s.name == name {
			f.Add(s.text)
			f.Add(s.text[:len(s.text)/2])
			f.Add("\ufeff" + s.text + "\n)")
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := open("-", name, strings.NewReader(text))
		if err != nil {
			documented(t, err)
			return
		}
		defer file.Close()
		h, err := file.History()
		if err != nil {
			documented(t, err)
		}
		events := 0
		again := file.Each(context.Background(), func(e *history.Event) error {
			op := &h.Ops[events]
			if !e.Value.Value().Equal(op.Value) || e.Type != op.Type || e.Process != op.Process || e.F != op.F || e.Time != op.Time || e.Index != op.Index {
				t.Fatalf("event %+v of op %s", e, op)
			}
			events++
			return nil
		})
		if events != len(h.Ops) || (again == nil) != (err == nil) {
			t.Fatalf("%d events, %v; %d ops, %v", events, again, len(h.Ops), err)
		}
		back, err := history.ReadAll(strings.NewReader(edn(h.Ops)), history.EDN())
		if err != nil || len(back.Ops) != len(h.Ops) {
			t.Fatalf("%v, %d ops of\n%s", err, len(back.Ops), edn(h.Ops))
		}
	})
}

// documented fails the test for an error that no reader should give.
func documented(t *testing.T, err error) {
	t.Helper()
	var syntax *history.SyntaxError
	if !errors.As(err, &syntax) && !strings.Contains(err.Error(), "gzip") && !strings.Contains(err.Error(), "zstd") &&
		!strings.Contains(err.Error(), "cannot be read beyond byte") {
		t.Fatalf("undocumented error %v", err)
	}
}

func FuzzJSON(f *testing.F)       { fuzz(f, "json") }
func FuzzJSONL(f *testing.F)      { fuzz(f, "jsonl") }
func FuzzHistoryTxt(f *testing.F) { fuzz(f, "history-txt") }
func FuzzEtcdLog(f *testing.F)    { fuzz(f, "etcd-log") }
func FuzzKVLog(f *testing.F)      { fuzz(f, "kv-log") }
func FuzzPlume(f *testing.F)      { fuzz(f, "plume") }
func FuzzAWDIT(f *testing.F)      { fuzz(f, "awdit") }
func FuzzDBCop(f *testing.F)      { fuzz(f, "dbcop") }

// FuzzDetect tells the format of anything: no panic, and a name or an error that
// says how to go on.
func FuzzDetect(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		name, err := detect(text, true)
		if err != nil {
			if !strings.Contains(err.Error(), "--format") {
				t.Fatal(err)
			}
			return
		}
		if _, known := find(name); !known {
			t.Fatalf("unknown format %q", name)
		}
	})
}

// FuzzPlainValue holds the short cut for the values of logs to the general reader.
func FuzzPlainValue(f *testing.F) {
	for _, seed := range []string{"nil", "-12", `[[:append 3 1], [:r "x" [1 2]]]`, `{:a 1, :b nil :a {}}`, "007", `"\n"`, "[1 2", ":a/1", "-0", "9223372036854775808", "[] 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p jsonValues
		short, ok := p.plainValue([]byte(text))
		if !ok {
			return
		}
		long, err := history.ParseValue(text)
		if err != nil || !long.Equal(short) || long.String() != short.String() {
			t.Fatalf("%q is %s by the short cut, %s by the long way: %v", text, short, long, err)
		}
	})
}
