package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Canary is a file of our own on the disk, without a name, by which to see what
// a process sees there: it goes the whole way through the kernel, past its page
// cache. Every fault matches it, whatever its Path, and the Counters leave it
// out. It is for one goroutine; close it.
type Canary struct {
	apart *apart
	fd    int // in the table of apart
}

const canaryPrefix = ".jepgo-canary-"

// canaryBlock is what a canary writes and expects to read.
func canaryBlock() []byte { return bytes.Repeat([]byte("\x5a\xa5\x00\xff"), pageSize/4) }

// NewCanary makes a canary of one block that is durable. Make it before the
// fault is set: a disk that refuses writes refuses canaries.
func (d *Disk) NewCanary() (*Canary, error) {
	if !d.Mounted() {
		return nil, ErrDead
	}
	c := &Canary{fd: -1}
	var err error
	if c.apart, err = newApart(); err != nil {
		return nil, err
	}
	name := filepath.Join(d.opts.Mount, fmt.Sprintf("%s%d-%d", canaryPrefix, os.Getpid(), time.Now().UnixNano()))
	c.apart.do(func() {
		c.fd, err = unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_DIRECT, 0o600)
		if err == nil {
			err = unix.Unlink(name)
		}
	})
	if err == nil {
		_, err = c.Write(0)
	}
	if err == nil {
		_, err = c.Sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("disk %q: canary: %w", d.opts.Name, err), c.Close())
	}
	return c, nil
}

// time runs a system call and returns how long it took.
func (c *Canary) time(call func() error) (took time.Duration, err error) {
	c.apart.do(func() {
		began := time.Now()
		err = call()
		took = time.Since(began)
	})
	return took, err
}

// Write writes one block of 4 KiB, the n-th, and returns how long it took.
func (c *Canary) Write(n int64) (time.Duration, error) {
	return c.time(func() error {
		_, err := unix.Pwrite(c.fd, canaryBlock(), n*pageSize)
		return err
	})
}

// Read reads the first block and returns how long it took and how many bits were
// not as they were written.
func (c *Canary) Read() (time.Duration, int, error) {
	buf := make([]byte, pageSize)
	n := 0
	took, err := c.time(func() (err error) {
		n, err = unix.Pread(c.fd, buf, 0)
		return err
	})
	if err != nil {
		return took, 0, err
	}
	if n != pageSize {
		return took, 0, fmt.Errorf("canary: read %d bytes, expected %d", n, pageSize)
	}
	flipped := 0
	for i, b := range canaryBlock() {
		flipped += bits.OnesCount8(b ^ buf[i])
	}
	return took, flipped, nil
}

// Rewrite blanks the first block and writes it anew, and reports whether all of
// it arrived.
func (c *Canary) Rewrite() (whole bool, err error) {
	buf := make([]byte, pageSize)
	_, err = c.time(func() error {
		if err := unix.Ftruncate(c.fd, 0); err != nil {
			return err
		}
		if _, err := unix.Pwrite(c.fd, canaryBlock(), 0); err != nil {
			return err
		}
		_, err := unix.Pread(c.fd, buf, 0)
		return err
	})
	return bytes.Equal(buf, canaryBlock()), err
}

// Sync makes the blocks durable and returns how long it took.
func (c *Canary) Sync() (time.Duration, error) {
	return c.time(func() error { return unix.Fsync(c.fd) })
}

// Close ends the canary; nothing of it stays. It is idempotent.
func (c *Canary) Close() (err error) {
	if c.apart == nil {
		return nil
	}
	c.apart.do(func() {
		if c.fd >= 0 {
			err = unix.Close(c.fd)
		}
	})
	c.apart.close()
	c.apart = nil
	return err
}
