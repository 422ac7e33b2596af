package judge

import (
	"context"
	"errors"
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
	ctx, stop := limitMemory(ctx, o.Memory)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		j   *report.Judgement
		err error
	}
	results := make([]chan result, len(jobs))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	stuck := false // somebody waits for input that does not come, and cannot be woken
	var wait sync.WaitGroup
	defer func() {
		cancel()
		if !stuck {
			wait.Wait()
		}
	}()
	wait.Go(func() {
		for i, job := range jobs {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				for _, rest := range results[i:] {
					rest <- result{err: context.Cause(ctx)}
				}
				return
			}
			wait.Go(func() {
				defer func() { <-slots }()
				if job.err != nil {
					results[i] <- result{err: job.err}
					return
				}
				j, err := file(ctx, job.path, o, watch)
				results[i] <- result{j, err}
			})
		}
	})
	histories := make(map[string]int) // by directory
	for i, job := range jobs {
		var r result
		select {
		case r = <-results[i]:
		case <-late(ctx):
			stuck = true
			return nil
		}
		foreign := job.dir != "" && errors.Is(r.err, format.ErrUnknown)
		if !foreign {
			histories[job.dir]++
		}
		last := i+1 == len(jobs) || jobs[i+1].dir != job.dir
		var vague *VagueError
		switch {
		case foreign && last && histories[job.dir] == 0:
			r.err = usage.Errorf("directory %q holds no file that looks like a history", job.dir)
		case foreign:
			continue
		case job.dir != "" && errors.As(r.err, &vague):
			r.j, r.err = &report.Judgement{File: job.path, Undecided: vague.Error()}, nil
		case ctx.Err() != nil && r.j == nil && errors.Is(r.err, ctx.Err()):
			return nil // interrupted: the caller knows
		}
		if err := done(job.path, r.j, r.err); err != nil {
			return err
		}
	}
	return nil
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

// late returns a channel that closes some time after ctx ended: when whoever looks
// at it must have seen that.
func late(ctx context.Context) <-chan struct{} {
	const patience = 2 * time.Second
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { close(closed) }) })
	return closed
}
