package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// allowed is Possible for what no undo brings back.
func allowed(fault string, r Reach) error {
	if !r.Irreversible {
		return fmt.Errorf("nemesis %q: destroys data that no undo brings back: on a network of jepgo's own, say --allow-irreversible", fault)
	}
	return nil
}

// harmKind is one way to harm the data of a node that is stopped.
type harmKind interface {
	params() []param
	parts() string
	explain() string
	// about describes it in the value of an application.
	about() []history.Value
	// do harms what is in dir. What it chooses, it draws from rng.
	do(dir string, rng *rand.Rand) (harm, error)
}

// harm is what was done to one node's data.
type harm struct {
	evidence []history.Value
	// seen looks whether the data is as it was made; nil: nothing was done.
	seen func() error
}

// harmFault stops nodes, harms their data and starts them again.
type harmFault struct {
	name    string
	kind    harmKind
	targets targets
}

// harmEntry is the entry of a kind of harm.
func harmEntry(name, doc, color string, kind func() harmKind) Entry {
	return Entry{
		Name: name, Doc: doc, Specs: specs(append(kind().params(), new(targets).param())...), Irreversible: true,
		Start: "start-" + name, Stop: "stop-" + name, Color: color,
		New: func(spec string) (Fault, error) {
			f := &harmFault{name: name, kind: kind()}
			// A node's name is no pattern, so targets come first.
			err := parseSpec(spec, append([]param{f.targets.param()}, f.kind.params()...)...)
			return f, err
		},
	}
}

func (f *harmFault) Name() string  { return f.name + f.kind.parts() + f.targets.suffix() }
func (f *harmFault) Start() string { return "start-" + f.name }
func (f *harmFault) Stop() string  { return "stop-" + f.name }

func (f *harmFault) Explain() string {
	return f.kind.explain() + " " +
		"It is undone when the node was started on what is left; what was destroyed stays so, so it must be allowed (--allow-irreversible). " +
		"What the node did is told: ready again, or a finding that it did not come back. " + f.targets.explain()
}

func (f *harmFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	return allowed(f.Name(), r)
}

func (f *harmFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	return f.plan(ctx, net, rng)
}

func (f *harmFault) plan(ctx context.Context, net Net, rng *rand.Rand) (*harming, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	h := &harming{
		killing: killing{lives: newLives(net, vs), signal: syscall.SIGKILL},
		kind:    f.kind, dirs: make([]string, len(vs)), disks: make([]*disk.Disk, len(vs)),
		rngs: make([]*rand.Rand, len(vs)), harms: make([]harm, len(vs)),
	}
	for i, v := range vs {
		h.rngs[i] = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		if net.Disks != nil {
			h.dirs[i], h.disks[i] = net.Disks.Dir(v.node), net.Disks.Disk(v.node)
		}
		if h.disks[i] != nil {
			h.dirs[i] = h.disks[i].Backing()
		}
		if h.dirs[i] == "" {
			return nil, fmt.Errorf("nemesis %q: node %q: where its data is, is not known", f.Name(), v.node)
		}
	}
	return h, nil
}

// harming is one application of harm.
type harming struct {
	killing
	kind  harmKind
	dirs  []string     // where the data is while the node is stopped
	disks []*disk.Disk // nil where the data is on an ordinary file system
	rngs  []*rand.Rand
	harms []harm
}

func (h *harming) Value() history.Value { return restartingValue(h.victims, h.kind.about()...) }

func (h *harming) UndoSteps() []Step {
	return append(diskSteps(h.victims, h.disks), steps(stepStart, h.victims)...)
}

// Apply stops the nodes and takes their disks away, so that the data is in an
// ordinary directory: all that they wrote is there, as after kill.
func (h *harming) Apply(ctx context.Context) error {
	if err := h.killing.Apply(ctx); err != nil {
		return err
	}
	if _, err := h.killing.Probe(ctx); err != nil {
		return err
	}
	return each(len(h.victims), func(i int) (err error) {
		if h.disks[i] != nil {
			if err := h.disks[i].Close(); err != nil {
				return err
			}
		}
		if h.harms[i], err = h.kind.do(h.dirs[i], h.rngs[i]); err != nil {
			return fmt.Errorf("node %q: %w", h.victims[i].node, err)
		}
		return nil
	})
}

