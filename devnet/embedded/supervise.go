package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
)

// UpOptions describe the devnet to bring up. On a directory that holds one
// already only Dir counts: everything else is as it was made.
type UpOptions = Options

// Up starts a devnet in the background, on the data in its directory if it has
// some, and returns when all nodes have made a block: it then belongs to a
// supervisor process of its own, which outlives the caller. When it is up already
// nothing changes, unless not one of its nodes is left: then it starts anew. On an error, or when ctx ends first, what was started is
// stopped.
func Up(ctx context.Context, opts UpOptions) (*State, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if opts.Dir == "" {
		return nil, errNoDir
	}
	dir, err := resolve(opts.Dir)
	if err == nil {
		_, err = readState(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = create(opts)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	for {
		state, err := readState(dir)
		if err != nil {
			return nil, err
		}
		if state.running() {
			if !state.Supervised {
				return nil, fmt.Errorf("directory %q: its devnet is run by process %d, which is a test", dir, state.Owner.PID)
			}
			owner := state.Owner
			if state, err = awaitReady(ctx, dir, owner); err != nil || state.anyAlive() {
				return state, err
			}
			// No node is left, as while a killed supervisor is still on its way out.
			if err := end(ctx, owner); err != nil {
				return nil, err
			}
		}
		state, err = startSupervisor(ctx, dir)
		if err == nil || ctx.Err() != nil {
			return state, err
		}
		// Another Up may have been faster; then its devnet is the one.
		if now, stateErr := readState(dir); stateErr != nil || !now.running() {
			return nil, err
		}
	}
}

// awaitReady waits for the network of a supervisor that somebody else started.
func awaitReady(ctx context.Context, dir string, supervisor devnet.Identity) (*State, error) {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		state, err := readState(dir)
		if err != nil {
			return nil, err
		}
		if state.Owner == supervisor && state.Ready {
			return state, nil
		}
		if !devnet.Alive(supervisor) {
			return nil, fmt.Errorf("devnet supervisor %s ended while it started; the end of its log:\n%s",
				supervisor, child.Tail(filepath.Join(dir, supervisorFile), 0))
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("devnet in %q is not ready: %w", dir, ctx.Err())
		case <-tick.C:
		}
	}
}

func startSupervisor(ctx context.Context, dir string) (*State, error) {
	path := filepath.Join(dir, supervisorFile)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("devnet supervisor: %w", err)
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("devnet supervisor: %w", err)
	}
	cmd, err := startDetached(log, supervisorCommand, "--dir", dir)
	if err != nil {
		return nil, fmt.Errorf("devnet supervisor: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // told by its state
		close(ended)
	}()
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("devnet supervisor: %w", err)
	}
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		state, err := readState(dir)
		if err == nil && state.Owner == id && state.Ready {
			return state, nil
		}
		select {
		case <-ended:
			return nil, fmt.Errorf("devnet supervisor: %s; the end of %s:\n%s", cmd.ProcessState, path, child.Tail(path, begin))
		case <-ctx.Done():
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace+killGrace)
			defer cancel()
			return nil, errors.Join(fmt.Errorf("devnet in %q is not ready: %w; the end of %s:\n%s", dir, ctx.Err(), path, child.Tail(path, begin)),
				end(stop, id))
		case <-tick.C:
		}
	}
}

// Supervise is the hidden subcommand "devnet-supervisor --dir DIR": it runs the
// devnet of a directory until ctx ends, and then stops it. It logs to standard
// error. A node that ends by itself stays down.
func Supervise(ctx context.Context, dir string) error {
	if err := supported(); err != nil {
		return err
	}
	dir, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("devnet: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	begun := time.Now()
	n, err := launch(ctx, dir, true)
	if err != nil {
		return err
	}
	log.Info("devnet is up", "nodes", len(n.Nodes()), "took", time.Since(begun).Round(time.Millisecond))
	for {
		select {
		case exit := <-n.Exits():
			log.Error("node ended", "node", exit.Node, "process", exit.Process, "state", exit.State, "tail", exit.Tail)
		case <-ctx.Done():
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
			defer cancel()
			err := n.Close(stop)
			log.Info("devnet is down", "err", err)
			return err
		}
	}
}

// Down stops the devnet of a directory and returns when none of its processes is
// left; the data stays. It does nothing when the devnet is down already, and
// refuses to end a test.
func Down(ctx context.Context, dir string) error {
	if err := supported(); err != nil {
		return err
	}
	dir, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("devnet: %w", err)
	}
	state, err := readState(dir)
	if err != nil {
		return err
	}
	if state.running() {
		if !state.Supervised {
			return fmt.Errorf("directory %q: its devnet is run by process %d, which is a test: stop that", dir, state.Owner.PID)
		}
		if err := end(ctx, state.Owner); err != nil {
			return err
		}
	}
	_, err = Sweep(ctx, dir)
	return err
}

// end stops a supervisor, in order if ctx allows, and its nodes with it.
func end(ctx context.Context, supervisor devnet.Identity) error {
	err := devnet.Signal(supervisor, syscall.SIGTERM)
	if err == nil {
		err = devnet.Signal(supervisor, syscall.SIGCONT)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return err
	}
	if devnet.AwaitGone(ctx, supervisor) == nil {
		return nil
	}
	// Its nodes die with it.
	if err := devnet.Signal(supervisor, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	return devnet.AwaitGone(last, supervisor)
}
