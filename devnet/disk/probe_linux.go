package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Probe says whether this machine can have a Disk, by having one for a moment,
// or what is missing and how to get it. Cost: some milliseconds.
func Probe() (err error) {
	var at unix.Stat_t
	if err := unix.Stat("/dev/fuse", &at); err == nil && (at.Mode&unix.S_IFMT != unix.S_IFCHR || at.Rdev != unix.Mkdev(10, 229)) {
		return errors.New("faulty disks need FUSE, and /dev/fuse is not its device, which is of characters, 10 and 229: remove it, and load the kernel module fuse, or mknod -m 0666 /dev/fuse c 10 229")
	}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("faulty disks need FUSE, and there is no /dev/fuse: load the kernel module fuse; in a container, pass the device in: %w", err)
	case err != nil:
		return fmt.Errorf("faulty disks need FUSE, and /dev/fuse does not open: it must be open to this user (chmod 0666 /dev/fuse, as most distributions have it): %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "jepgo-disk-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := Mount(Options{Dir: filepath.Join(dir, "dir"), Mount: filepath.Join(dir, "mount"), Name: "probe"})
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("faulty disks need the right to mount: run as root, or in a user and mount namespace, as --link emulator and --link kernel bring it (or: unshare -Urm jepgo …): %w", err)
	}
	if err != nil {
		return fmt.Errorf("faulty disks do not work here: %w", err)
	}
	return d.Close()
}
