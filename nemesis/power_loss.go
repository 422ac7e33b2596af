package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

const (
	powerStart = "start-power"
	powerStop  = "stop-power"
)

// powerFault takes the power from nodes: kill, and what was not fsynced is lost.
type powerFault struct {
	targets targets
	torn    float64
	clean   string // "clean": nothing is torn
}

func powerEntry() Entry {
	var f powerFault
	return Entry{
		Name: "power", Doc: "kill nodes and lose what they did not fsync", Specs: specs(f.params()...),
		Start: powerStart, Stop: powerStop, Color: "#CD6155", New: newPower,
	}
}

func newPower(spec string) (Fault, error) {
	f := new(powerFault)
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f *powerFault) params() []param {
	return []param{percent(&f.torn, "a share of sectors that survive such as 50%"), oneOf(&f.clean, "clean"), f.targets.param()}
}

func (f *powerFault) Name() string {
	name := "power"
	if f.torn > 0 {
		name += ":" + shareText(f.torn)
	}
	if f.clean != "" {
		name += ":clean"
	}
	return name + f.targets.suffix()
}

func (*powerFault) Start() string { return powerStart }
func (*powerFault) Stop() string  { return powerStop }
func (*powerFault) Needs() Needs  { return Needs{Disks: true} }

func (f *powerFault) Explain() string {
	return "Takes the power from nodes: SIGKILL, and everything that they wrote and did not fsync is gone from their disks, up to 30 seconds of it; " +
		"each sector of 512 bytes of that survives with the probability asked for, so that writes are torn; clean loses all of it; without either, one of none and half is drawn. " +
		"Names are not lost: files that were created, renamed or truncated stay so. " +
		"It bites when the very process that was named is seen gone and its disk is dead; what was lost is counted in bytes, which is 0 for a node that had made everything durable. " +
		"It is undone when the disk is mounted again and sound and the node was started on what is left; " +
		"whether it comes back is told, and is a finding about the node if it does not. The data directory is on a disk of jepgo's (FUSE) from before the node's start. " +
		f.targets.explain()
}

func (f *powerFault) Possible(r Reach) error {
	if f.torn > 0 && f.clean != "" {
		return fmt.Errorf("nemesis %q: expected a share of sectors that survive, or clean", f.Name())
	}
	return possibleOnDisks(f.Name(), f.targets, r)
}

func (f *powerFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, disks, err := planOnDisks(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	torn := []float64{0, 0.5}[rng.IntN(2)]
	if f.torn > 0 || f.clean != "" {
		torn = f.torn
	}
	return &powering{
		killing: killing{lives: newLives(net, vs), signal: syscall.SIGKILL},
		disks:   disks, torn: torn, lost: make([]disk.Lost, len(vs)),
	}, nil
}

// powering is one application of power.
type powering struct {
	killing
	disks []*disk.Disk
	torn  float64
	lost  []disk.Lost
}

func (p *powering) Value() history.Value {
	return restartingValue(p.victims, history.Keyword("torn"), history.FloatOf(p.torn))
}

// UndoSteps lists the disks first: they are taken back last, when nobody uses
// them.
func (p *powering) UndoSteps() []Step {
	return append(diskSteps(p.victims, p.disks), steps(stepStart, p.victims)...)
}

// Apply kills all before the first disk dies, as one switch would.
func (p *powering) Apply(ctx context.Context) error {
	if err := p.killing.Apply(ctx); err != nil {
		return err
	}
	if _, err := p.killing.Probe(ctx); err != nil {
		return err
	}
	return each(len(p.victims), func(i int) (err error) {
		p.lost[i], err = p.disks[i].Crash(p.torn)
		return err
	})
}

func (p *powering) Probe(ctx context.Context) (history.Value, error) {
	if _, err := p.killing.Probe(ctx); err != nil {
		return history.Value{}, err
	}
	seen := make([]history.Value, len(p.victims))
	for i, v := range p.victims {
		if p.disks[i].Mounted() {
			return history.Value{}, fmt.Errorf("%s: its disk is still there", v)
		}
		lost := p.lost[i]
		seen[i] = history.MapOf(append(identity(v.id),
			history.Keyword("gone"), history.Flag(true),
			history.Keyword("lost-bytes"), history.Int(lost.Bytes),
			history.Keyword("lost-pages"), history.Int(int64(lost.Pages)),
			history.Keyword("lost-files"), history.Int(int64(lost.Files)),
			history.Keyword("kept-sectors"), history.Int(lost.Kept))...)
	}
	return perNode(p.victims, seen), nil
}

func (p *powering) Undo(ctx context.Context) error {
	err := each(len(p.victims), func(i int) error { return p.disks[i].Remount() })
	return errors.Join(err, p.killing.Undo(ctx))
}

func (p *powering) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(p.victims))
	err := each(len(p.victims), func(i int) error {
		if err := soundDisk(p.disks[i], 0); err != nil {
			return fmt.Errorf("node %q: %w", p.victims[i].node, err)
		}
		seen[i] = history.MapOf(append(comeback(ctx, p.net, p.victims[i], false),
			history.Keyword("lost-bytes"), history.Int(p.lost[i].Bytes))...)
		return nil
	})
	return perNode(p.victims, seen), err
}
