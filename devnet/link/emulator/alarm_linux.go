package emulator

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes the thread of the queue. It is a timer of the kernel that the thread
// itself waits on: Go's own would round to a millisecond.
type alarm struct{ fd int }

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &alarm{fd}, nil
}

// set makes the alarm go off once, after d; it replaces what was set before.
func (a *alarm) set(d time.Duration) {
	// It cannot fail with arguments that are right.
	_ = unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}, nil)
}

// wait returns when the alarm has gone off.
func (a *alarm) wait() {
	var b [8]byte
	for {
		if _, err := unix.Read(a.fd, b[:]); err != unix.EINTR {
			return
		}
	}
}

func (a *alarm) release() { unix.Close(a.fd) }

// preferThread puts the calling thread before others, where this process may: a
// busy machine would keep it waiting for the core by some milliseconds.
func preferThread() {
	const priority = 10
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: priority,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0)
}
