package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// GuardianCommand is the hidden first argument with which a program runs
// Guard: Program --ledger PATH.
const GuardianCommand = "guardian"

// GuardianLog is the guardian's log, beside the ledger: empty where it had nothing to
// do.
const GuardianLog = "guardian.log"

const (
	// heartbeat is how often the owner of a ledger shows that it does its work.
	heartbeat = time.Second
	// lease is how long faults stay in force without a heartbeat: longer than a
	// busy machine makes a live process wait, shorter than anybody's patience.
	lease = 30 * time.Second
	// guardianHeal bounds one attempt of the guardian to take everything back.
	guardianHeal     = time.Minute
	guardianAttempts = 3
)

// Guardian is a process of its own that takes back whatever is on a ledger when
// the owner of the ledger dies, in whatever way, or stands still for half a
// minute (stopped by a signal, say). It holds the read end of a pipe whose write
// end only the owner has: the kernel closes that at the owner's end, so that a
// SIGKILL is seen within milliseconds.
type Guardian struct {
	pid   int
	pipe  io.WriteCloser
	ended <-chan struct{}
	stop  chan struct{}
	done  chan struct{}
	// awake is when this process went on after it had stood still for long, in
	// nanoseconds since 1970; 0 when it never did.
	awake atomic.Int64
}

// What the owner writes.
const (
	beatByte = '.'
	byeByte  = 'q' // an orderly end: nothing is to be taken back
)

// StartGuardian starts the guardian of a ledger, which must exist. It is
// stopped by Close, after the ledger's last fault. When it ends before, that is an
// error in the log at once: from then on nobody takes the faults back when this
// process dies. logger may be nil.
func StartGuardian(ledger string, logger *slog.Logger) (*Guardian, error) {
	ledger, err := filepath.Abs(ledger)
	if err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(ledger), GuardianLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	defer log.Close()
	cmd := again(GuardianCommand, "--ledger", ledger)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = session() // a Ctrl-C on the terminal is not for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	ended := make(chan struct{})
	g := &Guardian{pid: cmd.Process.Pid, pipe: pipe, ended: ended, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its state tells
		select {
		case <-g.stop:
		default:
			if logger != nil {
				logger.Error("guardian ended before its time: no fault from here on proves anything, and nobody undoes them when jepgo dies",
					"pid", g.pid, "state", cmd.ProcessState.String(), "log", log.Name())
			}
		}
	}()
	go g.beat()
	return g, nil
}

// beat writes a byte every second. It also notices when this process stood still
// so long that the guardian has taken the faults back.
func (g *Guardian) beat() {
	defer close(g.done)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	last := time.Now()
	for {
		if _, err := g.pipe.Write([]byte{beatByte}); err != nil {
			return // Lapsed sees that the guardian ended
		}
		select {
		case <-g.stop:
			return
		case <-tick.C:
			now := time.Now()
			if now.Sub(last) > lease/2 {
				g.awake.Store(now.UnixNano())
			}
			last = now
		}
	}
}

// Lapsed says why what was in force since that time is without evidence, nil where
// it is not: the guardian is gone, or its owner stood still for so long that the
// guardian may have taken faults back.
func (g *Guardian) Lapsed(since time.Time) error {
	select {
	case <-g.ended:
		return errors.New("the guardian has ended, so nobody would have undone it: see the log")
	default:
	}
	if g.awake.Load() > since.UnixNano() {
		return errors.New("this process stood still so long that its guardian took the fault back")
	}
	return nil
}

// Close ends the guardian and returns when it is gone. What is still on the
// ledger stays there. It is no error that the guardian has ended before.
func (g *Guardian) Close() error {
	close(g.stop)
	<-g.done
	_, _ = g.pipe.Write([]byte{byeByte}) // one that is gone needs no farewell
	err := g.pipe.Close()
	<-g.ended
	if errors.Is(err, os.ErrClosed) {
		return nil // its process has ended, which closes the pipe
	}
	return err
}

// Guard is the guardian's process: it reads heartbeats until they end, and then
// heals the ledger. It returns when there is nothing left to do.
//
// When the heartbeats stop although the owner lives, it takes the faults back
// without touching the ledger, which is the owner's to write.
func Guard(ctx context.Context, ledger string, heartbeats io.Reader, log *slog.Logger) error {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
	beats := make(chan bool) // whether it is a farewell
	go func() {
		defer close(beats)
		buf := make([]byte, 64)
		for {
			n, err := heartbeats.Read(buf)
			if err != nil {
				return
			}
			beats <- bytes.IndexByte(buf[:n], byeByte) >= 0
		}
	}()
	idle := time.NewTimer(lease)
	defer idle.Stop()
	for {
		select {
		case bye, alive := <-beats:
			switch {
			case bye:
				return nil
			case !alive:
				return errors.Join(guardianHeals(ctx, ledger, log), guardianSweeps(ctx, log))
			}
			idle.Reset(lease)
		case <-idle.C:
			lapse(ctx, ledger, log)
		}
	}
}

// guardianHeals takes back what a dead owner left.
func guardianHeals(ctx context.Context, ledger string, log *slog.Logger) error {
	var errs []error
	for range guardianAttempts {
		bounded, cancel := context.WithTimeout(ctx, guardianHeal)
		report, err := Heal(bounded, ledger)
		cancel()
		for _, a := range report.Actions {
			log.Info("the owner is gone, its fault is taken back", "action", a.String())
		}
		var owner *OwnerError
		if err == nil || errors.As(err, &owner) {
			return nil // nothing left, or an orderly end: what is left is the owner's
		}
		log.Error("not everything could be taken back", "err", err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// guardianSweeps removes what the ledger does not know of: the disks of a dead
// owner, say, on which no fault was in force.
func guardianSweeps(ctx context.Context, log *slog.Logger) error {
	bounded, cancel := context.WithTimeout(ctx, guardianHeal)
	defer cancel()
	did, err := Sweep(bounded)
	for _, line := range did {
		log.Info("the owner is gone, what it left is removed", "what", line)
	}
	if err != nil {
		log.Error("not everything could be removed", "err", err)
	}
	return err
}

// lapse takes back what an owner that stands still has in force.
func lapse(ctx context.Context, ledger string, log *slog.Logger) {
	pending, err := ReadPending(ledger)
	if err != nil {
		log.Error("ledger cannot be read", "err", err)
		return
	}
	for i := len(pending) - 1; i >= 0; i-- {
		for j := len(pending[i].Steps) - 1; j >= 0; j-- {
			step := pending[i].Steps[j]
			if step.Kind == stepStart || step.Kind == stepLinks {
				continue // only the owner can
			}
			did, err := step.takeBack(ctx, true)
			log.Warn("no heartbeat of the owner: its fault is taken back", "fault", pending[i].Fault, "did", did, "err", err)
		}
	}
}
