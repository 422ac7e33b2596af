package nemesis

import (
	"os"
	"os/exec"
	"syscall"
)

// again is this program to be executed again, also when its file has been
// deleted, as go run does.
func again(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0] // what ps shows
	return cmd
}

// session puts a process into a session of its own, out of reach of the
// terminal's signals.
func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
