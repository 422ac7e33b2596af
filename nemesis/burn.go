package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/load"
	"github.com/jepgo/jepgo/history"
)

const (
	burnStart = "start-burn"
	burnStop  = "stop-burn"
)

// stepHelper ends the helper processes whose mark is Path.
const stepHelper = "helper"

// Helper is the work of a helper process when args, which are those of the
// program without its name, ask for it; it then returns at its end, and true.
// Every program that runs faults calls it before anything else, because helpers
// are that program again.
func Helper(args []string) (ran bool) { return load.Main(args) }

// burnFault runs processes beside nodes that burn processor time.
type burnFault struct {
	targets targets
	share   float64 // of each core; 0: all of it
}

func burnEntry() Entry {
	return Entry{
		Name: "burn", Doc: "burn processor time on the cores of nodes", Specs: specs(new(burnFault).params()...),
		Start: burnStart, Stop: burnStop, Color: "#F2A65A", New: newBurn,
	}
}

func (f *burnFault) params() []param {
	return []param{f.targets.param(), percent(&f.share, "a share of each core, such as 80%")}
}

func newBurn(spec string) (Fault, error) {
	var f burnFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f burnFault) Name() string {
	name := "burn" + f.targets.suffix()
	if f.share > 0 {
		name += ":" + percentText(f.share)
	}
	return name
}

func (burnFault) Start() string { return burnStart }
func (burnFault) Stop() string  { return burnStop }

func (f burnFault) asked() float64 {
	if f.share == 0 {
		return 1
	}
	return f.share
}

func (f burnFault) Explain() string {
	return fmt.Sprintf("Starts a process of jepgo's own beside each node, with one thread on each core that the node may use, which burns up to %s of the core at normal priority. "+
		"It bites when that process is seen to have used a tenth of what it was asked to or more, or, on a crowded machine, to have wanted half of it; how long the node itself waited for a core meanwhile is in the evidence. "+
		"It is undone when the process is gone. "+
		"Nodes that share cores with the target feel it too: it is load on the machine, not a limit on one node (see throttle). ", percentText(f.asked())) +
		f.targets.explain()
}

func (f burnFault) Possible(r Reach) error { return f.targets.possible(f.Name(), r) }

func (f burnFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	b := &burning{victims: vs, share: f.asked(), fires: make([]fire, len(vs))}
	if b.marks, err = helperMarks(vs, rng); err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	for i, v := range vs {
		if b.fires[i].cores, err = load.Cores(v.id); err != nil {
			return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
		}
	}
	return b, nil
}

// helperMarks are the marks of one helper for each victim.
func helperMarks(vs []victim, rng *rand.Rand) ([]string, error) {
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return nil, err
	}
	marks := make([]string, len(vs))
	for i, v := range vs {
		marks[i] = load.Mark(self, v.node, rng.Uint64())
	}
	return marks, nil
}

// helperSteps are the steps that end helpers.
func helperSteps(vs []victim, marks []string) []Step {
	ss := steps(stepHelper, vs)
	for i := range ss {
		ss[i].Path = marks[i]
	}
	return ss
}

func takeBackHelper(ctx context.Context, s Step) (string, error) {
	n, err := load.End(ctx, s.Path)
	if err != nil {
		return "nothing", err
	}
	return fmt.Sprintf("%s: %d helper processes beside it were ended", s.Node, n), nil
}

// burning is one application of burn.
type burning struct {
	victims []victim
	marks   []string
	share   float64
	fires   []fire
}

// fire is the helper beside one victim.
type fire struct {
	cores  []int
	helper *load.Helper // nil before Apply
	began  time.Time
	waited time.Duration // the victim's, when it began
	out    bool          // we have ended it
	early  bool          // it had ended before that
}

func (b *burning) Value() history.Value {
	return onNodes(b.victims, history.Keyword("share"), history.FloatOf(b.share))
}

func (b *burning) UndoSteps() []Step { return helperSteps(b.victims, b.marks) }

func (b *burning) Apply(ctx context.Context) error {
	return each(len(b.victims), func(i int) (err error) {
		f := &b.fires[i]
		f.waited, _ = load.Waited(b.victims[i].id) // beside the proof; 0 when it has ended
		f.began = time.Now()
		f.helper, err = load.Start(ctx, b.marks[i], load.Work{Cores: f.cores, Duty: b.share})
		if err != nil {
			return fmt.Errorf("%s: %w", b.victims[i], err)
		}
		return nil
	})
}

