package clock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// Probe returns why clocks of processes of this user cannot be set off on this
// machine, and what would help; else nil. It touches nothing. A single process may
// still be out of reach.
func Probe() error {
	if _, err := pristine(); err != nil {
		return fmt.Errorf("clock skew: %w", err)
	}
	// Nobody has this pid: permission is refused before that is noticed.
	if err := unix.PtraceSeize(1 << 30); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("clock skew: ptrace: %w: a sandbox keeps it off (in a container: --cap-add SYS_PTRACE)", err)
	}
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		n, _ := strconv.Atoi(strings.TrimSpace(string(scope)))
		if n == 3 || n == 2 && !mayTrace() {
			return fmt.Errorf("clock skew: ptrace is kept off by /proc/sys/kernel/yama/ptrace_scope %d: it takes 1 or less, or root and 2", n)
		}
	}
	return nil
}

// mayTrace reports whether we have CAP_SYS_PTRACE.
func mayTrace() bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return err == nil && caps>>unix.CAP_SYS_PTRACE&1 == 1
		}
	}
	return false
}

// patch is what is seen of a process.
type patch struct {
	base  uint64 // of the vDSO
	now   []byte // the vDSO
	page  uint64 // the code page that the vDSO leads to, 0: it is clean
	spare uint64 // a code page of ours that it does not lead to, 0: none
	maps  []mapping
}

// look compares a process' vDSO with the clean one. mem is its memory.
func look(m *image, pid int, mem interface {
	ReadAt([]byte, int64) (int, error)
}) (*patch, error) {
	maps, err := readMaps(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, permitted(err)
	}
	v := find(maps, "[vdso]")
	if v == nil {
		return nil, errors.New("no vDSO in its memory map, so it asks the kernel for the time")
	}
	p := &patch{base: v.lo, now: make([]byte, v.hi-v.lo), maps: maps}
	if _, err := mem.ReadAt(p.now, int64(v.lo)); err != nil {
		return nil, fmt.Errorf("vDSO: %w", permitted(err))
	}
	if len(p.now) != len(m.bytes) {
		return nil, fmt.Errorf("vDSO of %d bytes, ours has %d: a 32-bit process?", len(p.now), len(m.bytes))
	}
	rest := bytes.Clone(p.now)
	for _, w := range m.windows() {
		if page := hookOf(p.now[w.at:w.end()], p.base+uint64(w.at), mem); page != 0 {
			p.page = page
			copy(rest[w.at:], m.bytes[w.at:w.end()])
		}
	}
	if !bytes.Equal(rest, m.bytes) {
		return nil, ErrForeign
	}
	for _, at := range pages(maps) {
		if at != p.page && marked(at, mem) {
			p.spare = at
		}
	}
	return p, nil
}

// Install hooks the clock of a process, which goes on right until Set. It stops all
// threads of the target for some milliseconds. A hook that a dead owner left is
// replaced; ErrSkewed says that the owner of another one lives. Close the Skew with
// Remove.
func Install(id devnet.Identity) (*Skew, error) {
	return install(id, func(string) {})
}

// install calls at at each step, for tests.
func install(id devnet.Identity, at func(step string)) (*Skew, error) {
	m, err := pristine()
	if err != nil {
		return nil, err
	}
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return nil, err
	}
	var page []byte
	err = tracing(func() error {
		t, err := open(id)
		if err != nil {
			return err
		}
		defer t.close()
		at("open")
		i := installation{t: t, m: m, at: at, owner: self}
		if err := i.do(); err != nil {
			if i.page != nil {
				unix.Munmap(i.page)
			}
			return gone(id, err)
		}
		page = i.page
		return nil
	})
	if err != nil {
		return nil, err
	}
	at("let go")
	s := newSkew(id, page)
	if err := s.Set(0, 0); err != nil { // the lease shows that it is taken
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

// installation is the state of install.
type installation struct {
	t     *tracee
	m     *image
	owner devnet.Identity
	at    func(step string)
	code  uint64 // the code page in the target
	page  []byte // the data page, here
}

func (i *installation) do() error {
	p, err := i.stopOutside()
	if err != nil {
		return err
	}
	i.at("stopped")
	if p.page != 0 {
		owner, live, err := ownerOf(p.page, i.t.mem)
		if err != nil {
			return err
		}
		if live && devnet.Alive(owner) {
			return fmt.Errorf("%w, by process %s", ErrSkewed, owner)
		}
		if err := i.t.restore(i.m, p); err != nil {
			return err
		}
		i.at("restored")
		p.spare = p.page
	}
	if err := i.mapPages(p); err != nil {
		return err
	}
	i.at("given back")
	return i.patch(p)
}

// ownerOf reads who set a skew and whether its lease holds.
func ownerOf(code uint64, mem interface {
	ReadAt([]byte, int64) (int, error)
}) (devnet.Identity, bool, error) {
	data := make([]byte, pageSize)
	if _, err := mem.ReadAt(data, int64(code+pageSize)); err != nil {
		return devnet.Identity{}, false, fmt.Errorf("data page: %w", err)
	}
	owner, s := decode(data)
	now, err := trueTime()
	return owner, s.mask != 0 && now < s.expiry, err
}

const (
	outsideTries = 100
	outsideWait  = time.Millisecond
	// stackScan is how far up each stack a return into a window is looked for: the
	// frame of a signal that came there is not deeper.
	stackScan = 16 << 10
)

// stopOutside stops the target where no thread is within what will be overwritten.
func (i *installation) stopOutside() (*patch, error) {
	for range outsideTries {
		if err := i.t.stopAll(); err != nil {
			return nil, err
		}
		p, err := look(i.m, i.t.id.PID, i.t.mem)
		if err != nil {
			return nil, err
		}
		inside, err := i.inside(p.base)
		if err != nil {
			return nil, err
		}
		if !inside {
			return p, nil
		}
		i.t.letGo()
		time.Sleep(outsideWait)
	}
	return nil, fmt.Errorf("a thread stood in the first instructions of the vDSO %d times", outsideTries)
}

// inside reports whether a thread stands, or will return, behind the first byte of a
// window.
func (i *installation) inside(base uint64) (bool, error) {
	within := func(at uint64) bool {
		for _, w := range i.m.windows() {
			if base+uint64(w.at) < at && at < base+uint64(w.end()) {
				return true
			}
		}
		return false
	}
	stack := make([]byte, stackScan)
	for _, tid := range i.t.tids {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &regs); err != nil {
			if err = i.t.lost(tid, err); errors.Is(err, errThreadGone) {
				continue
			}
			return false, err
		}
		if within(regs.Rip) {
			return true, nil
		}
		n, _ := i.t.mem.ReadAt(stack, int64(regs.Rsp&^7)) // less at the end of a stack
		for at := 0; at+8 <= n; at += 8 {
			if within(binary.LittleEndian.Uint64(stack[at:])) {
				return true, nil
			}
		}
	}
	return false, nil
}

