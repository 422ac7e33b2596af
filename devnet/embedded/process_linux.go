package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jepgo/jepgo/devnet/child"
)

func supported() error { return nil }

// enoughFiles returns why that many validators cannot work with the open files
// that this process may have, and that each validator inherits.
func enoughFiles(nodes int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	// A validator's databases, ports and clients, and here the links of all pairs.
	if need := uint64(256 + 16*nodes*nodes); limit.Cur < need {
		return fmt.Errorf("limit of open files is %d: %d validators need %d, see ulimit -n", limit.Cur, nodes, need)
	}
	return nil
}

// self is this program, also when its file has been deleted, as go run does.
const self = "/proc/self/exe"

// tied is this program to be executed again, in a process group of its own and
// with log as its output, so that it gets SIGKILL when the thread that starts it
// ends.
func tied(log *os.File, args ...string) *exec.Cmd {
	return child.Tie(again(log, args...), log)
}

// startDetached executes this program again in a session of its own, so that it
// outlives this process and its terminal.
func startDetached(log *os.File, args ...string) (*exec.Cmd, error) {
	cmd := again(log, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

func again(log *os.File, args ...string) *exec.Cmd {
	cmd := exec.Command(self, args...)
	cmd.Args[0] = os.Args[0] // what ps shows
	cmd.Stdout, cmd.Stderr = log, log
	return cmd
}

// lockDir holds the directory for one network until the file is closed or the
// process ends, however it does.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("devnet lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("devnet lock %q: %w", dir, err)
	}
	owner := "another process"
	if s, err := readState(dir); err == nil && s.running() {
		owner = fmt.Sprintf("process %d", s.Owner.PID)
	}
	return nil, fmt.Errorf("directory %q: its devnet is run by %s", dir, owner)
}
