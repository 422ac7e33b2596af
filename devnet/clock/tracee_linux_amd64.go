package clock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

const (
	// stopLimit bounds the wait for a thread to stop: one that waits for a hung disk
	// does not.
	stopLimit = 5 * time.Second
	// callLimit bounds what a thread does for us.
	callLimit = 5 * time.Second
	// dyingLimit bounds the wait for the end of a process that seems to be dying.
	dyingLimit = time.Second

	eventStop   = int(unix.SIGTRAP) | unix.PTRACE_EVENT_STOP<<8
	syscallStop = int(unix.SIGTRAP) | 0x80 // with PTRACE_O_TRACESYSGOOD

	getSigmask = 0x420a // PTRACE_GETSIGMASK
	setSigmask = 0x420b
)

var (
	// errThreadGone says that one thread of the target has ended.
	errThreadGone = errors.New("thread has ended")
	errStop       = fmt.Errorf("thread did not stop within %v: it waits for a disk, or its control group is frozen", stopLimit)
)

// tracing runs do on a thread of its own that ends with it, because only the thread
// that seized a target may do more with it, and because the kernel lets go of what
// that thread still holds when it ends.
func tracing(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // which never ends: keep it busy, take another
			defer runtime.UnlockOSThread()
			done <- tracing(do)
			return
		}
		done <- do()
	}()
	return <-done
}

// tracee is a process some or all threads of which are stopped. It belongs to one
// thread.
type tracee struct {
	id   devnet.Identity
	mem  *os.File // its memory
	tids []int    // stopped
}

// open takes hold of a process, all of whose threads still run.
func open(id devnet.Identity) (*tracee, error) {
	if id.PID == os.Getpid() {
		return nil, fmt.Errorf("process %s: a process cannot stop itself", id)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", id.PID), os.O_RDWR, 0)
	if err != nil {
		return nil, gone(id, permitted(err))
	}
	// The file is that of one address space, whoever has the pid now.
	if !devnet.Alive(id) {
		mem.Close()
		return nil, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	return &tracee{id: id, mem: mem}, nil
}

// gone names the process, and prefers to say that it has ended. One that is being
// killed loses its threads and its memory some moments earlier.
func gone(id devnet.Identity, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errThreadGone) || errors.Is(err, unix.ESRCH) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		for deadline := time.Now().Add(dyingLimit); devnet.Alive(id) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	if !devnet.Alive(id) {
		return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	return fmt.Errorf("process %s: %w", id, err)
}

func permitted(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w: it is another user's, or traced by another, or the kernel keeps ptrace to parents (see /proc/sys/kernel/yama/ptrace_scope)", err)
	}
	return err
}

// close lets every stopped thread go on.
func (t *tracee) close() {
	t.letGo()
	t.mem.Close()
}

func (t *tracee) letGo() {
	for _, tid := range t.tids {
		unix.PtraceDetach(tid) // one that has ended needs no letting go
	}
	t.tids = nil
}

func (t *tracee) threads() ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.id.PID))
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// stopAll stops every thread. A stopped thread makes no new one, so the threads
// are all when a listing has none that is new.
func (t *tracee) stopAll() error {
	seen := map[int]bool{}
	for {
		tids, err := t.threads()
		if err != nil {
			return err
		}
		var fresh []int
		for _, tid := range tids {
			if seen[tid] {
				continue
			}
			seen[tid] = true
			switch err := t.seize(tid); {
			case err == nil:
				fresh = append(fresh, tid)
			case !errors.Is(err, errThreadGone):
				return err
			}
		}
		if len(fresh) == 0 {
			break
		}
		for _, tid := range fresh {
			switch err := t.await(tid, eventStop); {
			case err == nil:
				t.tids = append(t.tids, tid)
			case !errors.Is(err, errThreadGone):
				return err
			}
		}
	}
	return t.check()
}

