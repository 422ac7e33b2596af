// Package child runs the nodes of a network as children of this process, each
// known by its name over all of its incarnations.
//
// Guarantees: a node dies with this process, even by SIGKILL; a signal reaches
// the very incarnation that it was meant for; what a node has started itself in
// its process group ends with it; and every process carries a mark in its
// environment by which Sweep finds what was left all the same. A node's output
// goes to its log, each incarnation after the other.
//
// Bounds: Linux only. It does not restart what ends, and does not know whether a
// node is ready: that is for the networks.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// Options say what a Group is made of. All but Start are required.
type Options struct {
	Names []string
	Dir   string                   // of the network: nobody waits for a node when its file system is full
	Log   func(name string) string // file that the node's output is appended to
	// Command makes the command that starts the node, on its log. It is called for
	// every start.
	Command func(ctx context.Context, name string, log *os.File) (*exec.Cmd, error)
	// Start starts the command where the node lives. It must be a Spawner's, or
	// end the process with this one in another way.
	Start func(name string, cmd *exec.Cmd) error
}

// Group is the processes of a network. Its methods are safe for concurrent use.
type Group struct {
	o     Options
	nodes map[string]*node
	exits chan Exit

	closing atomic.Bool
	mu      sync.Mutex // held while processes are started and when all are stopped
}

// Exit tells that a node's process ended while the network was open.
type Exit struct {
	Node    string
	Process devnet.Identity
	State   string         // how it ended, for people: "signal: killed", "exit status 1"
	Signal  syscall.Signal // the signal that ended it; 0 when it exited by itself
	Code    int            // exit status when it exited by itself, else -1
	Log     string         // its log file
	Tail    string         // the last lines that this incarnation logged
}

// Bounds of stopping: what an orderly stop may take, and the kernel for a kill.
const (
	StopGrace = 12 * time.Second
	KillGrace = 5 * time.Second
)

// node is one node over all of its incarnations.
type node struct {
	name    string
	process atomic.Pointer[process] // the newest incarnation; nil before the first
}