// mapPages gives the target its two pages, or the spare ones that it has.
func (i *installation) mapPages(p *patch) (err error) {
	b, err := i.t.borrow(p.base + uint64(i.m.gadget))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.giveBack()) }()
	i.at("borrowed")
	i.code = p.spare
	if i.code != 0 {
		// Threads may still be on the old page, so only the very same will do.
		want, err := i.m.hookPage(p.base, i.code)
		if err != nil {
			return err
		}
		if now, err := i.t.read(i.code, pageSize); err != nil || !bytes.Equal(now, want) {
			i.code = 0
		}
	}
	fresh := i.code == 0
	if fresh {
		if err := i.mapCode(b, p); err != nil {
			return err
		}
	}
	if err := i.mapData(b); err != nil {
		if fresh {
			_, unmap := b.call("munmap", unix.SYS_MUNMAP, i.code, 2*pageSize)
			err = errors.Join(err, unmap)
		}
		return err
	}
	return nil
}

func (i *installation) mapCode(b *borrowed, p *patch) error {
	want, err := room(p.maps, p.base)
	if err != nil {
		return err
	}
	page, err := i.m.hookPage(p.base, want)
	if err != nil {
		return err
	}
	i.code, err = b.call("mmap", unix.SYS_MMAP, want, 2*pageSize, unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0)
	if err != nil {
		return err
	}
	i.at("code mapped")
	if i.code != want { // a kernel older than MAP_FIXED_NOREPLACE
		_, err := b.call("munmap", unix.SYS_MUNMAP, i.code, 2*pageSize)
		return errors.Join(fmt.Errorf("mmap in the target: got %#x instead of %#x", i.code, want), err)
	}
	if err := i.t.write(want, page); err != nil {
		_, unmap := b.call("munmap", unix.SYS_MUNMAP, want, 2*pageSize)
		return errors.Join(err, unmap)
	}
	i.at("code written")
	return nil
}

// mapData gives the target a new data page, over one that it had, and us the same.
func (i *installation) mapData(b *borrowed) (err error) {
	fd, err := b.call("memfd_create", unix.SYS_MEMFD_CREATE, i.code+memfdNameAt, unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	i.at("memfd")
	defer func() {
		_, closed := b.call("close", unix.SYS_CLOSE, fd)
		i.at("closed")
		err = errors.Join(err, closed)
	}()
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", i.t.id.PID, fd), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("data page: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(pageSize); err != nil {
		return fmt.Errorf("data page: %w", err)
	}
	i.page, err = unix.Mmap(int(f.Fd()), 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("data page: %w", err)
	}
	if err := format(i.page, i.owner); err != nil {
		return err
	}
	i.at("data made")
	_, err = b.call("mmap", unix.SYS_MMAP, i.code+pageSize, pageSize, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED, fd, 0)
	i.at("data mapped")
	return err
}

// patch makes the vDSO lead to the hook, and reads it back.
func (i *installation) patch(p *patch) error {
	want := bytes.Clone(i.m.bytes)
	for n, w := range i.m.windows() {
		entry, err := w.entry(p.base, i.code)
		if err != nil {
			return err
		}
		if err := i.t.write(p.base+uint64(w.at), entry); err != nil {
			return errors.Join(err, i.t.restore(i.m, p))
		}
		copy(want[w.at:], entry)
		i.at(fmt.Sprintf("patched %d", n+1))
	}
	now, err := i.t.read(p.base, len(want))
	if err == nil && !bytes.Equal(now, want) {
		err = errors.New("vDSO: it does not hold what was written")
	}
	if err != nil {
		return errors.Join(err, i.t.restore(i.m, p))
	}
	return nil
}

// restore writes the clean vDSO over a patched one, all threads being stopped, and
// compares the whole.
func (t *tracee) restore(m *image, p *patch) error {
	for _, w := range m.windows() {
		if err := t.write(p.base+uint64(w.at), m.bytes[w.at:w.end()]); err != nil {
			return err
		}
	}
	now, err := t.read(p.base, len(m.bytes))
	if err == nil && !bytes.Equal(now, m.bytes) {
		err = errors.New("vDSO: not as it was after it was restored")
	}
	return err
}
