package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCreateLinksAndLists(t *testing.T) {
	root := t.TempDir()
	now := time.Date(2026, 11, 30, 7, 0, 0, 123e6, time.UTC)
	a, err := Create(root, "register", now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Create(root, "register", now) // the same millisecond
	if err != nil {
		t.Fatal(err)
	}
	if a.Dir == b.Dir {
		t.Fatalf("two runs share %s", a.Dir)
	}
	for _, arg := range []string{"latest", "current", "register", "register/latest", b.Dir, filepath.Join(root, "latest")} {
		run, err := Find(root, arg)
		if err != nil {
			t.Fatalf("Find(%q): %v", arg, err)
		}
		if want, _ := filepath.EvalSymlinks(b.Dir); run.Dir != want {
			t.Errorf("Find(%q) = %s, want %s", arg, run.Dir, want)
		}
	}
	runs, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || !runs[0].Start.After(runs[1].Start) {
		t.Errorf("List = %v, want the two runs, newest first", runs)
	}
}

func TestListOfNothing(t *testing.T) {
	runs, err := List(filepath.Join(t.TempDir(), "none"))
	if err != nil || len(runs) != 0 {
		t.Errorf("List = %v, %v, want no runs and no error", runs, err)
	}
}

func TestNamesThatWouldLeaveTheStore(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", ".hidden", "latest", "current"} {
		if _, err := Create(t.TempDir(), name, time.Now()); err == nil {
			t.Errorf("Create accepted the name %q", name)
		}
	}
}

func TestWriteReplaces(t *testing.T) {
	run, err := Create(t.TempDir(), "x", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := run.Write(ResultsJSON, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(run.Path(ResultsJSON))
	if err != nil || string(got) != "two" {
		t.Errorf("file holds %q, %v, want two", got, err)
	}
	entries, _ := os.ReadDir(run.Dir)
	if len(entries) != 1 {
		t.Errorf("%d files in the run, want 1: a temporary file was left", len(entries))
	}
}

func TestFindSaysWhatWouldBeRight(t *testing.T) {
	if _, err := Find(t.TempDir(), "nope"); err == nil {
		t.Error("Find found a run that does not exist")
	}
}
