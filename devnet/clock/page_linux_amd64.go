package clock

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// realtime is the mask of the clocks that are off: CLOCK_REALTIME and its coarse
// variant.
const realtime = 1<<unix.CLOCK_REALTIME | 1<<unix.CLOCK_REALTIME_COARSE

const (
	second   = 1_000_000_000
	rateUnit = 1 << 32
)

// slot is one state of a skew, as the data page has it.
type slot struct {
	mask    uint64
	seconds int64 // the offset, rounded down
	nanos   int64 // the rest, below a second
	rate    int64 // in 2^-32
	t0      int64 // ns of the true time
	expiry  int64
}

// at is the offset at a true time: what the hook computes.
func (s slot) at(t int64) int64 {
	return s.seconds*second + s.nanos + mulShift(t-s.t0, s.rate)
}

// mulShift is a*b / 2^32, rounded down, with all 128 bits between.
func mulShift(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if a < 0 {
		hi -= uint64(b)
	}
	if b < 0 {
		hi -= uint64(a)
	}
	return int64(hi<<32 | lo>>32)
}

// trueTime is the kernel's CLOCK_REALTIME, by system call: our own vDSO does not
// matter.
func trueTime() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return 0, fmt.Errorf("clock_gettime: %w", err)
	}
	return ts.Nano(), nil
}

// format makes a data page that skews nothing. Its first number is no constant, so
// that a reader that was stopped while it read an older page sees the change.
func format(page []byte, owner devnet.Identity) error {
	now, err := trueTime()
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(page[ownerAt:], uint64(owner.PID))
	binary.LittleEndian.PutUint64(page[ownerAt+8:], owner.Start)
	atomic.StoreUint32(sequence(page), uint32(now>>10))
	return nil
}

func sequence(page []byte) *uint32 { return (*uint32)(unsafe.Pointer(&page[0])) }

// publish makes a slot the valid one.
func publish(page []byte, s slot) {
	next := atomic.LoadUint32(sequence(page)) + 1
	at := slotsAt + int(next&1)*slotSize
	for i, v := range s.words() {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&page[at+8*i])), v)
	}
	atomic.StoreUint32(sequence(page), next)
}

func (s slot) words() [6]uint64 {
	return [...]uint64{s.mask, uint64(s.seconds), uint64(s.nanos), uint64(s.rate), uint64(s.t0), uint64(s.expiry)}
}

// decode reads a copy of a data page.
func decode(page []byte) (devnet.Identity, slot) {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(page[at:]) }
	at := slotsAt + int(binary.LittleEndian.Uint32(page)&1)*slotSize
	return devnet.Identity{PID: int(u64(ownerAt)), Start: u64(ownerAt + 8)},
		slot{u64(at), int64(u64(at + 8)), int64(u64(at + 16)), int64(u64(at + 24)), int64(u64(at + 32)), int64(u64(at + 40))}
}
