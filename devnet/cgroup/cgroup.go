// Package cgroup puts the processes of nodes into control groups of ours, to
// limit and to freeze them, and takes that back without a trace.
//
// Both versions of control groups are used, where the machine mounts them: the
// places come from /proc/self/mountinfo and /proc/PID/cgroup, never from a fixed
// path. A group is made on demand, one for each node and hierarchy, as near to
// where the node's process is as the kernel's rules allow, and never outside a
// limit that holds there. Its name carries our mark, its owner and its node, so
// that Leftovers recognises it when the owner is gone.
//
// Guarantees: a process is moved with all its threads; only groups with our mark
// are changed or removed, and each setting goes back to the kernel's default,
// which is what a new group has. Nothing here ends with its owner by itself:
// write the undo on a ledger first. Cost: a few reads and writes of small files,
// well under a millisecond each; removing waits for the kernel.
//
// Bounds: memory that a process has when it is moved stays charged to the group
// that it comes from, and a limit counts what is charged from then on. A limit is
// that of one process, and does not hold for one that is started in its place.
// Children that a process had before it was moved stay where they are.
//
// It is not for isolation: a process with the rights of ours can leave.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// Controller is one resource that groups control.
type Controller string

// The controllers that are used here, by their names in version 2.
const (
	CPU     Controller = "cpu"
	Memory  Controller = "memory"
	Freezer Controller = "freezer" // version 2 has it without a controller
	IO      Controller = "io"      // version 1 calls it blkio
)

// Group is one control group of ours, for one node, as one controller sees it.
// In version 2 the groups of a node's controllers are the same directory. A
// Group has no state beside its names: it is safe for concurrent use as far as
// the kernel is.
type Group struct {
	Controller Controller
	Version    int    // of control groups: 1 or 2
	Path       string // its directory
	Home       string // the directory of the group that its process comes from
	Mark       Mark
}

const (
	procsFile = "cgroup.procs"
	// tick is how often the kernel is asked whether it has finished.
	tick = 5 * time.Millisecond
)

// For says which group the process belongs into; nothing is touched. When the
// process is in a group of ours already, that is the one, whoever made it.
func For(c Controller, id devnet.Identity, m Mark) (*Group, error) {
	return forVersion(c, 0, id, m)
}

// forVersion is For in one version of control groups; 0 is whichever has the
// controller, 2 first.
func forVersion(c Controller, version int, id devnet.Identity, m Mark) (*Group, error) {
	p, err := find(c, version, id.PID)
	if err != nil {
		return nil, err
	}
	if !devnet.Alive(id) { // before, what was read may be a stranger's
		return nil, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	if own, err := parseMark(filepath.Base(p.dir)); err == nil {
		return &Group{c, p.version, p.dir, own.homeOf(p.dir), own}, nil
	}
	m.target = id
	if m.home, err = filepath.Rel(p.parent, p.dir); err != nil {
		return nil, err
	}
	name, err := m.name()
	if err != nil {
		return nil, err
	}
	return &Group{c, p.version, filepath.Join(p.parent, name), p.dir, m}, nil
}

// Open returns the group of ours in that directory, whether it is there or not,
// for whoever finishes its undo. The error says that it does not carry our mark.
func Open(path string) (*Group, error) {
	m, err := parseMark(filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("control group %q: %w", path, err)
	}
	version := 1
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "cgroup.controllers")); err == nil {
		version = 2
	}
	return &Group{"", version, path, m.homeOf(path), m}, nil
}

// Probe returns why groups of that controller cannot be made here, and what
// would help. It makes one and removes it, so it leaves no trace; no process is
// moved.
func Probe(c Controller) error {
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	// A name of its own: several may probe at once.
	g, err := For(c, self, Mark{Owner: self, Node: "probe-" + strconv.FormatInt(time.Now().UnixNano(), 36)})
	if err != nil {
		return err
	}
	if g.Exists() { // this process is in a group of ours
		return nil
	}
	return errors.Join(g.create(), g.rmdir(context.Background()))
}

// Exists reports whether the group is there.
func (g *Group) Exists() bool {
	_, err := os.Stat(g.Path)
	return err == nil
}

// Has reports whether the process is in the group.
func (g *Group) Has(id devnet.Identity) bool {
	pids, err := g.Processes()
	if err != nil {
		return false
	}
	for _, pid := range pids {
		if pid == id.PID {
			return devnet.Alive(id)
		}
	}
	return false
}

