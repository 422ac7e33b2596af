package disk

import (
	"context"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// handle is an open file. It offers no descriptor to the kernel, which would go
// past the faults (FUSE passthrough).
type handle struct {
	node    *node
	content *content
}

var _ interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFlusher
	fs.FileReleaser
	fs.FileGetattrer
	fs.FileAllocater
} = (*handle)(nil)

func (h *handle) session() *session { return h.node.session }
func (h *handle) counts() *counters { return &h.node.session.disk.counts }

func (h *handle) enter(kind op) (*active, syscall.Errno) {
	return h.session().enter(kind, h.content.canary, h.node.rel)
}

func (h *handle) Read(ctx context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if !h.content.canary {
		h.counts().reads.Add(1)
	}
	a, e := h.enter(opRead)
	if e != fs.OK {
		return nil, e
	}
	n, err := h.content.read(buf, off)
	if err != nil {
		return nil, errno(err)
	}
	if a != nil && n > 0 {
		if hit, draw := a.hit(opFlip, a.Flip); hit {
			bit := draw % uint64(8*n)
			buf[bit/8] ^= 1 << (bit % 8)
			if !h.content.canary {
				h.counts().flipped.Add(1)
			}
		}
	}
	return fuse.ReadResultData(buf[:n]), fs.OK
}

func (h *handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if !h.content.canary {
		h.counts().writes.Add(1)
	}
	a, e := h.enter(opWrite)
	if e != fs.OK {
		return 0, e
	}
	whole := len(data)
	data = h.tear(a, data, off)
	s, c := h.session(), h.content
	c.mu.Lock()
	growth := off + int64(whole) - c.size
	// A disk is full for all files, whatever the fault's path.
	full := s.disk.fault.Load()
	if full != nil && !full.take(growth) {
		c.mu.Unlock()
		if !c.canary {
			h.counts().full.Add(1)
		}
		return 0, syscall.ENOSPC
	}
	grew, err := c.writeAt(data, off)
	if err == nil && off+int64(whole) > c.size {
		c.size = off + int64(whole) // torn: the rest reads as zeros
	}
	c.mu.Unlock()
	if total := s.dirty.Add(grew); total > s.disk.opts.MaxDirty {
		s.spill(c)
	}
	if err != nil {
		full.give(growth)
		return 0, errno(err)
	}
	return uint32(whole), fs.OK
}

// tear returns what arrives of a write: all of it, or its first sectors.
func (h *handle) tear(a *active, data []byte, off int64) []byte {
	if a == nil || a.Torn == 0 {
		return data
	}
	first := sectorSize - int(off%sectorSize) // length up to the first border
	borders := (len(data) - first + sectorSize - 1) / sectorSize
	if borders < 1 {
		return data
	}
	hit, draw := a.hit(opTorn, a.Torn)
	if !hit {
		return data
	}
	cut := first + sectorSize*int(draw%uint64(borders))
	if !h.content.canary {
		h.counts().torn.Add(1)
		h.counts().tornBytes.Add(int64(len(data) - cut))
	}
	return data[:cut]
}

func (h *handle) fsync() syscall.Errno {
	if !h.content.canary {
		h.counts().fsyncs.Add(1)
	}
	a, e := h.enter(opFsync)
	if e != fs.OK {
		return e
	}
	if a != nil && a.ReadOnly {
		h.content.mu.RLock()
		dirty := len(h.content.pages) > 0
		h.content.mu.RUnlock()
		if dirty {
			return syscall.EROFS
		}
	}
	_, err := h.session().flush(h.content)
	return errno(err)
}

// Flush is close(2), which promises nothing.
func (h *handle) Flush(context.Context) syscall.Errno { return fs.OK }

func (h *handle) Release(context.Context) syscall.Errno {
	h.session().release(h.content)
	return fs.OK
}

func (h *handle) Getattr(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	if h.session().isDead() {
		return syscall.EIO
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(h.content.file.Fd()), &st); err != nil {
		return errno(err)
	}
	out.FromStat(&st)
	h.session().overlay(h.content.ino, &out.Attr)
	return fs.OK
}

// setattr changes all but the size, by the descriptor: the file may have no name.
func (h *handle) setattr(ctx context.Context, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	fd := int(h.content.file.Fd())
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Fchmod(fd, mode); err != nil {
			return errno(err)
		}
	}
	uid, isUID := in.GetUID()
	gid, isGID := in.GetGID()
	if isUID || isGID {
		u, g := -1, -1
		if isUID {
			u = int(uid)
		}
		if isGID {
			g = int(gid)
		}
		if err := syscall.Fchown(fd, u, g); err != nil {
			return errno(err)
		}
	}
	mtime, isM := in.GetMTime()
	atime, isA := in.GetATime()
	if isM || isA {
		ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
		if isA {
			ts[0] = unix.NsecToTimespec(atime.UnixNano())
		}
		if isM {
			ts[1] = unix.NsecToTimespec(mtime.UnixNano())
			h.content.mu.Lock()
			h.content.mtime = mtime
			h.content.mu.Unlock()
		}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), ts, 0); err != nil {
			return errno(err)
		}
	}
	return h.Getattr(ctx, out)
}

func (h *handle) truncate(size int64) syscall.Errno {
	s, c := h.session(), h.content
	c.mu.Lock()
	defer c.mu.Unlock()
	growth := size - c.size
	a := s.disk.fault.Load()
	if a != nil && !a.take(growth) {
		if !c.canary {
			h.counts().full.Add(1)
		}
		return syscall.ENOSPC
	}
	freed, err := c.truncate(size)
	s.dirty.Add(-freed)
	if err != nil {
		a.give(growth)
		return errno(err)
	}
	a.give(-growth)
	return fs.OK
}

// Allocate reserves space. What is reserved past the end is not counted against
// a quota; it only has to fit.
func (h *handle) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if mode&^unix.FALLOC_FL_KEEP_SIZE != 0 {
		return syscall.EOPNOTSUPP
	}
	if e := h.session().alive(); e != fs.OK {
		return e
	}
	end := int64(off + size)
	c := h.content
	c.mu.RLock()
	growth := end - c.size
	c.mu.RUnlock()
	if a := h.session().disk.fault.Load(); a != nil && a.Full && growth > a.left.Load() {
		if !c.canary {
			h.counts().full.Add(1)
		}
		return syscall.ENOSPC
	}
	if mode == 0 && growth > 0 {
		return h.truncate(end)
	}
	return fs.OK
}