func (h *harming) Probe(context.Context) (history.Value, error) {
	seen := make([]history.Value, len(h.victims))
	for i, v := range h.victims {
		if err := h.harms[i].seen(); err != nil {
			return history.Value{}, fmt.Errorf("node %q: %w", v.node, err)
		}
		seen[i] = history.MapOf(append(identity(v.id), h.harms[i].evidence...)...)
	}
	return perNode(h.victims, seen), nil
}

func (h *harming) Undo(ctx context.Context) error {
	err := each(len(h.victims), func(i int) error {
		if h.disks[i] == nil {
			return nil
		}
		return h.disks[i].Remount()
	})
	return errors.Join(err, h.killing.Undo(ctx))
}

func (h *harming) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(h.victims))
	err := each(len(h.victims), func(i int) error {
		if h.disks[i] != nil {
			if err := soundDisk(h.disks[i], 0); err != nil {
				return fmt.Errorf("node %q: %w", h.victims[i].node, err)
			}
		}
		seen[i] = history.MapOf(comeback(ctx, h.net, h.victims[i], false)...)
		return nil
	})
	return perNode(h.victims, seen), err
}

// fileChoice is which files of a node are harmed.
type fileChoice struct{ pattern string }

// param takes a pattern: anything with a dot, a star or a slash.
func (c *fileChoice) param() param {
	return param{
		doc: "a file pattern such as *.log",
		take: func(part string) (bool, error) {
			if !strings.ContainsAny(part, "*./?") {
				return false, nil
			}
			if _, err := filepath.Match(part, "x"); err != nil {
				return true, fmt.Errorf("%q: expected a file pattern such as *.log", part)
			}
			c.pattern = part
			return true, nil
		},
	}
}

func (c *fileChoice) parts() string {
	if c.pattern != "" {
		return ":" + c.pattern
	}
	return ""
}

func (c *fileChoice) about() []history.Value {
	if c.pattern == "" {
		return nil
	}
	return []history.Value{history.Keyword("files"), history.Text(c.pattern)}
}

const fileChoiceText = "One to three files are drawn among those that are not empty, or that match the pattern; " +
	"without a pattern, locks, keys and settings are left alone, which would only say that a node needs them. "

// spared are what only an explicit pattern harms.
func spared(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"lock", "key", "config", "genesis", "jwt", ".toml"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// choose draws files below dir and returns their paths from it.
func (c *fileChoice) choose(dir string, rng *rand.Rand) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || info.Size() == 0 {
			return err
		}
		whole, _ := filepath.Match(c.pattern, rel)
		base, _ := filepath.Match(c.pattern, d.Name())
		if whole || base || c.pattern == "" && !spared(d.Name()) {
			files = append(files, rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %q: no file to harm%s", dir, c.parts())
	}
	slices.Sort(files) // the draw must not depend on the walk
	chosen := shuffled(files, rng)[:min(len(files), 1+rng.IntN(3))]
	slices.Sort(chosen)
	return chosen, nil
}

// eachFile harms the chosen files one by one.
func (c *fileChoice) eachFile(dir string, rng *rand.Rand, do func(path string, size int64) (harm, error)) (harm, error) {
	files, err := c.choose(dir, rng)
	if err != nil {
		return harm{}, err
	}
	var all []history.Value
	var looks []func() error
	for _, f := range files {
		path := filepath.Join(dir, f)
		info, err := os.Lstat(path)
		if err != nil {
			return harm{}, err
		}
		one, err := do(path, info.Size())
		if err != nil {
			return harm{}, err
		}
		all = append(all, history.Text(f), history.MapOf(append([]history.Value{history.Keyword("size-bytes"), history.Int(info.Size())}, one.evidence...)...))
		looks = append(looks, one.seen)
	}
	return harm{
		evidence: []history.Value{history.Keyword("files"), history.MapOf(all...)},
		seen: func() error {
			for _, l := range looks {
				if err := l(); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}
