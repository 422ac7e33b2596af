package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Spawner starts processes that die with this one. The kernel sends their death
// signal when the thread ends that started them, so that is one thread, which
// lives until Close.
type Spawner struct {
	requests chan spawnRequest
}

type spawnRequest struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner returns a spawner with a thread of its own.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan spawnRequest)}
	go func() {
		runtime.LockOSThread()
		// Unlocked at the end, so that the runtime keeps the thread.
		defer runtime.UnlockOSThread()
		for r := range s.requests {
			r.result <- r.cmd.Start()
		}
	}()
	return s
}

// Start starts a command, which should be tied, from that thread.
func (s *Spawner) Start(cmd *exec.Cmd) error {
	r := spawnRequest{cmd: cmd, result: make(chan error)}
	s.requests <- r
	return <-r.result
}

// Close ends the spawner; it is for when its processes are gone.
func (s *Spawner) Close() { close(s.requests) }

// Tie puts a command that was not started yet in a process group of its own, with
// log as its output, so that it gets SIGKILL when the thread that starts it ends.
func Tie(cmd *exec.Cmd, log *os.File) *exec.Cmd {
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// endGroup kills what a process that has ended, but was not reaped, has left in
// its process group: until it is reaped the group's number is nobody else's.
func endGroup(cmd *exec.Cmd) {
	if attr := cmd.SysProcAttr; attr != nil && attr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nobody may be left
	}
}

// signalOf is the signal that ended a process, 0 when none did.
func signalOf(state *os.ProcessState) syscall.Signal {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}
