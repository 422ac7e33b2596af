package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
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
