package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	flushEvery = 100 * time.Millisecond
	// Half of the second that may be lost, because the disk takes its time too.
	syncEvery = 500 * time.Millisecond

	flushSize = 256 << 10 // bytes that are written out without waiting for flushEvery
	mostSize  = 64 << 20  // bytes that may wait for the disk before Record waits too
)

// errClosed is what Record returns after Close.
var errClosed = errors.New("history is closed")

// Recorder writes ops to a file as they happen. It gives each its index and time
// and sets their order: that of the calls of Record.
//
// What was recorded is in the file after 100 ms at most and safe on the disk
// after a second at most, as long as the disk keeps up. Recording does not wait
// for the disk unless 64 MiB are waiting to be written.
//
// A Recorder may be used by many goroutines. Two goroutines of its own end with
// Close.
type Recorder struct {
	file  journal
	start time.Time
	most  int // mostSize, or less for tests

	mu      sync.Mutex
	room    sync.Cond // a buffer was taken to be written, or recording is over
	buf     []byte    // ops that are not written yet
	next    int64     // index of the next op
	last    int64     // time of the last op
	err     error     // first failure of the disk
	closed  bool
	pending bool // something was written since the last fsync began

	// Each is held while the file does that, and is taken before mu.
	writing, syncing sync.Mutex
	spare            []byte // buffer to use next; guarded by writing

	full   chan struct{} // wakes the writer early
	failed chan struct{}
	quit   chan struct{}
	done   sync.WaitGroup
	finish sync.Once
}

// journal is what a Recorder needs of a file.
type journal interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// Create starts a history in a new file. It never touches one that exists. The
// clock of the recorder starts at zero.
func Create(path string) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("history %q exists and is never overwritten, expected a new name: %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fileError(path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fileError(path, err), file.Close())
	}
	return newRecorder(file), nil
}

// syncDir makes the name of a new file outlive a loss of power.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func newRecorder(file journal) *Recorder {
	r := &Recorder{
		file:   file,
		start:  time.Now(),
		most:   mostSize,
		full:   make(chan struct{}, 1),
		failed: make(chan struct{}),
		quit:   make(chan struct{}),
	}
	r.room.L = &r.mu
	r.done.Go(r.writeOut)
	r.done.Go(r.syncOut)
	return r
}

// Now returns the nanoseconds since Create on the monotonic clock that stamps
// the ops.
func (r *Recorder) Now() int64 { return int64(time.Since(r.start)) }

// Record appends op to the history and returns it with its Index, dense from 0,
// and its Time, which never decreases. It returns the first error of the disk
// once there was one, and records nothing from then on. It keeps nothing of op.
//
// Cost: about a microsecond, unless it has to wait for the disk.
func (r *Recorder) Record(op Op) (Op, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.buf) >= r.most && r.err == nil && !r.closed {
		r.room.Wait()
	}
	switch {
	case r.err != nil:
		return op, r.err
	case r.closed:
		return op, errClosed
	}
	op.Index = r.next
	op.Time = max(r.last, r.Now())
	r.next++
	r.last = op.Time
	r.buf = append(appendOp(r.buf, &op), '\n')
	if len(r.buf) >= flushSize {
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
	return op, nil
}

// Sync returns when everything recorded before the call is safe on the disk, or
// with the first error since Create.
func (r *Recorder) Sync() error {
	r.flush()
	r.sync()
	return r.Err()
}

// Close writes out and syncs what was recorded and closes the file. It returns
// the first error since Create, however often it is called.
func (r *Recorder) Close() error {
	r.finish.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.room.Broadcast()
		r.mu.Unlock()
		close(r.quit)
		r.done.Wait()
		r.flush()
		r.sync()
		if err := r.file.Close(); err != nil {
			r.fail(err)
		}
	})
	return r.Err()
}

// Failed is closed at the first error of the disk.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Err returns the first error of the disk, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail makes err the answer to every later call, unless an earlier one is.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	r.err = fmt.Errorf("history cannot be written, its last ops are lost: %w", err)
	r.buf = nil
	r.room.Broadcast()
	close(r.failed)
}

func (r *Recorder) writeOut() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.full:
		case <-ticker.C:
		case <-r.quit:
			return
		}
		r.flush()
	}
}

func (r *Recorder) syncOut() {
	ticker := time.NewTicker(syncEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.sync()
		case <-r.quit:
			return
		}
	}
}

// flush writes what waits in the buffer. The next ops go to another buffer
// meanwhile.
func (r *Recorder) flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	full := r.buf
	r.buf = r.spare[:0]
	r.spare = nil
	r.room.Broadcast()
	r.mu.Unlock()
	if len(full) > 0 {
		if _, err := r.file.Write(full); err != nil {
			r.fail(err)
		}
		r.mu.Lock()
		r.pending = true
		r.mu.Unlock()
	}
	if cap(full) <= 16*flushSize {
		r.spare = full
	}
}

// sync waits until what was written is safe on the disk.
func (r *Recorder) sync() {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	r.mu.Lock()
	due := r.pending
	r.pending = false
	r.mu.Unlock()
	if !due {
		return
	}
	if err := r.file.Sync(); err != nil {
		r.fail(err)
	}
}
