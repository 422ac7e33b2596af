package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// memoryPeriod is how often the memory in use is looked at: what can be
// allocated in that time is how far a limit may be overshot.
const memoryPeriod = 5 * time.Millisecond

// limitMemory returns a context that ends when the process uses more than limit
// bytes, and first makes the garbage collector work harder to stay below. stop
// undoes both. It bounds what a search may take, not what reading may: that is
// bounded by itself.
// A limit of 0 is none.
func limitMemory(ctx context.Context, limit int64) (limited context.Context, stop func()) {
	if limit == 0 {
		return ctx, func() {}
	}
	limited, cancel := context.WithCancelCause(ctx)
	before := debug.SetMemoryLimit(limit)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(memoryPeriod)
		defer tick.Stop()
		for {
			select {
			case <-limited.Done():
				return
			case <-tick.C:
			}
			if used() > uint64(limit) {
				cancel(fmt.Errorf("memory limit of %d MiB reached", limit>>20))
				return
			}
		}
	}()
	return limited, func() {
		cancel(nil)
		<-done
		debug.SetMemoryLimit(before)
	}
}

// used is the memory that Go has from the system and has not given back.
func used() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
