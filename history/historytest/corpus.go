// Package historytest gives tests the corpus: real histories with the verdicts
// that their own sources assert. Where it is absent tests skip, and say so.
package historytest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// Row is one line of the corpus' manifest: a file and one question about it.
type Row struct {
	Path      string // of the file, ready to be opened
	Name      string // of the file within the corpus, for messages
	Format    string // jepsen-edn, porcupine-etcd-log, …
	Model     string
	Initial   string
	Options   string
	Expected  string // valid, invalid, unknown, ? for no verdict, - for no history
	Anomalies string
	Note      string
	Columns   map[string]string // every column by its name
}

// Rows returns all rows of the manifest. The corpus is in the folder that
// JEPGO_CORPUS names, by default in shared/corpus beside the project's folder.
// Without it the test is skipped.
func Rows(t testing.TB) []Row {
	t.Helper()
	dir := os.Getenv("JEPGO_CORPUS")
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: no corpus at %s: set JEPGO_CORPUS to the folder that holds MANIFEST.tsv", dir)
	} else if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	var rows []Row
	for _, line := range lines[1:] {
		c := make(map[string]string)
		for i, cell := range strings.Split(line, "\t") {
			c[columns[i]] = cell
		}
		rows = append(rows, Row{
			Path: filepath.Join(dir, filepath.FromSlash(c["path"])), Name: c["path"], Format: c["format"],
			Model: c["model"], Initial: c["initial"], Options: c["options"], Expected: c["expected"],
			Anomalies: c["anomalies"], Note: c["note"], Columns: c,
		})
	}
	return rows
}

// root is the project's folder: the nearest one upwards that holds go.mod.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in any folder above this test")
		}
		dir = up
	}
}

// Read parses a history from EDN text.
func Read(t testing.TB, text string) *history.History {
	t.Helper()
	h, err := history.ReadAll(bytes.NewReader([]byte(text)), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}
