package history

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// corpus returns the folder of the histories with known verdicts, or skips.
func corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("JEPGO_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "MANIFEST.tsv")); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: no corpus at %s; set JEPGO_CORPUS to the folder that holds MANIFEST.tsv", dir)
	} else if err != nil {
		t.Fatal(err)
	}
	return dir
}

// manifest returns the rows of the corpus by column name.
func manifest(t testing.TB, dir string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, cell := range strings.Split(line, "\t") {
			row[columns[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// Every history of the corpus reads, holds the client ops that its manifest
// counts, and reads the same in chunks and in a Scan; with -short only the small
// ones are read more than once.
func TestCorpus(t *testing.T) {
	dir := corpus(t)
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // it would mostly collect garbage
	seen := make(map[string]bool)
	ops := 0
	for _, row := range manifest(t, dir) {
		path := row["path"]
		if row["format"] != "jepsen-edn" || seen[path] {
			continue
		}
		seen[path] = true
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		small := len(text) <= 50_000
		if !small { // to unpack it once for every reading takes longer than to read it
			if text, err = unpackAll(text); err != nil {
				t.Fatal(err)
			}
		}
		h, err := readSerial(text)
		if small || !testing.Short() {
			if err := checkAgainst(h, err, text, 2, 8<<10); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err != nil || h.Cut != nil {
			t.Errorf("%s: cut %v, error %v", path, h.Cut, err)
			continue
		}
		ops += len(h.Ops)
		var counts [5]int
		clients := make(map[Process]bool)
		for i := range h.Ops {
			// The manifest counts ops without a process as a client's.
			if op := &h.Ops[i]; op.Process.IsClient() || op.Process.IsZero() {
				counts[op.Type]++
				clients[op.Process] = true
			}
		}
		counts[0] = len(clients)
		for i, column := range []string{"processes", "invocations", "ok", "fail", "info"} {
			want, err := strconv.Atoi(row[column])
			if err != nil {
				t.Fatalf("%s: column %s: %v", path, column, err)
			}
			if counts[i] != want {
				t.Errorf("%s: %d %s, want %d", path, counts[i], column, want)
			}
		}
	}
	if len(seen) < 200 {
		t.Errorf("read %d histories, expected the corpus to hold 200 and more", len(seen))
	}
	t.Logf("read %d histories of %d ops", len(seen), ops)
}
