//go:build !linux

package cgroup

import (
	"errors"

	"github.com/jepgo/jepgo/devnet"
)

var errNotLinux = errors.New("control groups need Linux")

// Disk is where a process writes.
type Disk struct {
	Device string
	Dir    string
	Files  int
}

// DeviceOf needs Linux.
func DeviceOf(path string) (string, error) { return "", errNotLinux }

// DiskOf needs Linux.
func DiskOf(id devnet.Identity) (Disk, error) { return Disk{}, errNotLinux }

// Resident needs Linux.
func Resident(id devnet.Identity) (int64, error) { return 0, errNotLinux }
