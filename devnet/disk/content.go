package disk

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	pageSize   = 4 << 10
	sectorSize = 512
	sectors    = pageSize / sectorSize // of a page; one bit each in page.dirty
)

// page is a page of a file that is not, or not all, on the disk. Its data is what
// a reader sees, whole.
type page struct {
	data  [pageSize]byte
	dirty uint8 // sectors that differ from the disk, by bit
}

// content is what a file holds: the backing file, and over it the pages that
// were written since. There is one for each backing inode that is open or dirty;
// while there is, its descriptor keeps the inode number from being used again.
type content struct {
	ino    uint64
	canary bool

	mu    sync.RWMutex
	file  *os.File // the backing file
	write bool     // file is open for writing
	size  int64    // as a reader sees it
	disk  int64    // size of the backing file
	pages map[int64]*page
	since time.Time // when the oldest page became dirty
	mtime time.Time // of the last write that is not on the disk
	dead  bool      // the disk has crashed

	// Guarded by the session's lock.
	refs int
	gone bool // has no name any more
}

// openContent opens the backing file for what it will be needed for: a page that
// is written in part is read first, and a reader may be followed by a writer.
func openContent(path string, needWrite bool) (*content, error) {
	c := &content{pages: map[int64]*page{}}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	c.write = err == nil
	if err != nil && !needWrite {
		f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, err
	}
	return c, c.attach(f)
}

// attach gives the content its backing file, which it closes on error.
func (c *content) attach(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	c.file, c.size, c.disk = f, info.Size(), info.Size()
	return nil
}

func (c *content) dirtyBytes() int64 { return int64(len(c.pages)) * pageSize }

// read fills buf from off and returns how much of it there is.
func (c *content) read(buf []byte, off int64) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dead {
		return 0, syscall.EIO
	}
	if off >= c.size {
		return 0, nil
	}
	buf = buf[:min(int64(len(buf)), c.size-off)]
	if err := c.readDisk(buf, off); err != nil {
		return 0, err
	}
	if len(c.pages) == 0 {
		return len(buf), nil
	}
	end := off + int64(len(buf))
	for at := off / pageSize; at*pageSize < end; at++ {
		if p := c.pages[at]; p != nil {
			from, to := max(at*pageSize, off), min((at+1)*pageSize, end)
			copy(buf[from-off:to-off], p.data[from-at*pageSize:])
		}
	}
	return len(buf), nil
}

