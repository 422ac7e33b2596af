// Package disk puts a node's data directory on a disk that can be made faulty:
// a FUSE file system, served by this process, in front of an ordinary directory.
// It is mounted before the node starts and costs nothing but time while no
// fault is set.
//
// Guarantees: what a process wrote and did not fsync is in the memory of this
// process only, so that Crash really loses it; what was fsynced is in the backing
// directory and survives Crash. Shared memory maps, reads and writes of one file
// agree. Every random choice is a hash of the seed and the number of the
// operation: the same operations in the same order get the same faults. After
// Close and Crash the mount is gone, which is looked up, not assumed.
//
// Bounds: names are durable at once (create, rename, unlink, truncate); only
// contents are lost. Un-fsynced contents are written back after Options.Writeback
// and when Options.MaxDirty is exceeded, as a kernel does; they use as much memory
// as they are large. The backing directory is not fsynced: this is about the
// disk that the node sees, not about the machine's. Extended attributes, holes
// that are punched and O_TMPFILE are refused. Locks are the kernel's and end with
// their holder. Measured cost of an operation: about 50 µs, see the benchmarks.
//
// The mount belongs to this process. When it ends without Close, the mount stays
// and answers ENOTCONN to everybody; Leftovers finds it and Detach removes it.
// This process must have no file open on its own disk when it dies, or it never
// does, see apart; use a Canary, the backing directory after Flush or Close, or
// another process.
//
// It is not for data worth keeping, and needs root, or a user and mount namespace
// of its own, and /dev/fuse: Probe says which is missing. Source of the idea of
// lost writes: LazyFS, https://github.com/dsrhaslab/lazyfs.
package disk

import (
	"errors"
	"fmt"
	"time"
)

// Options describe a disk. Dir and Mount are required.
type Options struct {
	Dir   string // backing directory; made if it is not there
	Mount string // mount point, an empty directory; made if it is not there
	Seed  uint64 // of every random choice
	Name  string // tells disks apart in mountinfo: the node's name
	// Writeback is the age at which contents that nobody fsynced are written back
	// anyway; 0 is 30 s, as in Linux.
	Writeback time.Duration
	// MaxDirty bounds the bytes that are not written back, of all files together;
	// 0 is 64 MiB.
	MaxDirty int64
}

const (
	defaultWriteback = 30 * time.Second
	defaultMaxDirty  = 64 << 20
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Dir == "":
		return o, errors.New("disk: backing directory: empty, expected a path")
	case o.Mount == "":
		return o, errors.New("disk: mount point: empty, expected a path")
	case o.Writeback < 0 || o.MaxDirty < 0:
		return o, fmt.Errorf("disk: write back after %v or %d bytes: expected more than 0, or 0 for the default", o.Writeback, o.MaxDirty)
	}
	if o.Writeback == 0 {
		o.Writeback = defaultWriteback
	}
	if o.MaxDirty == 0 {
		o.MaxDirty = defaultMaxDirty
	}
	return o, nil
}

// Lost is what a Crash took: contents that were written and never fsynced.
type Lost struct {
	Files int   // that lost something
	Pages int   // of 4 KiB, that lost something
	Bytes int64 // that differ from what was written, those past the end included
	// Kept is the number of dirty sectors of 512 bytes that made it by chance.
	Kept int64
}

// ErrDead is returned for a disk that has crashed and was not mounted again, or
// was closed.
var ErrDead = errors.New("disk: not mounted: crashed or closed")
