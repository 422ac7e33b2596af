//go:build !linux || !amd64

package clock

import (
	"errors"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// errSystem is the answer of everything here on other systems.
var errSystem = errors.New("clock skew of a process needs Linux on x86-64: its hook is machine code for that vDSO")

// Skew needs Linux on x86-64.
type Skew struct{}

// Probe says that this is not Linux on x86-64.
func Probe() error { return errSystem }

// Install needs Linux on x86-64.
func Install(devnet.Identity) (*Skew, error) { return nil, errSystem }

// Set needs Linux on x86-64.
func (*Skew) Set(time.Duration, float64) error { return errSystem }

// SetSince needs Linux on x86-64.
func (*Skew) SetSince(time.Duration, float64, time.Time) error { return errSystem }

// Read needs Linux on x86-64.
func (*Skew) Read() (Reading, error) { return Reading{}, errSystem }

// Asked needs Linux on x86-64.
func (*Skew) Asked(time.Time) time.Duration { return 0 }

// Lapses needs Linux on x86-64.
func (*Skew) Lapses() int { return 0 }

// Remove needs Linux on x86-64.
func (*Skew) Remove() error { return errSystem }

// Read needs Linux on x86-64.
func Read(devnet.Identity) (Reading, error) { return Reading{}, errSystem }

// Patched needs Linux on x86-64.
func Patched(devnet.Identity) (bool, error) { return false, errSystem }

// Restore needs Linux on x86-64.
func Restore(devnet.Identity) error { return errSystem }

// Sweep needs Linux on x86-64.
func Sweep() ([]Patch, error) { return nil, errSystem }
