//go:build !linux

package devnet

import (
	"errors"
	"syscall"
)

// errNotLinux is the answer of everything here on other systems.
var errNotLinux = errors.New("process identities need Linux: they are read from /proc")

// Lookup needs Linux.
func Lookup(pid int) (Identity, error) { return Identity{}, errNotLinux }

// Alive is always false here: no incarnation can be known.
func Alive(id Identity) bool { return false }

// State needs Linux.
func State(id Identity) (state byte, cpuTicks uint64, err error) { return 0, 0, errNotLinux }

// Parent needs Linux.
func Parent(id Identity) (int, error) { return 0, errNotLinux }

// Signal needs Linux.
func Signal(id Identity, sig syscall.Signal) error { return errNotLinux }

// Holdings are what a process holds: bytes of memory, descriptors, threads.
type Holdings struct {
	RSS          int64
	FDs, Threads int
}

// Held needs Linux.
func Held(Identity) (Holdings, error) { return Holdings{}, errNotLinux }