// process is one incarnation.
type process struct {
	id   devnet.Identity
	log  int64            // where its output begins in the node's log
	done chan struct{}    // closed when it has been reaped
	end  *os.ProcessState // how it ended, once done is closed
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// New returns a group of nodes, none of them started.
func New(o Options) *Group {
	g := &Group{o: o, nodes: make(map[string]*node), exits: make(chan Exit, 256)}
	for _, name := range o.Names {
		g.nodes[name] = &node{name: name}
	}
	return g
}

// Exits delivers the end of every process that Stop did not ask to end, also of
// those that a nemesis killed; Exit.Signal tells them apart. It is never closed.
// When 256 of them wait to be received, further ones are dropped.
func (g *Group) Exits() <-chan Exit { return g.exits }

func (g *Group) find(name string) (*node, error) {
	if n := g.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("node %q: no such node, expected one of %s", name, strings.Join(g.o.Names, ", "))
}

// Identity returns the node's present incarnation; ok is false when it is not
// running or there is no such node.
func (g *Group) Identity(name string) (id devnet.Identity, ok bool) {
	n := g.nodes[name]
	if n == nil {
		return devnet.Identity{}, false
	}
	p := n.process.Load()
	if p == nil || p.ended() {
		return devnet.Identity{}, false
	}
	return p.id, true
}

// Start starts a node that is not running. A node that was killed just now is
// waited for.
func (g *Group) Start(ctx context.Context, name string) (devnet.Identity, error) {
	n, err := g.find(name)
	if err != nil {
		return devnet.Identity{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing.Load() {
		return devnet.Identity{}, fmt.Errorf("node %s: network is closed", name)
	}
	if old := n.process.Load(); old != nil {
		if devnet.Alive(old.id) {
			return devnet.Identity{}, fmt.Errorf("node %s: runs already as process %s", name, old.id)
		}
		select {
		case <-old.done:
		case <-ctx.Done():
			return devnet.Identity{}, fmt.Errorf("node %s: process %s has not ended: %w", name, old.id, ctx.Err())
		}
	}
	p, cmd, err := g.spawn(ctx, n)
	if err != nil {
		return devnet.Identity{}, fmt.Errorf("node %s: %w", name, err)
	}
	n.process.Store(p)
	go g.reap(n, p, cmd)
	return p.id, nil
}

func (g *Group) spawn(ctx context.Context, n *node) (*process, *exec.Cmd, error) {
	log, err := os.OpenFile(g.o.Log(n.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, err
	}
	cmd, err := g.o.Command(ctx, n.name, log)
	if err != nil {
		return nil, nil, err
	}
	if err := g.o.Start(n.name, cmd); err != nil {
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
func (g *Group) reap(n *node, p *process, cmd *exec.Cmd) {
	if devnet.AwaitEnd(cmd) {
		endGroup(cmd)
	}
	_ = cmd.Wait() // an exit that is no success is told by the state
	p.end = cmd.ProcessState
	close(p.done)
	if g.closing.Load() {
		return
	}
	log := g.o.Log(n.name)
	exit := Exit{Node: n.name, Process: p.id, State: p.end.String(), Signal: signalOf(p.end), Code: p.end.ExitCode(), Log: log, Tail: Tail(log, p.log)}
	select {
	case g.exits <- exit:
	default:
	}
}

// Ended says how that incarnation of the node ended; ok is false while it runs,
// and when it is not the newest.
func (g *Group) Ended(name string, id devnet.Identity) (state string, ok bool) {
	n := g.nodes[name]
	if n == nil {
		return "", false
	}
	p := n.process.Load()
	if p == nil || p.id != id || !p.ended() {
		return "", false
	}
	return p.end.String(), true
}

// Signal sends sig to the node's present incarnation.
func (g *Group) Signal(name string, sig syscall.Signal) error {
	if _, err := g.find(name); err != nil {
		return err
	}
	id, ok := g.Identity(name)
	if !ok {
		return fmt.Errorf("node %s: not running: %w", name, os.ErrProcessDone)
	}
	return devnet.Signal(id, sig)
}

// Kill ends the node's present incarnation with SIGKILL and waits until it is
// gone; a node that is not running stays so.
func (g *Group) Kill(ctx context.Context, name string) error {
	n, err := g.find(name)
	if err != nil {
		return err
	}
	p := n.process.Load()
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

const (
	askTimeout = 2 * time.Second       // of one question: a paused node accepts and never answers
	pollPeriod = 50 * time.Millisecond // how often a condition is looked at
)

// Poll asks until there is no error, as long as the node's process lives and the
// file system of Dir has room; each question has two seconds. fault says what is
// wrong when ctx ends.
func (g *Group) Poll(ctx context.Context, name, fault string, ask func(context.Context) error) error {
	n, err := g.find(name)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		p := n.process.Load()
		if p == nil {
			return fmt.Errorf("node %s: not running", name)
		}
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(once)
		cancel()
		if err == nil {
			return nil
		}
		if full := g.spent(name, p); full != nil {
			return fmt.Errorf("%w; last: %w", full, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s: %s: %w; last: %w", name, fault, ctx.Err(), err)
		case <-p.done:
			log := g.o.Log(name)
			return fmt.Errorf("node %s: process ended: %s; the end of %s:\n%s", name, p.end, log, Tail(log, p.log))
		case <-tick.C:
		}
	}
}

// LogBegin is where the output of the node's newest incarnation begins in its
// log.
func (g *Group) LogBegin(name string) int64 {
	if n := g.nodes[name]; n != nil {
		if p := n.process.Load(); p != nil {
			return p.log
		}
	}
	return 0
}

// Stop ends every process, in order if it can: SIGTERM, and SIGKILL for those
// that take longer than StopGrace or than ctx allows. None can be started
// afterwards. It returns, at the latest KillGrace after ctx, what could not be
// stopped in order.
func (g *Group) Stop(ctx context.Context) []error {
	g.closing.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	signal := func(p *process, sig syscall.Signal) {
		if err := devnet.Signal(p.id, sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	var live []*node
	for _, name := range g.o.Names {
		n := g.nodes[name]
		if p := n.process.Load(); p != nil && !p.ended() {
			live = append(live, n)
			signal(p, syscall.SIGTERM)
			signal(p, syscall.SIGCONT) // a paused one takes it then
		}
	}
	ctx, cancel := context.WithTimeout(ctx, StopGrace)
	defer cancel()
	await(ctx, live)
	for _, n := range live {
		if p := n.process.Load(); !p.ended() {
			errs = append(errs, fmt.Errorf("node %s: process %s did not stop on SIGTERM and was killed", n.name, p.id))
			signal(p, syscall.SIGKILL)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), KillGrace)
	defer cancel()
	await(last, live)
	for _, n := range live {
		if p := n.process.Load(); !p.ended() {
			errs = append(errs, fmt.Errorf("node %s: process %s is there after SIGKILL", n.name, p.id))
		}
	}
	return errs
}

// Processes lists the incarnations that run, by node.
func (g *Group) Processes() map[string]devnet.Identity {
	all := make(map[string]devnet.Identity)
	for name := range g.nodes {
		if id, ok := g.Identity(name); ok {
			all[name] = id
		}
	}
	return all
}

// Names lists the nodes.
func (g *Group) Names() []string { return slices.Clone(g.o.Names) }

func await(ctx context.Context, live []*node) {
	for _, n := range live {
		select {
		case <-n.process.Load().done:
		case <-ctx.Done():
			return
		}
	}
}
