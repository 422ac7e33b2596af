package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/jepgo/jepgo/devnet"
)

// node is one validator over all of its incarnations.
type node struct {
	devnet.Node
	process atomic.Pointer[process] // the newest incarnation; nil before the first
}

// process is one incarnation.
type process struct {
	id   devnet.Identity
	log  int64            // where its output begins in the node's log
	done chan struct{}    // closed when it has been reaped
	end  *os.ProcessState // how it ended, once done is closed
}

func (n *node) running() (devnet.Identity, bool) {
	p := n.process.Load()
	if p == nil || p.ended() {
		return devnet.Identity{}, false
	}
	return p.id, true
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (n *Network) find(name string) (*node, error) {
	for _, node := range n.nodes {
		if node.Name == name {
			return node, nil
		}
	}
	return nil, fmt.Errorf("node %q: no such node, expected one of %q", name, n.state.Names)
}

// Identity returns the node's present incarnation; ok is false when it is not
// running or there is no such node.
func (n *Network) Identity(name string) (id devnet.Identity, ok bool) {
	node, err := n.find(name)
	if err != nil {
		return devnet.Identity{}, false
	}
	return node.running()
}

// Start starts a node that is not running on its old data directory, before it
// is ready: see Ready. A node that was killed just now is waited for.
func (n *Network) Start(ctx context.Context, name string) (devnet.Identity, error) {
	node, err := n.find(name)
	if err != nil {
		return devnet.Identity{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing.Load() {
		return devnet.Identity{}, fmt.Errorf("node %s: network is closed", name)
	}
	if old := node.process.Load(); old != nil {
		if devnet.Alive(old.id) {
			return devnet.Identity{}, fmt.Errorf("node %s: runs already as process %s", name, old.id)
		}
		select {
		case <-old.done:
		case <-ctx.Done():
			return devnet.Identity{}, fmt.Errorf("node %s: process %s has not ended: %w", name, old.id, ctx.Err())
		}
	}
	if d := n.disks[name]; d != nil && !d.Mounted() {
		return devnet.Identity{}, fmt.Errorf("node %s: its disk %q is not mounted", name, d.Dir())
	}
	p, cmd, err := n.spawn(node)
	if err != nil {
		return devnet.Identity{}, fmt.Errorf("node %s: %w", name, err)
	}
	node.process.Store(p)
	go n.reap(node, p, cmd)
	n.state.Processes[name] = p.id
	return p.id, n.state.write(n.dir)
}

func (n *Network) spawn(node *node) (*process, *exec.Cmd, error) {
	log, err := os.OpenFile(node.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, err
	}
	cmd := tied(log, validatorCommand, "--config", configPath(n.dir, node.Name))
	if err := n.links.starter(node.Name)(cmd); err != nil {
		return nil, nil, err
	}
	// It has not been waited for, so its pid is its own even if it has died.
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		return nil, nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return &process{id: id, log: begin, done: make(chan struct{})}, cmd, nil
}

// reap waits for the end of a process and tells of it.
func (n *Network) reap(node *node, p *process, cmd *exec.Cmd) {
	_ = devnet.Wait(cmd) // an exit that is no success is told by the state
	p.end = cmd.ProcessState
	close(p.done)
	if n.closing.Load() {
		return
	}
	exit := Exit{Node: node.Name, Process: p.id, State: p.end.String(), Signal: signalOf(p.end), Code: p.end.ExitCode(), Log: node.Log, Tail: tail(node.Log, p.log)}
	select {
	case n.exits <- exit:
	default:
	}
}

// Ended says how that incarnation of the node ended; ok is false while it runs,
// and when it is not the newest.
func (n *Network) Ended(name string, id devnet.Identity) (state string, ok bool) {
	node, err := n.find(name)
	if err != nil {
		return "", false
	}
	p := node.process.Load()
	if p == nil || p.id != id || !p.ended() {
		return "", false
	}
	return p.end.String(), true
}

// Signal sends sig to the node's present incarnation.
func (n *Network) Signal(name string, sig syscall.Signal) error {
	node, err := n.find(name)
	if err != nil {
		return err
	}
	id, ok := node.running()
	if !ok {
		return fmt.Errorf("node %s: not running: %w", name, os.ErrProcessDone)
	}
	return devnet.Signal(id, sig)
}

// Kill ends the node's present incarnation with SIGKILL and waits until it is
// gone; a node that is not running stays so.
func (n *Network) Kill(ctx context.Context, name string) error {
	node, err := n.find(name)
	if err != nil {
		return err
	}
	p := node.process.Load()
	if p == nil {
		return nil
	}
	if err := devnet.Signal(p.id, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("node %s: process %s has not ended: %w", name, p.id, ctx.Err())
	}
}

// stopNodes ends every process, in order if it can.
func (n *Network) stopNodes(ctx context.Context) []error {
	var errs []error
	signal := func(p *process, sig syscall.Signal) {
		if err := devnet.Signal(p.id, sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	live := make(map[*node]*process)
	for _, node := range n.nodes {
		if p := node.process.Load(); p != nil && !p.ended() {
			live[node] = p
			signal(p, syscall.SIGTERM)
			signal(p, syscall.SIGCONT) // a paused one takes it then
		}
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	await(ctx, live)
	for node, p := range live {
		if !p.ended() {
			errs = append(errs, fmt.Errorf("node %s: process %s did not stop on SIGTERM and was killed", node.Name, p.id))
			signal(p, syscall.SIGKILL)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	await(last, live)
	for node, p := range live {
		if !p.ended() {
			errs = append(errs, fmt.Errorf("node %s: process %s is there after SIGKILL", node.Name, p.id))
		}
	}
	return errs
}

func await(ctx context.Context, processes map[*node]*process) {
	for _, p := range processes {
		select {
		case <-p.done:
		case <-ctx.Done():
			return
		}
	}
}

// crashed is the error for a node whose process has ended.
func (n *node) crashed(p *process) error {
	return fmt.Errorf("node %s: process ended: %s; the end of %s:\n%s", n.Name, p.end, n.Log, tail(n.Log, p.log))
}

// tail is the last lines of a log file after an offset, at most 20 lines and 4 KiB.
func tail(path string, from int64) string {
	const maxLines, maxBytes = 20, 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	begin := max(from, size-maxBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, begin, size-begin))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if begin > from && len(lines) > 1 {
		lines = lines[1:] // cut in the middle
	}
	return strings.ToValidUTF8(strings.Join(lines[max(0, len(lines)-maxLines):], "\n"), "�")
}
