package disk

import (
	"sync/atomic"
	"time"
)

// Counters count since the disk was made; canaries are left out. They say what
// a fault did to those who use the disk.
type Counters struct {
	Reads, Writes, Fsyncs int64 // that arrived; what the page cache answers does not

	FailedReads, FailedWrites, FailedFsyncs int64 // with EIO
	Full                                    int64 // refused with ENOSPC
	ReadOnly                                int64 // refused with EROFS

	Delayed     int64
	DelayedTime time.Duration // measured, of all delayed together

	Flipped   int64 // bits, each in a read of its own
	Torn      int64 // writes
	TornBytes int64 // that did not arrive

	Crashes    int64
	LostBytes  int64 // by crashes
	Writebacks int64 // bytes written back that nobody had fsynced
}

// Sub returns what was counted since an earlier look.
func (c Counters) Sub(was Counters) Counters {
	c.Reads -= was.Reads
	c.Writes -= was.Writes
	c.Fsyncs -= was.Fsyncs
	c.FailedReads -= was.FailedReads
	c.FailedWrites -= was.FailedWrites
	c.FailedFsyncs -= was.FailedFsyncs
	c.Full -= was.Full
	c.ReadOnly -= was.ReadOnly
	c.Delayed -= was.Delayed
	c.DelayedTime -= was.DelayedTime
	c.Flipped -= was.Flipped
	c.Torn -= was.Torn
	c.TornBytes -= was.TornBytes
	c.Crashes -= was.Crashes
	c.LostBytes -= was.LostBytes
	c.Writebacks -= was.Writebacks
	return c
}

// Bites is the number of operations that a fault did something to.
func (c Counters) Bites() int64 {
	return c.FailedReads + c.FailedWrites + c.FailedFsyncs + c.Full + c.ReadOnly + c.Delayed + c.Flipped + c.Torn
}

// counters are Counters as they are counted.
type counters struct {
	reads, writes, fsyncs                   atomic.Int64
	failedReads, failedWrites, failedFsyncs atomic.Int64
	full, readOnly                          atomic.Int64
	delayed, delayedTime                    atomic.Int64
	flipped, torn, tornBytes                atomic.Int64
	crashes, lostBytes, writebacks          atomic.Int64
}

func (c *counters) read() Counters {
	return Counters{
		Reads: c.reads.Load(), Writes: c.writes.Load(), Fsyncs: c.fsyncs.Load(),
		FailedReads: c.failedReads.Load(), FailedWrites: c.failedWrites.Load(), FailedFsyncs: c.failedFsyncs.Load(),
		Full: c.full.Load(), ReadOnly: c.readOnly.Load(),
		Delayed: c.delayed.Load(), DelayedTime: time.Duration(c.delayedTime.Load()),
		Flipped: c.flipped.Load(), Torn: c.torn.Load(), TornBytes: c.tornBytes.Load(),
		Crashes: c.crashes.Load(), LostBytes: c.lostBytes.Load(), Writebacks: c.writebacks.Load(),
	}
}
