package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// apart is a thread with a table of file descriptors of its own, for the files
// that this process opens on its own disk. A process that dies closes its files,
// and a close on FUSE waits for the answer of the server; if the server is the
// same process, and its /dev/fuse is in the same table, nobody can answer and
// nobody finds out that the server is gone: both hang for ever, unkillable (seen
// on Linux 6.18). With a table of its own only this thread waits, until the rest
// of the process has let go of /dev/fuse.
//
// What runs there makes system calls, and nothing that leaves a descriptor to a
// finalizer.
type apart struct {
	calls chan func()
	ended chan struct{}
}

// newApart starts the thread; close it.
func newApart() (*apart, error) {
	a := &apart{calls: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(a.ended)
		// Never unlocked: the thread ends with the goroutine, and its table with it.
		runtime.LockOSThread()
		err := ownTable()
		ready <- err
		if err != nil {
			return
		}
		for f := range a.calls {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("file descriptors apart: %w", err)
	}
	return a, nil
}

// do runs f on the thread and waits for it.
func (a *apart) do(f func()) {
	done := make(chan struct{})
	a.calls <- func() {
		defer close(done)
		f()
	}
	<-done
}

func (a *apart) close() {
	close(a.calls)
	<-a.ended
}

// ownTable gives this thread its own table and closes what was copied to it, so
// that no pipe or socket lives longer by it. The scheduler's own descriptors
// stay: every thread may be asked to use them.
func ownTable() error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	dir := fmt.Sprintf("/proc/self/task/%d/fd", unix.Gettid())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return err
		}
		to, err := os.Readlink(dir + "/" + e.Name())
		if errors.Is(err, os.ErrNotExist) {
			continue // it read the directory
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(to, "anon_inode:[event") {
			continue
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}
