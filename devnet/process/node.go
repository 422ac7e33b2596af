package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/ask"
	"github.com/jepgo/jepgo/devnet/child"
)

// lookUp makes sure that every program is there before one of them is started.
func (n *Network) lookUp() error {
	f := n.o.File
	var errs []error
	told := make(map[string]bool)
	for i := range f.Count() {
		p := n.plans[nodeName(i)]
		for _, command := range append([][]string{p.command}, p.init...) {
			if len(command) == 0 || told[command[0]] {
				continue
			}
			if _, err := exec.LookPath(f.program(command[0])); err != nil {
				told[command[0]] = true
				err = fmt.Errorf("%s:%d:%d: node %s: program %q: %w", f.path, p.at.line, p.at.column, nodeName(i), command[0], err)
				if f.Install != "" {
					err = fmt.Errorf("%w; %s", err, f.Install)
				}
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Identity returns the node's present incarnation; ok is false when it is not
// running or there is no such node.
func (n *Network) Identity(name string) (id devnet.Identity, ok bool) {
	return n.group.Identity(name)
}

// Start starts a node that is not running, before it is ready: see Ready. One
// with an empty data directory is initialised first.
func (n *Network) Start(ctx context.Context, name string) (devnet.Identity, error) {
	return n.group.Start(ctx, name)
}

// Ended says how that incarnation of the node ended; ok is false while it runs,
// and when it is not the newest.
func (n *Network) Ended(name string, id devnet.Identity) (state string, ok bool) {
	return n.group.Ended(name, id)
}

// Signal sends sig to the node's present incarnation.
func (n *Network) Signal(name string, sig syscall.Signal) error { return n.group.Signal(name, sig) }

// Kill ends the node's present incarnation with SIGKILL and waits until it is
// gone; a node that is not running stays so.
func (n *Network) Kill(ctx context.Context, name string) error { return n.group.Kill(ctx, name) }

// command makes the command of a node whose data directory is ready for it.
func (n *Network) command(ctx context.Context, name string, log *os.File) (*exec.Cmd, error) {
	p := n.plans[name]
	if err := os.MkdirAll(p.data, 0o755); err != nil {
		return nil, err
	}
	left, err := os.ReadDir(p.data)
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		if err := n.initialise(ctx, p, log); err != nil {
			// Half of it would pass for all of it at the next start.
			return nil, errors.Join(err, os.RemoveAll(p.data))
		}
	}
	return n.make(p, p.command, log)
}

func (n *Network) make(p *plan, args []string, log *os.File) (*exec.Cmd, error) {
	marks, err := child.Mark(p.home)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(n.o.File.program(args[0]), args[1:]...)
	cmd.Dir = p.home
	cmd.Env = append(append(append(os.Environ(), "HOME="+p.home), marks...), p.env...)
	return child.Tie(cmd, log), nil
}

// initialise writes the node's files and runs its init commands.
func (n *Network) initialise(ctx context.Context, p *plan, log *os.File) error {
	for _, name := range sortedKeys(p.files) {
		path := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(p.files[name]), 0o600); err != nil {
			return err
		}
	}
	for _, args := range p.init {
		if len(args) == 0 {
			continue
		}
		cmd, err := n.make(p, args, log)
		if err != nil {
			return err
		}
		if err := n.homes.start(p.node.Name, cmd); err != nil {
			return fmt.Errorf("init: %q: %w", args, err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err = <-done:
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), cmd.Process.Kill(), <-done)
		}
		if err != nil {
			return fmt.Errorf("init: %q: %w; the end of %s:\n%s", args, err, p.node.Log, child.Tail(p.node.Log, 0))
		}
	}
	return nil
}

// Ready waits until a running node is ready as the file has it: it answers RPC,
// says that it is not catching up, has its port open and its line logged. It fails
// at once when the process ends. It needs a network that lets the node catch up.
func (n *Network) Ready(ctx context.Context, name string) error {
	p := n.plans[name]
	if p == nil {
		return fmt.Errorf("node %q: no such node", name)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return n.group.Poll(ctx, name, "is not ready", func(ctx context.Context) error {
		return n.probe(ctx, p)
	})
}

func (n *Network) probe(ctx context.Context, p *plan) error {
	if p.open != "" {
		conn, err := n.homes.dial(ctx, p.node.Name, p.open)
		if err != nil {
			return err
		}
		conn.Close()
	}
	if p.log != nil && !p.logged(n.group.LogBegin(p.node.Name)) {
		return fmt.Errorf("%s has no line that matches %q", p.node.Log, p.log)
	}
	if p.rpc {
		if _, err := ask.Height(ctx, p.node.HTTP); err != nil {
			return err
		}
		if p.synced {
			syncing, err := ask.Syncing(ctx, p.node.HTTP)
			if err == nil && syncing {
				err = errors.New("eth_syncing says that it catches up")
			}
			if err != nil {
				return err
			}
		}
	}
	if p.node.Comet != "" {
		sync, err := ask.Comet(ctx, p.node.Comet)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.validators[sync.Validator] = p.node.Name
		n.mu.Unlock()
		if sync.CatchingUp {
			return fmt.Errorf("catches up at height %d", sync.Height)
		}
	}
	return nil
}

// logged looks through the beginning of an incarnation's log.
func (p *plan) logged(begin int64) bool {
	const most = 4 << 20
	f, err := os.Open(p.node.Log)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, most)
	got, _ := f.ReadAt(b, begin) // the end of the file is an error
	return p.log.Match(b[:got])
}

// awaitBlocks waits until every node is ready and has served block 1.
func (n *Network) awaitBlocks(ctx context.Context) error {
	for _, node := range n.nodes {
		if err := n.Ready(ctx, node.Name); err != nil {
			return err
		}
	}
	for _, node := range n.nodes {
		p := n.plans[node.Name]
		if !p.rpc {
			continue
		}
		err := n.group.Poll(ctx, node.Name, "has no block 1", func(ctx context.Context) error {
			have, err := ask.Height(ctx, p.node.HTTP)
			if err == nil && have < 1 {
				err = errors.New("is at height 0")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
