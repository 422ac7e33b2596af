package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// Disk is one disk. Its methods are safe for concurrent use.
type Disk struct {
	opts   Options
	source string // what mountinfo shows as the device: says whose it is
	fault  atomic.Pointer[active]
	epoch  atomic.Uint64 // of faults and crashes
	counts counters

	mu      sync.Mutex // one of Mount, Set, Crash, Remount, Close at a time
	session *session   // nil when it is not mounted
}

// fuseName is the type of our mounts after "fuse.".
const fuseName = "jepgo"

const (
	// unmountWait bounds the wait for the end of what uses a mount.
	unmountWait = 10 * time.Second
	// politeWait is for processes that were just killed to let go of their files.
	politeWait = time.Second
	look       = 10 * time.Millisecond
)

// Mount makes a disk and mounts it. The mount point must be empty, and not be
// mounted on. Cost: some milliseconds.
func Mount(o Options) (*Disk, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	for _, dir := range []*string{&o.Dir, &o.Mount} {
		if err := os.MkdirAll(*dir, 0o755); err != nil {
			return nil, fmt.Errorf("disk: %w", err)
		}
		if *dir, err = filepath.Abs(*dir); err == nil {
			*dir, err = filepath.EvalSymlinks(*dir)
		}
		if err != nil {
			return nil, fmt.Errorf("disk: %w", err)
		}
	}
	if inside(o.Dir, o.Mount) || inside(o.Mount, o.Dir) {
		return nil, fmt.Errorf("disk: backing directory %q and mount point %q: expected neither inside the other", o.Dir, o.Mount)
	}
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	d := &Disk{opts: o, source: sourceOf(self, o.Name)}
	if err := d.Remount(); err != nil {
		return nil, err
	}
	return d, nil
}

func inside(dir, of string) bool {
	rel, err := filepath.Rel(of, dir)
	return err == nil && filepath.IsLocal(rel)
}

// Dir returns the mount point, and Backing the backing directory, both as
// absolute paths without symbolic links.
func (d *Disk) Dir() string     { return d.opts.Mount }
func (d *Disk) Backing() string { return d.opts.Dir }

// Source is how mountinfo names the disk: enough to find its mount again, and
// its owner. See Detach.
func (d *Disk) Source() string { return d.source }

// Counters returns what was counted since the disk was made.
func (d *Disk) Counters() Counters { return d.counts.read() }

// Mounted reports whether the disk is mounted.
func (d *Disk) Mounted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session != nil
}

// InPlace says whether who opens a path below the disk's directory gets the disk: nil,
// or what is wrong, as after somebody else's umount.
func (d *Disk) InPlace() error {
	if !d.Mounted() {
		return fmt.Errorf("disk of %q: not mounted", d.Dir())
	}
	ms, err := mounts()
	if err == nil && !slices.ContainsFunc(ms, func(m mount) bool { return m.source == d.source }) {
		err = fmt.Errorf("disk of %q: somebody unmounted it", d.Dir())
	}
	return err
}

// Dirty returns how many bytes would be lost by a crash now, in whole pages.
func (d *Disk) Dirty() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == nil {
		return 0
	}
	return d.session.dirty.Load()
}

// Set puts a fault in force, in the place of any other, and drops what the
// kernel has cached, so that the cache does not hide it. The error says what is
// wrong with the fault.
func (d *Disk) Set(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replace(newActive(f, d.opts.Seed, d.epoch.Add(1)))
	return nil
}

// Clear makes the disk sound, lets go what waits for its latency, and drops what the kernel has cached, so that
// nothing of the fault stays there. It is idempotent. What was torn stays torn.
func (d *Disk) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault.Load() != nil {
		d.replace(nil)
	}
}

func (d *Disk) replace(a *active) {
	if was := d.fault.Swap(a); was != nil {
		close(was.over)
	}
	d.invalidate()
}

func (d *Disk) invalidate() {
	if d.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), unmountWait)
	defer cancel()
	d.session.invalidate(ctx)
}

// Remount mounts a disk that has crashed or was closed, on what is in its backing
// directory. The fault that was set is in force again. A disk that is mounted
// stays so.
func (d *Disk) Remount() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != nil {
		return nil
	}
	if err := vacant(d.opts.Mount); err != nil {
		return err
	}
	s, err := newSession(d)
	if err != nil {
		return fmt.Errorf("disk: mount %q: %w", d.opts.Mount, err)
	}
	d.session = s
	return nil
}

