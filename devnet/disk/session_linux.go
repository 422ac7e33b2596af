package disk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// session is one mount of a disk, from Mount to Close or Crash.
type session struct {
	disk   *Disk
	root   *node
	server *fuse.Server
	ended  chan struct{} // closed when the server has returned
	dead   chan struct{} // closed when the disk is dead: nothing changes any more
	stop   chan struct{} // ends the write-back
	idle   sync.WaitGroup

	mu       sync.Mutex
	contents map[uint64]*content // by inode number
	dirty    atomic.Int64        // bytes of dirty pages
}

// acquire returns the content of a file for one more user. backing is where it
// is if nobody has it open yet.
func (s *session) acquire(ino uint64, backing string, needWrite bool) (*content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contents[ino]
	if c == nil {
		var err error
		if c, err = openContent(backing, needWrite); err != nil {
			return nil, err
		}
		c.ino = ino
		s.contents[ino] = c
	}
	if needWrite && !c.write {
		return nil, syscall.EACCES
	}
	c.refs++
	return c, nil
}

// release is the end of one use. What is dirty stays until it is written back,
// unless nobody can ever see it again.
func (s *session) release(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.refs--
	s.drop(c)
}

// drop forgets a content that nobody uses and that is on the disk, or never
// will be.
func (s *session) drop(c *content) {
	if c.refs > 0 || s.contents[c.ino] != c {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pages) > 0 && !c.gone && !c.dead {
		return
	}
	if c.gone {
		s.disk.fault.Load().give(c.size)
	}
	s.dirty.Add(-c.dirtyBytes())
	clear(c.pages)
	delete(s.contents, c.ino)
	_ = c.file.Close() // nothing is buffered in it
}

// unlinked looks whether a file that just lost a name has any left.
func (s *session) unlinked(ino uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contents[ino]
	if c == nil {
		return
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(c.file.Fd()), &st); err == nil && st.Nlink == 0 {
		c.gone = true
		s.drop(c)
	}
}

// overlay corrects attributes of the backing file by what is not there yet.
func (s *session) overlay(ino uint64, attr *fuse.Attr) {
	s.mu.Lock()
	c := s.contents[ino]
	s.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	attr.Size = uint64(c.size)
	if len(c.pages) > 0 {
		attr.Mtime, attr.Mtimensec = uint64(c.mtime.Unix()), uint32(c.mtime.Nanosecond())
	}
}

// flush makes a file durable.
func (s *session) flush(c *content) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	freed, err := c.flush()
	s.dirty.Add(-freed)
	return freed, err
}

// used lists the contents there are.
func (s *session) used() []*content {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*content, 0, len(s.contents))
	for _, c := range s.contents {
		cs = append(cs, c)
	}
	return cs
}

// writeback writes back what is old until stop is closed.
func (s *session) writeback() {
	defer s.idle.Done()
	age := s.disk.opts.Writeback
	tick := time.NewTicker(max(age/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			for _, c := range s.used() {
				c.mu.RLock()
				old := len(c.pages) > 0 && now.Sub(c.since) >= age
				c.mu.RUnlock()
				if !old {
					continue
				}
				s.spill(c)
				s.mu.Lock()
				s.drop(c)
				s.mu.Unlock()
			}
		}
	}
}

// spill writes back a file that nobody asked to be durable. What fails stays
// dirty for the next time.
func (s *session) spill(c *content) {
	if freed, err := s.flush(c); err == nil {
		s.disk.counts.writebacks.Add(freed)
	}
}

// flushAll makes every file durable.
func (s *session) flushAll() error {
	if s.isDead() {
		return nil
	}
	var errs []error
	for _, c := range s.used() {
		if _, err := s.flush(c); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// crash ends every content and returns what was lost.
func (s *session) crash(torn float64, seed uint64) (Lost, error) {
	var all Lost
	var errs []error
	for _, c := range s.used() {
		if c.gone || c.canary {
			none := func(int64, int) bool { return false }
			if _, err := c.crash(none); err != nil {
				errs = append(errs, err)
			}
			continue
		}
		lost, err := c.crash(func(pg int64, sector int) bool {
			return unit(mix(seed, c.ino, uint64(pg), uint64(sector))) < torn
		})
		if err != nil {
			errs = append(errs, err)
		}
		all.Files += lost.Files
		all.Pages += lost.Pages
		all.Bytes += lost.Bytes
		all.Kept += lost.Kept
	}
	return all, errors.Join(errs...)
}

// end closes what the contents hold; the mount is gone by then.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ino, c := range s.contents {
		c.mu.Lock()
		c.dead = true
		_ = c.file.Close() // nothing is buffered in it
		c.mu.Unlock()
		delete(s.contents, ino)
	}
}

// isDead reports whether the disk has crashed.
func (s *session) isDead() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// alive is what changes of names ask before they happen.
func (s *session) alive() syscall.Errno {
	if s.isDead() {
		return syscall.EIO
	}
	if a := s.disk.fault.Load(); a != nil && a.ReadOnly {
		s.disk.counts.readOnly.Add(1)
		return syscall.EROFS
	}
	return fs.OK
}

// enter is what comes before every operation on contents: the fault that the
// file is under, nil for none, and the error that the operation is to fail with.
// file returns the file's path from the mount point.
func (s *session) enter(kind op, canary bool, file func() string) (*active, syscall.Errno) {
	if s.isDead() {
		return nil, syscall.EIO
	}
	a := s.disk.fault.Load()
	if a == nil || !canary && a.Path != "" && !a.matches(file()) {
		return nil, fs.OK
	}
	share := a.Share
	if share == 0 {
		share = 1
	}
	if a.Latency > 0 {
		if hit, _ := a.hit(opLatency, share); hit {
			began := time.Now()
			t := time.NewTimer(a.Latency)
			select {
			case <-t.C:
			case <-a.over:
				t.Stop()
				return nil, fs.OK
			case <-s.dead:
				t.Stop()
				return nil, syscall.EIO
			}
			if !canary {
				s.disk.counts.delayed.Add(1)
				s.disk.counts.delayedTime.Add(int64(time.Since(began)))
			}
		}
	}
	failing := [...]struct {
		share float64
		count *atomic.Int64
	}{
		opRead:  {a.Read, &s.disk.counts.failedReads},
		opWrite: {a.Write, &s.disk.counts.failedWrites},
		opFsync: {a.Fsync, &s.disk.counts.failedFsyncs},
	}[kind]
	if hit, _ := a.hit(kind, failing.share); hit {
		if !canary {
			failing.count.Add(1)
		}
		return a, syscall.EIO
	}
	if kind == opWrite && a.ReadOnly {
		if !canary {
			s.disk.counts.readOnly.Add(1)
		}
		return a, syscall.EROFS
	}
	return a, fs.OK
}

// invalidate drops what the kernel has cached of every file, so that the next
// read comes here. It must not be called with any lock held: the kernel writes
// dirty maps here first.
func (s *session) invalidate(ctx context.Context) {
	var walk func(n *fs.Inode)
	walk = func(n *fs.Inode) {
		for _, child := range n.Children() {
			if ctx.Err() != nil || s.isDead() {
				return
			}
			if child.IsDir() {
				walk(child)
			} else {
				_ = child.NotifyContent(0, 0) // ENOENT: the kernel does not have it
			}
		}
	}
	walk(&s.root.Inode)
}
