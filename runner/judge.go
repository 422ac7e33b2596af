package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/store"
)

// JudgeOptions say how a history is judged. The zero value finds everything
// out from the history itself.
type JudgeOptions struct {
	Model   string        // rules for a history that jepgo did not record, "" to find out
	Keyed   bool          // values are [key value]
	NilAny  bool          // a read of nil says nothing
	Initial string        // initial value as EDN, "" for nil
	Timeout time.Duration // for the whole file, 0 for none
}

// JudgeFile judges the history at path: a file, a run directory, or "-" for
// standard input. It reads nothing but the history.
func JudgeFile(ctx context.Context, path string, o JudgeOptions) (*report.Judgement, error) {
	start := time.Now()
	h, err := readHistory(path)
	if err != nil {
		return nil, err
	}
	j, err := Judge(ctx, h, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	j.File, j.Elapsed = path, time.Since(start)
	return j, nil
}

func readHistory(path string) (*history.History, error) {
	if path == "-" {
		return history.ReadAll(os.Stdin, history.EDN())
	}
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		inside := filepath.Join(path, store.HistoryFile)
		if _, err := os.Stat(inside); err != nil {
			return nil, fmt.Errorf("directory %q holds no %s: want a history file or a run of the store", path, store.HistoryFile)
		}
		path = inside
	}
	return history.ReadFile(path)
}

// Judge runs the checkers that are fair for the history.
func Judge(ctx context.Context, h *history.History, o JudgeOptions) (*report.Judgement, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	j := &report.Judgement{Ops: len(h.Ops), Cut: h.Cut}
	checkers, err := choose(h, o, j)
	if err != nil {
		return nil, err
	}
	j.Results, j.Verdict = checker.Compose(ctx, h, checkers...)
	return j, nil
}
