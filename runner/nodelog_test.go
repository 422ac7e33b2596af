package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// TestNodeLog: alarms are found once, with their lines, however the file grows.
func TestNodeLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.log")
	l := &nodeLog{node: "n1", path: path, name: "n1/node.log"}
	var got []string
	follow := func() {
		t.Helper()
		err := l.follow(func(v history.Value) error { got = append(got, v.String()); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		follow()
	}
	follow() // no file yet
	add("all is well\nno panic here\n")
	add("pan")
	add("ic: runtime error\n")
	add(strings.Repeat("x", 3*longestLine) + "BAD BLOCK\n") // beyond what is looked at
	add("ERROR ########## BAD BLOCK #########\xff\nCONSENSUS FAILURE!!! err=\"x\"\n")
	want := []string{":panic", "n1/node.log:3", ":bad-block", "n1/node.log:5", ":consensus-failure", "n1/node.log:6"}
	if len(got) != 3 {
		t.Fatalf("found %d alarms, want 3: %q", len(got), got)
	}
	for i, w := range want {
		if !strings.Contains(got[i/2], w) {
			t.Errorf("alarm %d is %s, want %s in it", i/2, got[i/2], w)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	add("panic: again\n")
	if len(got) != 4 || !strings.Contains(got[3], "node.log:1") {
		t.Errorf("after the file was begun anew: %q", got[3:])
	}
	for range 2 * mostLines {
		add("panic: in a circle\n")
	}
	if len(got) != mostLines {
		t.Errorf("%d alarms, want %d at the most", len(got), mostLines)
	}
}