// stopOne stops one thread.
func (t *tracee) stopOne() error {
	tids, err := t.threads()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		err := t.seize(tid)
		if err == nil {
			err = t.await(tid, eventStop)
		}
		switch {
		case err == nil:
			t.tids = []int{tid}
			return t.check()
		case !errors.Is(err, errThreadGone):
			return err
		}
	}
	return errThreadGone
}

// check makes sure that this is still the process that was meant.
func (t *tracee) check() error {
	if _, _, err := devnet.State(t.id); err != nil || len(t.tids) == 0 {
		return os.ErrProcessDone
	}
	return nil
}

func (t *tracee) seize(tid int) error {
	err := unix.PtraceSeize(tid)
	switch {
	case err == nil:
		err = unix.PtraceInterrupt(tid)
	case errors.Is(err, unix.EPERM) && t.ended(tid):
		return errThreadGone
	}
	if errors.Is(err, unix.ESRCH) {
		return errThreadGone
	}
	return permitted(err)
}

// ended reports whether a thread is a zombie or not there.
func (t *tracee) ended(tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", t.id.PID, tid))
	if err != nil {
		return true
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == ')' {
			return i+2 < len(b) && (b[i+2] == 'Z' || b[i+2] == 'X' || b[i+2] == 'x')
		}
	}
	return true
}

// await waits until a seized thread stops as wanted. A signal on its way is
// delivered as if nothing were; the thread then stops at the first instruction of
// its handler.
func (t *tracee) await(tid, want int) error {
	for deadline := time.Now().Add(stopLimit); ; {
		status, err := t.status(tid, deadline)
		if err != nil {
			return err
		}
		switch {
		case status == want || want == eventStop && status>>8 == unix.PTRACE_EVENT_STOP:
			return nil
		case status>>8 != 0: // an event that was not asked for
			err = unix.PtraceCont(tid, 0)
		default:
			// The stop for the signal took the place of the one that we asked for.
			if err = unix.PtraceInterrupt(tid); err == nil {
				err = unix.PtraceCont(tid, status)
			}
		}
		if err != nil {
			return t.lost(tid, err)
		}
	}
}

// status waits for the next stop of a thread.
func (t *tracee) status(tid int, deadline time.Time) (int, error) {
	// The end of the process itself is for its parent to wait for, which may be us.
	options := unix.WSTOPPED | unix.WNOHANG | unix.WALL
	if tid != t.id.PID {
		options |= unix.WEXITED
	}
	for n := 0; ; n++ {
		var info siginfo
		err := unix.Waitid(unix.P_PID, tid, (*unix.Siginfo)(unsafe.Pointer(&info)), options, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, t.lost(tid, err)
		case info.pid != 0 && (info.code == cldTrapped || info.code == cldStopped):
			return int(info.status), nil
		case info.pid != 0:
			return 0, errThreadGone
		}
		if n < 100 {
			unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		}
		if t.ended(tid) {
			return 0, errThreadGone
		}
		if time.Now().After(deadline) {
			return 0, errStop
		}
		time.Sleep(min(time.Duration(n)*time.Microsecond, time.Millisecond))
	}
}

func (t *tracee) lost(tid int, err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ECHILD) || t.ended(tid) {
		return errThreadGone
	}
	return fmt.Errorf("thread %d: %w", tid, err)
}

// siginfo is what waitid fills in for a child.
type siginfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

const (
	cldTrapped = 4
	cldStopped = 5
)

// write writes into pages that the target itself may not write to; only this
// process gets the change. The kernel allows it to a tracer.
func (t *tracee) write(at uint64, b []byte) error {
	_, err := t.mem.WriteAt(b, int64(at))
	if err == nil {
		return nil
	}
	// Some kernels keep such writes of this file off, but not those of a debugger.
	if _, poke := unix.PtracePokeData(t.tids[0], uintptr(at), b); poke != nil {
		return fmt.Errorf("write to %#x: %w", at, errors.Join(err, poke))
	}
	return nil
}

func (t *tracee) read(at uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := t.mem.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("read of %#x: %w", at, err)
	}
	return b, nil
}