// vacant says why nothing may be mounted on a directory.
func vacant(dir string) error {
	ms, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range ms {
		if m.point == dir {
			return fmt.Errorf("disk: mount point %q: a %s file system is mounted there already", dir, m.kind)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("disk: mount point: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("disk: mount point %q: holds %q and more, which the mount would hide: expected an empty directory", dir, entries[0].Name())
	}
	return nil
}

func newSession(d *Disk) (*session, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(d.opts.Dir, &st); err != nil {
		return nil, err
	}
	s := &session{
		disk: d, contents: map[uint64]*content{},
		ended: make(chan struct{}), dead: make(chan struct{}), stop: make(chan struct{}),
	}
	data := &fs.LoopbackRoot{Path: d.opts.Dir, Dev: uint64(st.Dev)}
	data.NewNode = func(data *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return &node{LoopbackNode: fs.LoopbackNode{RootData: data}, session: s}
	}
	s.root = &node{LoopbackNode: fs.LoopbackNode{RootData: data}, session: s}
	data.RootNode = s.root

	fd, err := mountFuse(d.opts.Mount, d.source)
	if err != nil {
		return nil, err
	}
	second := time.Second
	s.server, err = fuse.NewServer(fs.NewNodeFS(s.root, &fs.Options{EntryTimeout: &second, AttrTimeout: &second}),
		fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
			MaxWrite: maxWrite,
			// Else the kernel asks for security.capability at every write.
			DisableXAttrs: true,
			// It complains of every process that was killed while it waited.
			Logger: log.New(io.Discard, "", 0),
		})
	if err != nil {
		return nil, errors.Join(err, syscall.Unmount(d.opts.Mount, syscall.MNT_DETACH), syscall.Close(fd))
	}
	go func() {
		defer close(s.ended)
		s.server.Serve()
	}()
	if err := refusePolls(d.opts.Mount); err != nil {
		return nil, errors.Join(err, s.unmount())
	}
	s.idle.Add(1)
	go s.writeback()
	return s, nil
}

// maxWrite is the largest write that the kernel sends at once, and with it the
// largest read.
const maxWrite = 1 << 20

// mountFuse mounts and returns the descriptor by which the kernel asks. It is
// done here, and not by go-fuse, so that the descriptor ends with this process:
// a child that inherited it would keep a dead mount waiting for ever.
func mountFuse(point, source string) (int, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,max_read=%d", fd, os.Geteuid(), os.Getegid(), maxWrite)
	if err := unix.Mount(source, point, "fuse."+fuseName, unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return -1, errors.Join(fmt.Errorf("mount: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// refusePolls makes the kernel ask once whether files can be polled; go-fuse
// says no. Otherwise the first file that a Go program opens there would ask, from
// within its scheduler, which is a deadlock if the program is this one.
func refusePolls(point string) error {
	a, err := newApart()
	if err != nil {
		return err
	}
	defer a.close()
	a.do(func() {
		var fd int
		if fd, err = unix.Open(filepath.Join(point, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) // the answer does not matter
		err = unix.Close(fd)
	})
	return err
}

func fcntlDup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

// Flush makes everything durable that was written so far, and stays mounted:
// what a machine does that is shut down in order. Dirty shared maps are included.
func (d *Disk) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == nil {
		return ErrDead
	}
	d.invalidate()
	return d.session.flushAll()
}

// Close makes everything durable and unmounts the disk. Processes that still
// have files open there get errors from then on. It is idempotent; the error is
// about what could not be written, or a mount that is still there.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.session
	if s == nil {
		return nil
	}
	flushed := s.flushAll()
	if err := s.unmount(); err != nil {
		return errors.Join(flushed, err)
	}
	flushed = s.flushAll() // also what was written meanwhile
	s.finish()
	d.session = nil
	return flushed
}

// finish ends what is left of a session whose mount is gone.
func (s *session) finish() {
	close(s.stop)
	s.idle.Wait()
	if !s.isDead() {
		close(s.dead)
	}
	s.end()
}

// Crash is the loss of power: the disk is dead at once, what was not fsynced is
// gone, except that each dirty sector of 512 bytes survives with the probability
// torn, and the mount goes away. Kill the process that uses the disk first, and
// wait until it is gone: it would see errors that a machine without power does
// not see. Remount brings the disk back. The error is ErrDead when it was dead
// already, or says why the mount is still there.
func (d *Disk) Crash(torn float64) (Lost, error) {
	if !(torn >= 0 && torn <= 1) {
		return Lost{}, fmt.Errorf("disk: share of torn sectors %v: expected 0 to 1", torn)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.session
	if s == nil {
		return Lost{}, ErrDead
	}
	if !s.isDead() { // an earlier Crash may have failed to unmount
		close(s.dead)
	}
	lost, err := s.crash(torn, mix(d.opts.Seed, d.epoch.Add(1)))
	if err != nil {
		return lost, fmt.Errorf("disk: crash of %q: %w", d.opts.Mount, err)
	}
	d.counts.crashes.Add(1)
	d.counts.lostBytes.Add(lost.Bytes)
	if err := s.unmount(); err != nil {
		return lost, err
	}
	s.finish()
	d.session = nil
	return lost, nil
}
