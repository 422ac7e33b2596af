package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/workloads"
)

// crew drives the threads of the workloads, each in its own goroutine under its
// own process id.
type crew struct {
	journal *journal
	limit   *rate.Limiter // pace of the threads without one of their own
	log     *slog.Logger

	mu   sync.Mutex
	next int64 // one above the highest process id used so far
}

// drive runs the threads until load ends or all have finished. An operation
// that is under way when load ends goes on until it has its outcome; only the
// end of ctx cuts it short. The error is the journal's: nothing else stops a
// crew.
func (c *crew) drive(ctx, load context.Context, threads []workloads.Thread) error {
	load, stop := context.WithCancelCause(load)
	defer stop(nil)
	c.mu.Lock()
	first := c.next
	c.next += int64(len(threads))
	c.mu.Unlock()

	var wg sync.WaitGroup
	failed := make(chan error, len(threads))
	for i, t := range threads {
		wg.Go(func() {
			w := worker{crew: c, thread: t, process: first + int64(i), step: int64(len(threads))}
			if err := w.work(ctx, load); err != nil {
				failed <- err
				stop(err)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// worker is one thread at work.
type worker struct {
	crew    *crew
	thread  workloads.Thread
	process int64
	step    int64 // from a crashed process to the one that takes over
}

func (w *worker) work(ctx, load context.Context) error {
	due := time.Now()
	for {
		if !w.pace(load, &due) {
			return nil
		}
		op, ok := w.thread.Next()
		if !ok {
			return nil
		}
		op.Type, op.Process = history.Invoke, history.Client(w.process)
		op, err := w.crew.journal.record(op)
		if err != nil {
			return err
		}
		done := w.thread.Invoke(ctx, op)
		done.Process, done.F = op.Process, op.F
		if done.Node == "" {
			done.Node = op.Node
		}
		if done.Tag == "" {
			done.Tag = op.Tag
		}
		if done.Type != history.OK && done.Type != history.Fail {
			done.Type = history.Info // an outcome that is not stated is in doubt
		}
		if _, err := w.crew.journal.record(done); err != nil {
			return err
		}
		if done.Type == history.Info {
			w.succeed()
			if err := w.thread.Crash(); err != nil {
				w.crew.log.Warn("client thread ends early", "process", w.process, "node", op.Node, "err", err)
				return nil
			}
		}
	}
}

// pace waits for the thread's turn; false means that the load has ended.
func (w *worker) pace(load context.Context, due *time.Time) bool {
	interval := w.thread.Interval()
	if interval == 0 {
		return w.crew.limit.Wait(load) == nil && load.Err() == nil
	}
	wait := time.Until(*due)
	if wait < 0 { // a slow answer does not lead to a burst of questions
		*due, wait = time.Now(), 0
	}
	*due = due.Add(interval)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-load.Done():
		return false
	case <-timer.C:
		return load.Err() == nil
	}
}

// succeed takes the process id that follows a crashed one.
func (w *worker) succeed() {
	w.process += w.step
	w.crew.mu.Lock()
	w.crew.next = max(w.crew.next, w.process+1)
	w.crew.mu.Unlock()
}
