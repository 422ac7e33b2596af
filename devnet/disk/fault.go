package disk

import (
	"fmt"
	"path"
	"sync/atomic"
	"time"
)

// Fault is what is wrong with a disk. The zero value is a sound disk. A share is
// the part of the operations that it happens to, from 0 to 1.
type Fault struct {
	// Path limits the fault to files whose name, or whose path from the mount
	// point, matches this pattern of path.Match; "" is every file. Canaries match
	// always.
	Path string

	// Read, Write and Fsync are the shares that fail with EIO. A write that fails
	// changes nothing; an fsync that fails makes nothing durable, and the contents
	// stay for the next.
	Read, Write, Fsync float64

	// Full makes the disk full once files have grown by Quota bytes, together, from
	// now on: ENOSPC. Files that shrink or go give bytes back. Path does not matter.
	Full  bool
	Quota int64

	// Latency is waited before a read, a write or an fsync; Share is the share that
	// waits, 0 for all.
	Latency time.Duration
	Share   float64

	// ReadOnly refuses every change with EROFS, through open files too, as ext4
	// does after an error.
	ReadOnly bool

	// Flip is the share of reads that come back with one bit flipped; the disk
	// itself keeps the right one. Who writes back what he read, makes it last: a
	// shared memory map does so by the page.
	Flip float64

	// Torn is the share of writes that reach more than one sector of 512 bytes of
	// which only the first sectors arrive, although all is reported written. The
	// damage lasts.
	Torn float64
}

func (f Fault) check() error {
	for name, share := range map[string]float64{"read": f.Read, "write": f.Write, "fsync": f.Fsync, "latency": f.Share, "flip": f.Flip, "torn": f.Torn} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("disk: share of %s %v: expected 0 to 1", name, share)
		}
	}
	if f.Quota < 0 {
		return fmt.Errorf("disk: quota %d bytes: expected 0 or more", f.Quota)
	}
	if f.Latency < 0 || f.Latency > maxLatency {
		return fmt.Errorf("disk: latency %v: expected 0 to %v", f.Latency, maxLatency)
	}
	if _, err := path.Match(f.Path, "x"); err != nil {
		return fmt.Errorf("disk: path %q: expected a pattern such as *.log: %w", f.Path, err)
	}
	return nil
}

// maxLatency bounds how long a process that waits for the disk cannot even be
// killed.
const maxLatency = time.Minute

// matches reports whether the file of that path from the mount point is meant.
func (f Fault) matches(file string) bool {
	if f.Path == "" {
		return true
	}
	whole, _ := path.Match(f.Path, file)
	name, _ := path.Match(f.Path, path.Base(file))
	return whole || name
}

// op is a kind of operation; each kind has its own sequence of draws.
type op int

const (
	opRead op = iota
	opWrite
	opFsync
	opLatency
	opFlip
	opTorn
	opKinds
)

// active is a fault in force.
type active struct {
	Fault
	seed  uint64
	drawn [opKinds]atomic.Uint64
	left  atomic.Int64  // bytes until the disk is full
	over  chan struct{} // closed when it is in force no more
}

func newActive(f Fault, seed, epoch uint64) *active {
	a := &active{Fault: f, seed: mix(seed, epoch), over: make(chan struct{})}
	a.left.Store(f.Quota)
	return a
}

// hit draws whether the next operation of a kind is one of the share, and a
// number for what is to be chosen if so.
func (a *active) hit(kind op, share float64) (bool, uint64) {
	if share <= 0 {
		return false, 0
	}
	h := mix(a.seed, uint64(kind), a.drawn[kind].Add(1))
	return unit(h) < share, mix(h)
}

// take claims n bytes of growth; it reports whether there was room.
func (a *active) take(n int64) bool {
	if !a.Full || n <= 0 {
		return true
	}
	for {
		left := a.left.Load()
		if n > left {
			return false
		}
		if a.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

func (a *active) give(n int64) {
	if a != nil && a.Full && n > 0 {
		a.left.Add(n)
	}
}

// mix hashes numbers to one: the finaliser of SplitMix64 over each.
func mix(ns ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, n := range ns {
		h += n + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// unit maps a hash to [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
