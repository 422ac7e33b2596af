package nemesis

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	hostTries  = 1000
	hostWithin = 5 * time.Microsecond
)

// hostClock is this machine's real-time clock less its monotonic one, by system
// call: it moves only when somebody moves the clock. Of several tries it is the one
// in which this thread was least interrupted.
func hostClock() (time.Duration, error) {
	var best, took time.Duration
	for try := range hostTries {
		before, err := hostTime(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0, err
		}
		real, err := hostTime(unix.CLOCK_REALTIME)
		if err != nil {
			return 0, err
		}
		after, err := hostTime(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0, err
		}
		if try == 0 || after-before < took {
			took, best = after-before, real-before-(after-before)/2
		}
		if took < hostWithin {
			break
		}
	}
	return best, nil
}

func hostTime(clock int32) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("clock_gettime: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}
