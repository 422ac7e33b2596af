package judge

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// Memory in use is looked at again when it may have reached the limit: what can
// be allocated in memoryPeriod is how far that may be overshot, and nobody
// allocates more than fastest bytes a second.
const (
	memoryPeriod = 5 * time.Millisecond
	fastest      = 16 << 30
)

// limitMemory returns a context that ends when the process uses more than limit
// bytes, and makes the garbage collector work harder to stay below as soon as that
// may happen. stop undoes both. It bounds what a search may take, not what reading may: that is
// bounded by itself.
// A limit of 0 is none.
func limitMemory(ctx context.Context, limit int64) (limited context.Context, stop func()) {
	if limit == 0 {
		return ctx, func() {}
	}
	limited, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTimer(untilFull(limit))
		defer look.Stop()
		for first := true; ; first = false {
			select {
			case <-limited.Done():
				return
			case <-look.C:
			}
			if first {
				before := debug.SetMemoryLimit(limit)
				defer debug.SetMemoryLimit(before)
			}
			left := limit - used()
			if left < 0 {
				cancel(fmt.Errorf("memory limit of %d MiB reached", limit>>20))
				return
			}
			look.Reset(untilFull(left))
		}
	}()
	return limited, func() {
		cancel(nil)
		<-done
	}
}

// untilFull is how long nobody can have used as many bytes as are left.
func untilFull(left int64) time.Duration {
	return max(memoryPeriod, time.Duration(float64(left)/fastest*float64(time.Second)))
}

// used is the memory that Go has from the system and has not given back. Package
// runtime/metrics would tell without stopping the program for a moment, but takes
// longer to be initialised than a short history to be read.
func used() int64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.Sys - now.HeapReleased)
}
