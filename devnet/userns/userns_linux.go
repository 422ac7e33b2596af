package userns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is this program to be executed again by Run, with those arguments. Its
// streams are the caller's to set.
func Command(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0] // what ps shows
	cmd.Env = append(os.Environ(), mark+"="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		// A terminal sends its Ctrl-C to the whole process group: what is in another
		// one gets it from Run, and once.
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

// Run runs a Command to its end and returns its exit status, 128 and the signal's
// number when one ended it. The error says why it could not be run, and what would
// help.
func Run(cmd *exec.Cmd) (status int, err error) {
	// The kernel kills the process when the thread ends that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP} {
		if !signal.Ignored(sig) { // nohup
			signal.Notify(signals, sig)
		}
	}
	// Where the terminal stops background processes that write to it.
	signal.Ignore(syscall.SIGTTOU)
	if err := cmd.Start(); err != nil {
		return 0, advise(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGTSTP {
				_ = cmd.Process.Signal(sig) // it may have ended
				continue
			}
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // returns when this process goes on
			_ = cmd.Process.Signal(syscall.SIGCONT)
		case err := <-ended:
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}

// advise adds to an error of the kernel what would help.
func advise(err error) error {
	if exec := (*os.PathError)(nil); errors.As(err, &exec) {
		err = exec.Err // which program it was helps nobody
	}
	why := ""
	switch {
	case errors.Is(err, unix.ENOSPC):
		why = "no more of them may be made here: as root, raise user.max_user_namespaces and user.max_mnt_namespaces with sysctl"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		why = "only root may make them here: as root, sysctl kernel.unprivileged_userns_clone=1 (Debian) or kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, a seccomp profile that lets them"
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		why = "this kernel has none (CONFIG_USER_NS)"
	default:
		return fmt.Errorf("user namespace: %w", err)
	}
	return fmt.Errorf("user namespace: %w: %s", err, why)
}
