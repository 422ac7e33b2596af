package judge

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU is the time that all cores spent on this process, in user mode and in
// the system.
func processCPU() time.Duration { return cpu(unix.CLOCK_PROCESS_CPUTIME_ID) }

// threadCPU is that of the calling thread. The caller has locked itself to it.
func threadCPU() time.Duration { return cpu(unix.CLOCK_THREAD_CPUTIME_ID) }

// cpu reads a clock: getrusage(2) would only see what a tick of the kernel has seen.
func cpu(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// peakMemory is the largest resident set that the process had since it started,
// in bytes. It is not that of getrusage, which begins with that of the parent.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	kilobytes, _, _ := bytes.Cut(after, []byte(" kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(kilobytes)), 10, 64)
	return n << 10
}
