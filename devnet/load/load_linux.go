package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// Start starts a helper and returns when it is at work. It runs until Stop.
func Start(ctx context.Context, mark string, w Work) (*Helper, error) {
	if os.Getenv(nestedEnv) != "" {
		return nil, errors.New("load helper: this program does not call load.Main before anything else, so it has no helpers")
	}
	// This program, also when its file has been deleted.
	cmd := exec.Command("/proc/self/exe", append([]string{Command, mark}, w.args()...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), nestedEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // its end is the helper's
		return nil, fmt.Errorf("load helper: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("load helper: %w", err)
	}
	h := &Helper{Mark: mark, begun: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(h.ended)
		// The kernel sends the death signal when the thread ends that started the
		// helper: this one, which is kept until the helper's own end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			// Not waited for yet, so the pid is its own even if it has died.
			h.Process, err = devnet.Lookup(cmd.Process.Pid)
		}
		started <- err
		if cmd.Process == nil {
			return
		}
		if !h.listen(out) {
			_ = cmd.Process.Kill() // no helper: whatever it is
		}
		_ = cmd.Wait() // that it ended is all that is asked
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("load helper: %w", err)
	}
	select {
	case <-h.begun:
		return h, nil
	case <-h.ended:
		err = errors.New("ended before it began: does the program call load.Main before anything else?")
	case <-ctx.Done():
		err = fmt.Errorf("has not begun: %w", context.Cause(ctx))
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return nil, errors.Join(fmt.Errorf("load helper: %w", err), h.Stop(stop))
}

// listen reads what the helper says, until its end; false when that is no helper.
func (h *Helper) listen(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != ready {
		return false
	}
	close(h.begun)
	for lines.Scan() {
		if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			h.written.Store(n)
		}
	}
	return true
}

// Alive reports whether the helper runs.
func (h *Helper) Alive() bool { return devnet.Alive(h.Process) }

// Stop ends the helper and waits for its end. It is idempotent.
func (h *Helper) Stop(ctx context.Context) error {
	if err := EndOne(ctx, h.Process); err != nil {
		return err
	}
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("load helper %s: its end was not noticed: %w", h.Process, context.Cause(ctx))
	}
}

// EndOne kills a helper and waits until it is gone.
func EndOne(ctx context.Context, id devnet.Identity) error {
	err := devnet.Signal(id, syscall.SIGKILL)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("load helper: %w", err)
	}
	if err := devnet.AwaitGone(ctx, id); err != nil {
		return fmt.Errorf("load helper: %w", err)
	}
	return nil
}

// Find lists the helpers with that mark that run, whoever started them.
func Find(mark string) ([]devnet.Identity, error) {
	return find(func(m string) bool { return m == mark })
}

// End kills the helpers with that mark, whoever started them, and waits until
// they are gone. It returns how many there were.
func End(ctx context.Context, mark string) (int, error) {
	found, err := Find(mark)
	errs := []error{err}
	for _, id := range found {
		errs = append(errs, EndOne(ctx, id))
	}
	return len(found), errors.Join(errs...)
}

// Leftovers lists the helpers whose owner is gone. There should be none: they die
// with it.
func Leftovers() ([]devnet.Identity, error) {
	return find(func(m string) bool {
		owner, ok := ownerOf(m)
		return ok && !devnet.Alive(owner)
	})
}

// find looks through all processes for helpers with such a mark.
func find(ours func(mark string) bool) ([]devnet.Identity, error) {
	living, err := devnet.Living()
	if err != nil {
		return nil, err
	}
	var found []devnet.Identity
	for _, id := range living {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
		if err != nil {
			continue
		}
		args := bytes.Split(text, []byte{0})
		if len(args) >= 3 && string(args[1]) == Command && ours(string(args[2])) {
			found = append(found, id)
		}
	}
	return found, nil
}

// Cores are those on which the process may run.
func Cores(id devnet.Identity) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(id.PID, &set); err != nil {
		return nil, fmt.Errorf("cores of process %s: %w", id, err)
	}
	if !devnet.Alive(id) {
		return nil, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	var cores []int
	for c := range 8 * len(set) * 8 {
		if set.IsSet(c) {
			cores = append(cores, c)
		}
	}
	return cores, nil
}

// Waited is how long the process's main thread and the others together have
// waited for a core although they could run. The error says that the kernel does
// not tell.
func Waited(id devnet.Identity) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", id.PID))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f) // a thread may end meanwhile
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			continue
		}
		if ns, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			sum += time.Duration(ns)
		}
	}
	if len(files) == 0 || !devnet.Alive(id) {
		return 0, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	return sum, nil
}

// do works until the owner's end of the pipe is closed.
func (w Work) do() error {
	fmt.Println(ready)
	for _, core := range w.Cores {
		go burn(core, w.Duty)
	}
	failed := make(chan error, 1)
	if w.Dir != "" {
		go func() { failed <- writeTo(w.Dir) }()
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case err := <-failed:
		return err
	}
}

// slice is the time in which a duty is kept.
const slice = 10 * time.Millisecond

func burn(core int, duty float64) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(core)
	_ = unix.SchedSetaffinity(0, &set) // elsewhere it burns too
	busy := time.Duration(duty * float64(slice))
	for {
		for began := time.Now(); time.Since(began) < busy; {
		}
		if busy < slice {
			time.Sleep(slice - busy)
		}
	}
}

// writeTo writes to a file without a name, which is gone with the helper, and
// tells how many bytes are on the disk.
func writeTo(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("write below %q: %w", dir, err)
	}
	buf := make([]byte, 64<<10)
	for n := int64(len(buf)); ; n += int64(len(buf)) {
		if _, err := unix.Pwrite(fd, buf, 0); err != nil {
			return fmt.Errorf("write below %q: %w", dir, err)
		}
		if err := unix.Fdatasync(fd); err != nil {
			return fmt.Errorf("write below %q: %w", dir, err)
		}
		fmt.Println(n)
	}
}
