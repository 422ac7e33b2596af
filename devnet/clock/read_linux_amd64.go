package clock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// samples is how often a reading is taken, to keep the best.
const (
	samples    = 16
	sampleSize = 48
)

// Read reads the clock of a process, skewed or not, as the process itself sees it:
// one of its threads calls clock_gettime through its own vDSO, between two system
// calls that ask the kernel. That thread is stopped for less than a millisecond and
// uses two pages that are unmapped again; if we die in this time the process dies.
// The error wraps os.ErrProcessDone when the process has ended.
func Read(id devnet.Identity) (Reading, error) {
	m, err := pristine()
	if err != nil {
		return Reading{}, err
	}
	var r Reading
	err = tracing(func() error {
		t, err := open(id)
		if err != nil {
			return err
		}
		defer t.close()
		if err := t.stopOne(); err != nil {
			return gone(id, err)
		}
		r, err = t.readClock(m)
		return gone(id, err)
	})
	return r, err
}

func (t *tracee) readClock(m *image) (r Reading, err error) {
	maps, err := readMaps(fmt.Sprintf("/proc/%d/maps", t.id.PID))
	if err != nil {
		return r, err
	}
	v := find(maps, "[vdso]")
	if v == nil || v.hi-v.lo != uint64(len(m.bytes)) {
		return r, errors.New("its vDSO is none like ours: a 32-bit process?")
	}
	code, err := assemble(probeCode(), probeCode()[0].at)
	if err != nil {
		return r, err
	}
	b, err := t.borrow(v.lo + uint64(m.gadget))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.giveBack()) }()
	at, err := b.call("mmap", unix.SYS_MMAP, 0, 2*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return r, err
	}
	defer func() {
		_, unmap := b.call("munmap", unix.SYS_MUNMAP, at, 2*pageSize)
		err = errors.Join(err, unmap)
	}()
	if err := t.write(at, code); err != nil {
		return r, err
	}
	if _, err := b.call("mprotect", unix.SYS_MPROTECT, at, pageSize, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return r, err
	}
	data := at + pageSize
	const flagAt = samples * sampleSize
	regs := b.saved
	regs.Rip, regs.Rbx, regs.Rbp, regs.R12, regs.R13 = at, v.lo+uint64(m.gettime.at), data, samples, data+flagAt
	regs.Rsp, regs.Orig_rax = data+pageSize-64, ^uint64(0)
	regs.Eflags &^= 0x400 // the direction flag, clear between functions
	if err := b.run(&regs, data+flagAt); err != nil {
		return r, err
	}
	seen, err := t.read(data, flagAt)
	if err != nil {
		return r, err
	}
	return best(seen), nil
}

// best is the sample with the smallest bound.
func best(seen []byte) Reading {
	var r Reading
	for i := 0; i < len(seen); i += sampleSize {
		ns := func(at int) int64 {
			return int64(binary.LittleEndian.Uint64(seen[i+at:]))*second + int64(binary.LittleEndian.Uint64(seen[i+at+8:]))
		}
		before, target, after := ns(0), ns(16), ns(32)
		bound := time.Duration(after-before)/2 + 1
		if i == 0 || bound < r.Bound {
			host := before + (after-before)/2
			r = Reading{Target: time.Unix(0, target), Host: time.Unix(0, host), Offset: time.Duration(target - host), Bound: bound}
		}
	}
	return r
}

// Patched reports whether a process' vDSO carries our hook, by looking at it. It
// stops nobody. ErrForeign says that somebody else changed it; the error wraps
// os.ErrProcessDone when the process has ended.
func Patched(id devnet.Identity) (bool, error) {
	p, err := inspect(id)
	return p != nil, err
}

// inspect returns nil for a clean process.
func inspect(id devnet.Identity) (*Patch, error) {
	m, err := pristine()
	if err != nil {
		return nil, err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", id.PID))
	if err != nil {
		return nil, gone(id, permitted(err))
	}
	defer mem.Close()
	p, err := look(m, id.PID, mem)
	if err != nil {
		return nil, gone(id, err)
	}
	found := &Patch{Target: id}
	if p.page != 0 {
		if found.Owner, found.Live, err = ownerOf(p.page, mem); err != nil {
			return nil, gone(id, err)
		}
	}
	if !devnet.Alive(id) { // checked last: all of the above was of this incarnation
		return nil, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	if p.page == 0 {
		return nil, nil
	}
	return found, nil
}

// Restore takes our hook out of a process, whoever put it there, and compares the
// whole vDSO with a clean one. Threads are stopped only where there is something to
// do. ErrForeign says that somebody else changed it, and that nothing was touched;
// the error wraps os.ErrProcessDone when the process has ended.
func Restore(id devnet.Identity) error {
	if patched, err := Patched(id); err != nil || !patched {
		return err
	}
	m, err := pristine()
	if err != nil {
		return err
	}
	return tracing(func() error {
		t, err := open(id)
		if err != nil {
			return err
		}
		defer t.close()
		if err := t.stopAll(); err != nil {
			return gone(id, err)
		}
		p, err := look(m, id.PID, t.mem)
		if err == nil && p.page != 0 {
			err = t.restore(m, p)
		}
		return gone(id, err)
	})
}

// Sweep lists all processes that we may look at whose vDSO carries our hook, by
// looking at each that has a page of our name. Cost: a read of every process' memory
// map.
func Sweep() ([]Patch, error) {
	living, err := devnet.Living()
	if err != nil {
		return nil, err
	}
	var found []Patch
	var errs []error
	for _, id := range living {
		maps, err := readMaps(fmt.Sprintf("/proc/%d/maps", id.PID))
		if err != nil || pages(maps) == nil {
			continue // it has ended, or is not ours
		}
		p, err := inspect(id)
		switch {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			errs = append(errs, err)
		case p != nil:
			found = append(found, *p)
		}
	}
	return found, errors.Join(errs...)
}
