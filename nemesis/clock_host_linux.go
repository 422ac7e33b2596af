package nemesis

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// hostClock is this machine's real-time clock less its monotonic one, by system
// call: it moves only when somebody moves the clock.
func hostClock() (time.Duration, error) {
	var mono, real, after unix.Timespec
	for _, c := range []struct {
		id int32
		at *unix.Timespec
	}{{unix.CLOCK_MONOTONIC, &mono}, {unix.CLOCK_REALTIME, &real}, {unix.CLOCK_MONOTONIC, &after}} {
		if err := unix.ClockGettime(c.id, c.at); err != nil {
			return 0, fmt.Errorf("clock_gettime: %w", err)
		}
	}
	return time.Duration(real.Nano() - mono.Nano() - (after.Nano()-mono.Nano())/2), nil
}
