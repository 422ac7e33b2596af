package devnet

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// Wait is cmd.Wait for a process whose threads this very process may trace, as
// package clock does: the kernel tells a waiting parent of its own tracer's stops,
// which cmd.Wait takes for the end. Wait does not ask before the process has really
// ended. (On kernels before 5.3 it is cmd.Wait.)
func Wait(cmd *exec.Cmd) error {
	AwaitEnd(cmd)
	return cmd.Wait()
}

// AwaitEnd returns when the process has ended, and leaves it to be reaped by
// cmd.Wait; ended is false where that cannot be known without reaping it (on
// kernels before 5.3).
func AwaitEnd(cmd *exec.Cmd) (ended bool) {
	// Not waited for yet, so the pid is its own.
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); err != unix.EINTR {
			return err == nil
		}
	}
}
