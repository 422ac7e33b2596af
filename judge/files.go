package judge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

// Progress is how far a judgement has come.
type Progress struct {
	File  string
	Ops   int
	Stage string // Reading or Searching
}

// Stages of a judgement.
const (
	Reading   = "read"
	Searching = "read, searching"
)

// Files judges several files, GOMAXPROCS at once, and calls done for each in the
// order of paths, as soon as it and those before it are judged. It stops when
// done returns an error, and returns that. watch is told of the progress, from
// several goroutines.
//
// A directory stands for the run that it holds; one without a run stands for all
// histories below it, by name. There, files of no known format are left out, and
// a history that fits no model, or several, is unknown instead of an error.
func Files(ctx context.Context, paths []string, o Options, watch func(Progress), done func(path string, j *report.Judgement, err error) error) error {
	jobs, err := expand(paths)
	if err != nil {
		return err
	}
	outer := ctx
	ctx, stop := limitMemory(ctx, o.Memory)
	defer stop()
	hugePages(texts(paths))
	ctx, cancel := context.WithCancel(ctx)
	results := make([]chan result, len(jobs))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	wait.Go(func() {
		for i, job := range jobs {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				results[i] <- job.judge(ctx, o, watch)
			})
		}
	})
	histories := make(map[string]int) // by directory
	for i, job := range jobs {
		r := <-results[i]
		foreign := job.dir != "" && errors.Is(r.err, format.ErrUnknown)
		if !foreign {
			histories[job.dir]++
		}
		last := i+1 == len(jobs) || jobs[i+1].dir != job.dir
		var vague *VagueError
		switch {
		case outer.Err() != nil && (r.ended || r.j == nil):
			return nil // interrupted: the caller knows
		case foreign && last && histories[job.dir] == 0:
			r.err = usage.Errorf("directory %q holds no file that looks like a history", job.dir)
		case foreign:
			continue
		case job.dir != "" && errors.As(r.err, &vague):
			r.j, r.err = undecided(job.path, vague), nil
		}
		if err := done(job.path, r.j, r.err); err != nil {
			return err
		}
	}
	return nil
}

// texts is the length of the longest of files, in bytes.
func texts(paths []string) (longest int64) {
	for _, path := range paths {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			longest = max(longest, fi.Size())
		}
	}
	return longest
}

func undecided(path string, why error) *report.Judgement {
	return &report.Judgement{File: path, Undecided: why.Error()}
}

// job is one file to judge.
type job struct {
	path string
	err  error  // why it cannot be looked at
	dir  string // where it was found; "" when somebody said that it is a history
}

func expand(paths []string) ([]job, error) {
	var jobs []job
	stdin := false
	for _, path := range paths {
		if path == "-" && stdin {
			return nil, usage.Errorf("argument - is there twice: standard input can be read once")
		}
		stdin = stdin || path == "-"
		fi, err := os.Stat(path)
		if path == "-" || err != nil || !fi.IsDir() || holdsRun(path) {
			jobs = append(jobs, job{path: path})
			continue
		}
		before := len(jobs)
		err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				jobs = append(jobs, job{path: at, err: usage.Errorf("%w", err)})
				if entry != nil && entry.IsDir() {
					return filepath.SkipDir
				}
			case entry.IsDir() && holdsRun(at):
				jobs = append(jobs, job{path: at})
				return filepath.SkipDir
			case entry.Type().IsRegular():
				jobs = append(jobs, job{path: at, dir: path})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(jobs) == before {
			jobs = append(jobs, job{path: path}) // whoever opens it says what is wrong
		}
	}
	return jobs, nil
}

func holdsRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, store.HistoryFile))
	return err == nil
}

// result is what became of a job.
type result struct {
	j     *report.Judgement
	err   error
	ended bool // nobody judged it: time was over, or the context
}

// judge judges the file of a job. It returns, a while after ctx has ended or the
// file's time is over, also when somebody still waits for input that does not come:
// nothing wakes a read of a pipe, which then ends with the program.
func (j job) judge(ctx context.Context, o Options, watch func(Progress)) result {
	const patience = 2 * time.Second
	if j.err != nil {
		return result{err: j.err}
	}
	if ctx.Err() != nil {
		return result{j: undecided(j.path, context.Cause(ctx)), ended: true}
	}
	judged := make(chan result, 1)
	go func() {
		judgement, err := file(ctx, j.path, o, watch)
		judged <- result{j: judgement, err: err}
	}()
	limit, stop := ctx, context.CancelFunc(func() {})
	if o.Timeout > 0 {
		limit, stop = context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("time limit of %v reached", o.Timeout))
	}
	defer stop()
	select {
	case r := <-judged:
		return r
	case <-limit.Done():
	}
	select {
	case r := <-judged:
		return r
	case <-time.After(patience):
		return result{j: undecided(j.path, context.Cause(limit)), ended: true}
	}
}