// burnWindow is how long a burner is watched.
const burnWindow = 500 * time.Millisecond

// heat is what a burner did since it began, in shares of one core.
type heat struct {
	beside              victim
	ticks               uint64
	took                time.Duration
	used, wanted, asked float64
	little              bool // too little for what was asked
}

func (h heat) String() string {
	return fmt.Sprintf("burner beside %s: used %s of a core and wanted %s, expected up to %s", h.beside, percentText(h.used), percentText(h.wanted), percentText(h.asked))
}

func (b *burning) heat(i int) (heat, error) {
	f := &b.fires[i]
	h := heat{beside: b.victims[i], took: time.Since(f.began), asked: b.share * float64(len(f.cores))}
	var err error
	if h.ticks, err = (victim{h.beside.node, f.helper.Process}).used(); err != nil {
		return h, fmt.Errorf("burner: %w", err)
	}
	h.used = float64(time.Duration(h.ticks)*tickTime) / float64(h.took)
	queued, _ := load.Waited(f.helper.Process) // 0 where the kernel does not tell
	// On a crowded machine the burner stands in the queue, and so before the node.
	h.wanted = h.used + float64(queued)/float64(h.took)
	h.little = h.used < h.asked/10 && h.wanted < h.asked/2
	return h, nil
}

func (b *burning) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(b.victims))
	err := each(len(b.victims), func(i int) error {
		f, v := &b.fires[i], b.victims[i]
		return await(ctx, look, func() (string, error) {
			got, err := b.heat(i)
			if err != nil {
				return "", err
			}
			if got.took < burnWindow || got.ticks < 2 || got.little {
				return got.String(), nil
			}
			kvs := append(identity(f.helper.Process),
				history.Keyword("cores"), history.Int(int64(len(f.cores))),
				history.Keyword("used-share"), history.FloatOf(got.used),
				history.Keyword("wanted-share"), history.FloatOf(got.wanted),
				history.Keyword("window-ms"), history.Int(got.took.Milliseconds()))
			if waited, err := load.Waited(v.id); err == nil {
				kvs = append(kvs, history.Keyword("node-waited-ms"), history.Int((waited - f.waited).Milliseconds()))
			}
			seen[i] = history.MapOf(kvs...)
			return "", nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	return perNode(b.victims, seen), nil
}

func (b *burning) Stands() error {
	var errs []error
	for i, f := range b.fires {
		got, err := b.heat(i)
		switch {
		case !f.helper.Alive():
			err = fmt.Errorf("the burner beside %s has ended before its time", b.victims[i])
		case err == nil && got.little:
			err = fmt.Errorf("all in all, %s", got)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (b *burning) Undo(ctx context.Context) error {
	return each(len(b.fires), func(i int) error {
		f := &b.fires[i]
		if f.helper == nil {
			_, err := load.End(ctx, b.marks[i])
			return err
		}
		if !f.out && !f.helper.Alive() {
			f.early = true
		}
		f.out = true
		return f.helper.Stop(ctx)
	})
}

func (b *burning) VerifyUndone(context.Context) (history.Value, error) {
	seen := make([]history.Value, len(b.fires))
	for i, f := range b.fires {
		left, err := load.Find(b.marks[i])
		if err != nil {
			return history.Value{}, err
		}
		if len(left) > 0 {
			return history.Value{}, fmt.Errorf("%s: %d burners beside it still run", b.victims[i], len(left))
		}
		kvs := []history.Value{history.Keyword("burner-gone"), history.Flag(true)}
		if f.early {
			kvs = append(kvs, history.Keyword("ended-early"), history.Flag(true))
		}
		seen[i] = history.MapOf(kvs...)
	}
	return perNode(b.victims, seen), nil
}

// helperMechanism are the helpers, for those who look for what is left.
func helperMechanism() Mechanism {
	return Mechanism{
		Name: "helpers", Also: []string{"burners"}, Doc: "processes of jepgo's own that load the machine beside a node",
		More:  "They burn processor time on the cores of a node, and end with jepgo; the guardian and jepgo heal look for any that are left.",
		Probe: works,
		Leftovers: func() ([]Leftover, error) {
			ids, err := load.Leftovers()
			var left []Leftover
			for _, id := range ids {
				left = append(left, Leftover{What: fmt.Sprintf("helper process %s", id), Remove: func(ctx context.Context) error {
					return load.EndOne(ctx, id)
				}})
			}
			return left, err
		},
	}
}
