package devnet

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lookup returns the identity of the process that has this pid now. The error
// wraps os.ErrProcessDone when there is none. Cost: one read of /proc.
func Lookup(pid int) (Identity, error) {
	st, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: st.start}, nil
}

// Alive reports whether this very incarnation still runs: neither gone, nor
// replaced by a stranger with its pid, nor a zombie that waits to be reaped. A
// stopped process is alive.
func Alive(id Identity) bool {
	state, _, err := State(id)
	return err == nil && !dead(state)
}

// State returns the scheduler's state letter of the process (R, S, D, T, Z …)
// and the processor time that it has used so far in clock ticks, user and
// system together. The error wraps os.ErrProcessDone when this incarnation is
// gone.
func State(id Identity) (state byte, cpuTicks uint64, err error) {
	st, err := readStat(id.PID)
	if err != nil {
		return 0, 0, err
	}
	if st.start != id.Start {
		return 0, 0, fmt.Errorf("process %s: pid now belongs to a process started at tick %d: %w", id, st.start, os.ErrProcessDone)
	}
	return st.state, st.cpu, nil
}

// Parent returns the pid of the parent of this very incarnation: 1, or that of a
// subreaper, when the parent it was born to is gone.
func Parent(id Identity) (int, error) {
	st, err := readStat(id.PID)
	if err != nil {
		return 0, err
	}
	if st.start != id.Start {
		return 0, fmt.Errorf("process %s: pid now belongs to a process started at tick %d: %w", id, st.start, os.ErrProcessDone)
	}
	return int(st.parent), nil
}

// Signal sends sig to this very incarnation and to no other process, also when
// its pid is given away meanwhile. The error wraps os.ErrProcessDone when it has
// ended.
func Signal(id Identity, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch {
	case errors.Is(err, unix.ENOSYS):
		// Kernels before 5.3 leave a gap of microseconds between check and kill.
		if !Alive(id) {
			return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
		}
		return signalError(id, sig, unix.Kill(id.PID, sig))
	case err != nil:
		return signalError(id, sig, err)
	}
	defer unix.Close(fd)
	// The descriptor pins the process, so a check made now holds for the signal.
	if !Alive(id) {
		return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	return signalError(id, sig, unix.PidfdSendSignal(fd, sig, nil, 0))
}

func signalError(id Identity, sig syscall.Signal, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	default:
		return fmt.Errorf("process %s: signal %q: %w", id, sig, err)
	}
}

func dead(state byte) bool { return state == 'Z' || state == 'X' || state == 'x' }

// stat is the part of /proc/PID/stat that we use.
type stat struct {
	state  byte
	parent uint64 // field 4
	cpu    uint64 // fields 14 and 15
	start  uint64 // field 22
}

func readStat(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, fmt.Errorf("process %d: a pid is greater than 0", pid)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return stat{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	st, err := parseStat(string(b))
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return st, nil
}

// parseStat reads one line of /proc/PID/stat. The command name in field 2 may
// itself hold blanks and brackets, so fields count from the last bracket.
func parseStat(line string) (stat, error) {
	_, rest, ok := cutLast(line, ")")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("stat line %q: expected at least 22 fields", line)
	}
	var n [4]uint64
	for i, at := range [...]int{1, 11, 12, 19} {
		v, err := strconv.ParseUint(f[at], 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("stat field %d %q: expected a whole number", at+3, f[at])
		}
		n[i] = v
	}
	return stat{state: f[0][0], parent: n[0], cpu: n[1] + n[2], start: n[3]}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
