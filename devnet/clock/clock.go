// Package clock sets the clock of one running process off, and no other's: the
// functions of the vDSO by which the process reads the time are hooked in its own
// copy of that page, and the hook adds what a small page shared with us says.
//
// Guarantees: the host's clock and every other process's are never touched; only
// CLOCK_REALTIME, its coarse variant, gettimeofday and time are off, together, and
// durations measured by monotonic clocks stay right; no value is ever torn; a change
// stops nobody. A skew ends by itself at most Lease after its owner has died, in
// whatever way, and what is then left of the patch can be seen (Patched, Sweep) and
// taken back (Restore) by any process. An owner that dies while it sets the skew
// leaves the target right or, in the millisecond in which one of its threads runs
// on registers of ours, dead: never corrupt. Restoring leaves the vDSO byte for byte
// as it was, and two pages (8 KiB) mapped that nothing refers to, for the next
// time.
//
// Bounds: Linux on x86-64; a 64-bit target of the same user, or root, that nobody
// else traces. Setting and removing stop all threads of the target for some
// milliseconds, reading one thread for less than one (more on a machine with more to
// do than cores); a change takes microseconds. A wait that Linux never starts again,
// epoll_wait above all, returns EINTR once when its thread is stopped, as it does
// under any debugger. A hooked call takes 3 ns more with an offset and 10 ns with a
// rate, on one of 26. Not skewed: raw system
// calls, CLOCK_TAI, file times, timers and waits with a deadline on the real-time
// clock (a wait for a skewed deadline takes longer or shorter by the offset). An exec
// ends the skew, a fork inherits it. A kernel that steps the true clock back
// prolongs a lease by that much.
//
// A process that is parent of a target and sets its clock must wait for its end with
// devnet.Wait, because the kernel tells a waiting parent of its tracer's stops.
//
// It is not for containers on another kernel (gVisor), and not for hiding: the
// target can see all of it in its memory map.
package clock

import (
	"errors"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// Lease is how long a skew outlives an owner that no longer renews it.
const Lease = 1500 * time.Millisecond

// The bounds of Set.
const (
	MaxOffset = 100 * 365 * 24 * time.Hour
	MaxPPM    = 900_000 // of the true rate, either way
)

var (
	// ErrSkewed is returned for a target whose clock is set off by a living owner.
	ErrSkewed = errors.New("clock is skewed already")
	// ErrForeign is returned for a target whose vDSO was changed by somebody else,
	// which is left alone.
	ErrForeign = errors.New("vDSO was changed, but not by jepgo")
)

// Reading is a clock as the process itself sees it, beside the true one.
type Reading struct {
	Target time.Time     // CLOCK_REALTIME by the target's vDSO
	Host   time.Time     // CLOCK_REALTIME by the kernel, at the same moment
	Offset time.Duration // Target - Host
	Bound  time.Duration // the offset is right within this
}

// Patch is a process whose vDSO carries our hook.
type Patch struct {
	Target devnet.Identity
	Owner  devnet.Identity // the process that set it
	Live   bool            // the lease holds: the clock may be off
}