// readDisk fills buf from the backing file, with zeros past its end.
func (c *content) readDisk(buf []byte, off int64) error {
	n := 0
	if off < c.disk {
		var err error
		if n, err = c.file.ReadAt(buf[:min(int64(len(buf)), c.disk-off)], off); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	clear(buf[n:])
	return nil
}

// writeAt puts data over the disk. It returns by how much the dirty pages grew.
func (c *content) writeAt(data []byte, off int64) (grew int64, err error) {
	if c.dead {
		return 0, syscall.EIO
	}
	if !c.write {
		return 0, syscall.EBADF
	}
	was := c.dirtyBytes()
	if was == 0 {
		c.since = time.Now()
	}
	for rest := data; len(rest) > 0; {
		at, in := off/pageSize, int(off%pageSize)
		n := min(len(rest), pageSize-in)
		p := c.pages[at]
		if p == nil {
			p = new(page)
			if n < pageSize {
				if err := c.readDisk(p.data[:], at*pageSize); err != nil {
					return c.dirtyBytes() - was, err
				}
			}
			c.pages[at] = p
		}
		copy(p.data[in:], rest[:n])
		for s := in / sectorSize; s <= (in+n-1)/sectorSize; s++ {
			p.dirty |= 1 << s
		}
		off += int64(n)
		rest = rest[n:]
		c.size = max(c.size, off)
	}
	c.mtime = time.Now()
	return c.dirtyBytes() - was, nil
}

// flush writes the dirty pages to the backing file and returns how many bytes of
// pages are dirty no more.
func (c *content) flush() (freed int64, err error) {
	if c.dead {
		return 0, syscall.EIO
	}
	if len(c.pages) == 0 {
		return 0, nil
	}
	var run []byte
	var from int64
	write := func() error {
		if len(run) == 0 {
			return nil
		}
		if _, err := c.file.WriteAt(run, from); err != nil {
			return err
		}
		c.disk = max(c.disk, from+int64(len(run)))
		run = run[:0]
		return nil
	}
	const longest = 1 << 20
	for _, at := range slices.Sorted(maps.Keys(c.pages)) {
		begin := at * pageSize
		if len(run) > 0 && (from+int64(len(run)) != begin || len(run) >= longest) {
			if err := write(); err != nil {
				return 0, err
			}
		}
		if len(run) == 0 {
			from = begin
		}
		run = append(run, c.pages[at].data[:max(0, min(pageSize, c.size-begin))]...)
	}
	if err := write(); err != nil {
		return 0, err
	}
	if c.disk < c.size { // the end of a torn write
		if err := c.file.Truncate(c.size); err != nil {
			return 0, err
		}
		c.disk = c.size
	}
	freed = c.dirtyBytes()
	clear(c.pages)
	return freed, nil
}

// truncate sets the size, on the disk too, and returns how many bytes of pages
// are dirty no more.
func (c *content) truncate(size int64) (freed int64, err error) {
	if c.dead {
		return 0, syscall.EIO
	}
	if !c.write {
		return 0, syscall.EACCES
	}
	if size != c.disk {
		if err := c.file.Truncate(size); err != nil {
			return 0, err
		}
		c.disk = size
	}
	was := c.dirtyBytes()
	for at, p := range c.pages {
		switch begin := at * pageSize; {
		case begin >= size:
			delete(c.pages, at)
		case begin+pageSize > size:
			clear(p.data[size-begin:])
			for s := (size - begin + sectorSize - 1) / sectorSize; s < sectors; s++ {
				p.dirty &^= 1 << s
			}
		}
	}
	c.size = size
	return was - c.dirtyBytes(), nil
}

// crash ends the content: each dirty sector reaches the disk if keep says so.
func (c *content) crash(keep func(pg int64, sector int) bool) (Lost, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	var lost Lost
	for _, at := range slices.Sorted(maps.Keys(c.pages)) {
		p := c.pages[at]
		whole := true
		for s := range sectors {
			begin := at*pageSize + int64(s)*sectorSize
			end := min(begin+sectorSize, c.size)
			if p.dirty&(1<<s) == 0 || begin >= end {
				continue
			}
			wrote := p.data[begin-at*pageSize : end-at*pageSize]
			if keep(at, s) {
				if _, err := c.file.WriteAt(wrote, begin); err != nil {
					return lost, err
				}
				c.disk = max(c.disk, end)
				lost.Kept++
				continue
			}
			n, err := c.differs(wrote, begin)
			if err != nil {
				return lost, err
			}
			if n > 0 {
				lost.Bytes += n
				whole = false
			}
		}
		if !whole {
			lost.Pages++
		}
	}
	if lost.Pages > 0 {
		lost.Files = 1
	}
	clear(c.pages)
	return lost, nil
}

// differs counts the bytes that the disk does not hold as they were written.
func (c *content) differs(wrote []byte, off int64) (int64, error) {
	var have [sectorSize]byte
	if err := c.readDisk(have[:len(wrote)], off); err != nil {
		return 0, err
	}
	past := max(0, off+int64(len(wrote))-max(c.disk, off))
	on := int64(len(wrote)) - past
	if bytes.Equal(wrote[:on], have[:on]) {
		return past, nil
	}
	n := past
	for i := range on {
		if wrote[i] != have[i] {
			n++
		}
	}
	return n, nil
}
