package judge

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/report"
)

// stalled returns the path of a pipe into which nobody writes.
func stalled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	makePipe(t, path)
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return path
}

// Input that does not come ends with the file's time, and keeps no other file from
// its verdict.
func TestStalledInputEnds(t *testing.T) {
	got := make(map[string]checker.Verdict)
	pipe, good := stalled(t), write(t, staleRegister)
	err := Files(t.Context(), []string{pipe, good}, Options{Timeout: time.Millisecond * 50}, func(Progress) {}, func(path string, j *report.Judgement, err error) error {
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		got[path] = j.Verdict
		return nil
	})
	if err != nil || got[pipe] != checker.Unknown || got[good] != checker.Invalid || len(got) != 2 {
		t.Errorf("verdicts %v, error %v", got, err)
	}
}

// An interrupt ends the wait, and what was not judged is not reported.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	err := Files(ctx, []string{stalled(t)}, Options{}, func(Progress) {}, func(path string, j *report.Judgement, err error) error {
		if j == nil || j.Verdict != checker.Unknown {
			t.Errorf("%s: %v, error %v", path, j, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFilesRefused(t *testing.T) {
	never := func(path string, j *report.Judgement, err error) error {
		t.Errorf("%s was judged", path)
		return nil
	}
	if err := Files(t.Context(), []string{"-", "-"}, Options{}, func(Progress) {}, never); err == nil {
		t.Error("standard input was read twice")
	}
}
