//go:build unix

package chain_test

import "syscall"

// cpuSeconds is the processor time of this process: on a busy machine the clock on
// the wall tells of others.
func cpuSeconds() float64 {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(use.Utime) + seconds(use.Stime)
}
