package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// stepCopy is a copy of a data directory, at Path.
const stepCopy = "copy"

// copyPrefix begins the names of copies. A random end, and that the copy's
// directory was made and not found, keep them from being anybody else's.
const copyPrefix = ".jepgo-rollback-"

// rollback puts data directories back to what they were a while ago.
type rollback struct{ age time.Duration }

func rollbackEntry() Entry {
	e := harmEntry("rollback", "put the data directories of nodes back to what they were", "#1F618D", func() harmKind { return new(rollback) })
	made := e.New
	e.New = func(spec string) (Fault, error) {
		f, err := made(spec)
		if err != nil {
			return nil, err
		}
		return rollbackFault{f.(*harmFault)}, nil
	}
	return e
}

func (r *rollback) params() []param {
	return []param{duration(&r.age, "how long ago such as 5s", time.Second, 10*time.Second)}
}

func (r *rollback) parts() string {
	if r.age > 0 {
		return ":" + r.age.String()
	}
	return ""
}

func (r *rollback) about() []history.Value { return nil }

func (*rollback) explain() string {
	return "Copies the data directories of nodes while they are stopped for it by SIGSTOP, lets them go on for a while (2 to 8 seconds, or what is asked for), " +
		"then ends them with SIGKILL and puts the copies back, as an operator does who restores a backup, or a virtual machine's snapshot. " +
		"The copy is what a kill at that moment would have left. A validator forgets what it has signed since, so it may sign another block at the same height, " +
		"which proof-of-stake chains punish: that is what is tested. " +
		"It bites when the data directory is read and is the copy, byte by byte, and not what it was before."
}

// do is not used: each node has a copy of its own.
func (*rollback) do(string, *rand.Rand) (harm, error) {
	return harm{}, errors.New("rollback: has no copy")
}

// rollbackFault plans with copies.
type rollbackFault struct{ *harmFault }

func (f rollbackFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	h, err := f.plan(ctx, net, rng)
	if err != nil {
		return nil, err
	}
	r := &rollingBack{harming: h, age: f.kind.(*rollback).age, copies: make([]string, len(h.victims))}
	drawn := time.Duration(2+rng.IntN(7)) * time.Second
	if r.age == 0 {
		r.age = drawn
	}
	for i := range r.copies {
		r.copies[i] = filepath.Join(filepath.Dir(h.dirs[i]), fmt.Sprintf("%s%016x", copyPrefix, h.rngs[i].Uint64()))
	}
	return r, nil
}

// rollingBack is one application of rollback.
type rollingBack struct {
	*harming
	age    time.Duration
	copies []string
	ours   []string // copies that were made
}

func (r *rollingBack) Value() history.Value {
	return restartingValue(r.victims, history.Keyword("age-ms"), history.Int(r.age.Milliseconds()))
}

func (r *rollingBack) UndoSteps() []Step {
	ss := append(r.harming.UndoSteps(), steps(stepResume, r.victims)...)
	for i, v := range r.victims {
		ss = append(ss, Step{Kind: stepCopy, Node: v.node, Path: r.copies[i]})
	}
	return ss
}

func (r *rollingBack) Apply(ctx context.Context) error {
	for i, v := range r.victims {
		if err := os.Mkdir(r.copies[i], 0o700); err != nil {
			return fmt.Errorf("node %q: copy: %w", v.node, err)
		}
		r.ours = append(r.ours, r.copies[i])
	}
	if err := each(len(r.victims), func(i int) error { return r.snapshot(ctx, i) }); err != nil {
		return err
	}
	if !idle(ctx, r.age) {
		return fmt.Errorf("rollback: no time left to wait %v: %w", r.age, context.Cause(ctx))
	}
	if err := r.killing.Apply(ctx); err != nil {
		return err
	}
	if _, err := r.killing.Probe(ctx); err != nil {
		return err
	}
	return each(len(r.victims), func(i int) error {
		if d := r.disks[i]; d != nil {
			if err := d.Close(); err != nil {
				return err
			}
		}
		if err := r.putBack(i); err != nil {
			return fmt.Errorf("node %q: %w", r.victims[i].node, err)
		}
		return nil
	})
}

// snapshot copies a node's data while it stands still.
func (r *rollingBack) snapshot(ctx context.Context, i int) (err error) {
	v := r.victims[i]
	if err := devnet.Signal(v.id, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devnet.Signal(v.id, syscall.SIGCONT)) }()
	err = await(ctx, look, func() (string, error) {
		state, _, err := devnet.State(v.id)
		if err == nil && state != stopped {
			return fmt.Sprintf("%s: state %c after SIGSTOP", v, state), nil
		}
		return "", err
	})
	if err != nil {
		return err
	}
	if d := r.disks[i]; d != nil {
		if err := d.Flush(); err != nil {
			return err
		}
	}
	return copyTree(r.dirs[i], r.copies[i])
}

// putBack makes the data directory what the copy is.
func (r *rollingBack) putBack(i int) error {
	dir := r.dirs[i]
	was, err := sameTree(dir, r.copies[i])
	if err != nil {
		return err
	}
	files, bytes, err := sizeOfTree(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(emptyDir(dir), copyTree(r.copies[i], dir)); err != nil {
		return err
	}
	back, backBytes, err := sizeOfTree(dir)
	if err != nil {
		return err
	}
	r.harms[i] = harm{
		evidence: []history.Value{
			history.Keyword("files-before"), history.Int(files), history.Keyword("bytes-before"), history.Int(bytes),
			history.Keyword("files"), history.Int(back), history.Keyword("bytes"), history.Int(backBytes),
			history.Keyword("differed"), history.Flag(!was),
		},
		seen: func() error {
			same, err := sameTree(dir, r.copies[i])
			switch {
			case err != nil:
				return err
			case was:
				return fmt.Errorf("directory %q: nothing was written in %v, so there is nothing to put back", dir, r.age)
			case !same:
				return fmt.Errorf("directory %q: is not what was copied", dir)
			}
			return nil
		},
	}
	return nil
}

func (r *rollingBack) Undo(ctx context.Context) error {
	var errs []error
	for _, v := range r.victims { // a snapshot may have been cut short
		if err := devnet.Signal(v.id, syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	for _, c := range r.ours {
		errs = append(errs, os.RemoveAll(c))
	}
	return errors.Join(append(errs, r.harming.Undo(ctx))...)
}

// takeBackCopy removes a copy that was left. Whoever did not get as far as the
// copy left none.
func takeBackCopy(_ context.Context, s Step) (string, error) {
	if !strings.HasPrefix(filepath.Base(s.Path), copyPrefix) {
		return "nothing", fmt.Errorf("copy %q: not one of ours", s.Path)
	}
	if _, err := os.Lstat(s.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("no copy of the data of %s is left", s.Node), nil
	}
	if err := os.RemoveAll(s.Path); err != nil {
		return "nothing", err
	}
	return fmt.Sprintf("a copy of the data of %s was removed", s.Node), nil
}

// copyTree copies directories, regular files and symbolic links.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.Mkdir(at, info.Mode().Perm())
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		case d.Type().IsRegular():
			return copyFile(path, at, info.Mode().Perm())
		}
		return nil // a socket means nothing without its process
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
