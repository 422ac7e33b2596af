package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// DeviceOf returns the whole disk below a file or directory as MAJ:MIN, which is
// what limits of I/O are set on. The error says that there is none, as below
// tmpfs, overlay and btrfs.
func DeviceOf(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", fmt.Errorf("disk of %q: %w", path, err)
	}
	return wholeDisk(path, fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

func wholeDisk(path, number string) (string, error) {
	dir, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("disk of %q: its file system is on no block device (device %s)", path, number)
	}
	if err != nil {
		return "", fmt.Errorf("disk of %q: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err != nil {
		return number, nil
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "dev"))
	if err != nil {
		return "", fmt.Errorf("disk of %q: %w", path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Disk is where a process writes.
type Disk struct {
	Device string // MAJ:MIN of the whole disk
	Dir    string // a directory on it, as this process reaches it
	Files  int    // how many files there the process has open for writing
}

// DiskOf returns the disk on which the process has most files open for writing.
func DiskOf(id devnet.Identity) (Disk, error) {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", id.PID))
	if err != nil {
		return Disk{}, err
	}
	var disks []Disk
	last := errors.New("it has no file open for writing")
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Stat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || !writable(id.PID, filepath.Base(fd)) {
			continue
		}
		path, err := os.Readlink(fd)
		if err != nil || strings.HasSuffix(path, " (deleted)") {
			continue
		}
		device, err := wholeDisk(path, fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
		if err != nil {
			last = err
			continue
		}
		at := slices.IndexFunc(disks, func(d Disk) bool { return d.Device == device })
		if at < 0 {
			at = len(disks)
			// Through the root of the process, which may be another than ours.
			dir := filepath.Join(fmt.Sprintf("/proc/%d/root", id.PID), filepath.Dir(path))
			disks = append(disks, Disk{Device: device, Dir: dir})
		}
		disks[at].Files++
	}
	if !devnet.Alive(id) {
		return Disk{}, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	if len(disks) == 0 {
		return Disk{}, fmt.Errorf("disk of process %s: %w", id, last)
	}
	return slices.MaxFunc(disks, func(a, b Disk) int { return a.Files - b.Files }), nil
}

// writable reads from fdinfo whether the file is open for writing.
func writable(pid int, fd string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && n&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}

// Resident is how much memory the process has, in bytes.
func Resident(id devnet.Identity) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id.PID))
	if err != nil || !devnet.Alive(id) {
		return 0, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0, fmt.Errorf("process %s: statm %q: expected at least two numbers", id, text)
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
