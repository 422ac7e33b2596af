package clock

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// borrowed is a stopped thread that runs system calls and code for us, on registers
// of ours and with all signals held back. If we die meanwhile the kernel kills the
// process: it must not run on with foreign registers.
type borrowed struct {
	t       *tracee
	tid     int
	saved   unix.PtraceRegs
	mask    uint64
	gadget  uint64 // the address of a system call instruction
	held    []int  // signals that could not be held back: SIGSTOP
	atEvent bool   // it stands where its own registers can be given back
}

func (t *tracee) borrow(gadget uint64) (*borrowed, error) {
	b := &borrowed{t: t, tid: t.tids[0], gadget: gadget, atEvent: true}
	if err := unix.PtraceGetRegs(b.tid, &b.saved); err != nil {
		return nil, t.lost(b.tid, err)
	}
	if err := b.sigmask(getSigmask, &b.mask); err != nil {
		return nil, err
	}
	if err := unix.PtraceSetOptions(b.tid, unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return nil, t.lost(b.tid, err)
	}
	all := ^uint64(0)
	if err := b.sigmask(setSigmask, &all); err != nil {
		return nil, errors.Join(err, b.giveBack())
	}
	return b, nil
}

func (b *borrowed) sigmask(request uintptr, mask *uint64) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, request, uintptr(b.tid), unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)), 0, 0)
	if errno != 0 {
		return b.t.lost(b.tid, errno)
	}
	return nil
}

// giveBack lets the thread stand as it stood. Its own system call that was
// interrupted starts again when it goes on, because the kernel looks at the registers
// only after the stop that this returns in.
func (b *borrowed) giveBack() error {
	err := b.toEvent()
	if err == nil {
		err = errors.Join(unix.PtraceSetRegs(b.tid, &b.saved), b.sigmask(setSigmask, &b.mask))
	}
	if err == nil {
		err = unix.PtraceSetOptions(b.tid, 0)
	}
	if err != nil && !errors.Is(err, errThreadGone) && !errors.Is(err, unix.ESRCH) {
		// Better dead than corrupt.
		return errors.Join(fmt.Errorf("thread %d: its registers could not be given back, so it was killed: %w", b.tid, err), devnet.Signal(b.t.id, unix.SIGKILL))
	}
	for _, sig := range b.held {
		unix.Tgkill(b.t.id.PID, b.tid, unix.Signal(sig))
	}
	return err
}

// toEvent brings the thread to a stop in the kernel's signal handling.
func (b *borrowed) toEvent() error {
	if b.atEvent {
		return nil
	}
	if err := unix.PtraceInterrupt(b.tid); err != nil {
		return b.t.lost(b.tid, err)
	}
	if err := unix.PtraceCont(b.tid, 0); err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it runs
		return b.t.lost(b.tid, err)
	}
	return b.interrupted()
}

// interrupted waits for the stop of an interrupt.
func (b *borrowed) interrupted() error {
	for deadline := time.Now().Add(stopLimit); ; {
		status, err := b.t.status(b.tid, deadline)
		if err != nil {
			return err
		}
		if status>>8 == unix.PTRACE_EVENT_STOP {
			b.atEvent = true
			return nil
		}
		if status>>8 == 0 && status != syscallStop {
			b.held = append(b.held, status)
		}
		err = unix.PtraceInterrupt(b.tid)
		if err == nil {
			err = unix.PtraceCont(b.tid, 0)
		}
		if err != nil {
			return b.t.lost(b.tid, err)
		}
	}
}

// call lets the thread make a system call.
func (b *borrowed) call(name string, nr uint64, args ...uint64) (uint64, error) {
	regs := b.saved
	regs.Rip, regs.Rax, regs.Orig_rax = b.gadget, nr, ^uint64(0)
	for i, at := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		*at = 0
		if i < len(args) {
			*at = args[i]
		}
	}
	b.atEvent = false
	if err := unix.PtraceSetRegs(b.tid, &regs); err != nil {
		return 0, b.t.lost(b.tid, err)
	}
	for range 2 { // in, and out
		if err := b.toSyscall(); err != nil {
			return 0, fmt.Errorf("%s in the target: %w", name, err)
		}
	}
	if err := unix.PtraceGetRegs(b.tid, &regs); err != nil {
		return 0, b.t.lost(b.tid, err)
	}
	if r := int64(regs.Rax); r < 0 && r > -4096 {
		return 0, fmt.Errorf("%s in the target: %w", name, unix.Errno(-r))
	}
	return regs.Rax, nil
}

func (b *borrowed) toSyscall() error {
	for deadline := time.Now().Add(callLimit); ; {
		if err := unix.PtraceSyscall(b.tid, 0); err != nil {
			return b.t.lost(b.tid, err)
		}
		status, err := b.t.status(b.tid, deadline)
		switch {
		case err != nil:
			return err
		case status == syscallStop:
			return nil
		case status>>8 == 0:
			b.held = append(b.held, status)
		}
	}
}

// run lets the thread run code until the flag at an address is set.
func (b *borrowed) run(regs *unix.PtraceRegs, flag uint64) error {
	b.atEvent = false
	if err := unix.PtraceSetRegs(b.tid, regs); err != nil {
		return b.t.lost(b.tid, err)
	}
	if err := unix.PtraceCont(b.tid, 0); err != nil {
		return b.t.lost(b.tid, err)
	}
	deadline := time.Now().Add(callLimit)
	for n := 0; ; n++ {
		set, err := b.t.read(flag, 1)
		if err != nil {
			return err
		}
		if set[0] != 0 {
			break
		}
		if time.Now().After(deadline) {
			err := fmt.Errorf("thread %d: it does not run", b.tid)
			return errors.Join(err, unix.PtraceInterrupt(b.tid), b.interrupted())
		}
		time.Sleep(min(time.Duration(10+n)*time.Microsecond, time.Millisecond))
	}
	if err := unix.PtraceInterrupt(b.tid); err != nil {
		return b.t.lost(b.tid, err)
	}
	return b.interrupted()
}
