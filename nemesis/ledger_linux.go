package nemesis

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// lock takes the exclusive lock of the file, which its open description keeps
// until it is closed, also by the end of the process. Files are opened so that
// a child never inherits it.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errLocked
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// bootID names the present boot of this machine, "" when it is not to be had.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