// Processes lists the pids in the group.
func (g *Group) Processes() ([]int, error) { return pidsIn(g.Path) }

func pidsIn(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, procsFile))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("%s of %q: pid %q: expected a whole number", procsFile, dir, f)
		}
		if pid > 0 { // 0 is a process that this namespace cannot name
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Enter makes the group, unless it is there, and moves the process into it with
// all its threads. The error wraps os.ErrProcessDone when the process has ended.
func (g *Group) Enter(id devnet.Identity) error {
	if err := g.create(); err != nil {
		return err
	}
	if !devnet.Alive(id) {
		return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	if err := write(g.Path, procsFile, strconv.Itoa(id.PID)); err != nil {
		if !devnet.Alive(id) {
			return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
		}
		return g.advise(fmt.Errorf("process %s: %w", id, err))
	}
	if !g.Has(id) {
		if !devnet.Alive(id) {
			return fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
		}
		return fmt.Errorf("control group %q: process %s is not seen in it", g.Path, id)
	}
	return nil
}

func (g *Group) create() error {
	if err := os.Mkdir(g.Path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the group's own name says nothing to anybody
		}
		return g.advise(fmt.Errorf("control group in %q: %w", filepath.Dir(g.Path), err))
	}
	for _, s := range g.settings() {
		if _, err := os.Stat(filepath.Join(g.Path, s.file)); err != nil && !s.optional {
			_ = os.Remove(g.Path) // refused while somebody is in it
			return fmt.Errorf("control group %q: the kernel offers no %s there", g.Path, s.file)
		}
	}
	return nil
}

// Lift takes the limits of the group's controller back. Where nothing else is in
// force in it, its processes go back where they came from and it is removed. It is
// idempotent.
func (g *Group) Lift(ctx context.Context) error {
	if !g.Exists() {
		return nil
	}
	if err := g.reset(ctx, g.settings()); err != nil {
		return err
	}
	left, err := g.InForce()
	if err != nil || len(left) > 0 {
		return err
	}
	return g.Remove(ctx)
}

// Remove takes every limit in the group back, moves its processes back where
// they came from, and removes it. It is idempotent.
func (g *Group) Remove(ctx context.Context) error {
	if !g.Exists() {
		return nil
	}
	if err := g.reset(ctx, allSettings(g.Version)); err != nil {
		return err
	}
	return g.rmdir(ctx)
}

// rmdir moves everybody out until the kernel lets the directory go.
func (g *Group) rmdir(ctx context.Context) error {
	return until(ctx, func() (string, error) {
		pids, err := g.Processes()
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("control group: %w", err)
		}
		for _, pid := range pids {
			if err := g.expel(pid); err != nil {
				return "", err
			}
		}
		err = os.Remove(g.Path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return fmt.Sprintf("control group %q: %d processes were in it: %v", g.Path, len(pids), err), nil
	})
}

// expel moves one process out of the group: home, or to the group above when
// home is gone.
func (g *Group) expel(pid int) error {
	var err error
	for _, dir := range []string{g.Home, filepath.Dir(g.Path)} {
		if err = write(dir, procsFile, strconv.Itoa(pid)); err == nil || isGone(err) {
			return nil
		}
	}
	return fmt.Errorf("control group %q: process %d does not leave it: %w", g.Path, pid, err)
}

// InForce lists the settings of the group that are not as in a new one, as
// "file: value"; none when the group is gone.
func (g *Group) InForce() ([]string, error) {
	return g.inForce(allSettings(g.Version))
}

// OwnInForce is InForce for the group's controller alone.
func (g *Group) OwnInForce() ([]string, error) {
	return g.inForce(g.settings())
}

// Lifted returns nil when no limit of the group's controller is in force in it,
// or it is gone: what an undo must have reached. A group that nothing is in force
// in must be gone.
func (g *Group) Lifted() error {
	if !g.Exists() {
		return nil
	}
	own, err := g.inForce(g.settings())
	if err != nil {
		return err
	}
	if len(own) > 0 {
		return fmt.Errorf("control group %q: still in force: %s", g.Path, strings.Join(own, ", "))
	}
	if all, err := g.InForce(); err != nil || len(all) > 0 {
		return err
	}
	return fmt.Errorf("control group %q: still there", g.Path)
}

// until asks again until nothing is missing, an error, or the end of ctx.
func until(ctx context.Context, ask func() (missing string, err error)) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		missing, err := ask()
		if err != nil || missing == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: gave up waiting: %w", missing, context.Cause(ctx))
		case <-t.C:
		}
	}
}
