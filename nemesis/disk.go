package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// Disks is where the nodes keep their data. Methods are safe for concurrent use.
type Disks interface {
	// Disk returns the disk that the node's data directory is on; nil when it is on
	// an ordinary file system, or there is no such node.
	Disk(node string) *disk.Disk
	// Dir returns the node's data directory as the node sees it; "" when it is not
	// on this machine.
	Dir(node string) string
}

// stepDisk says that the disk of Node, mounted on Path and named Was, is faulty.
// It is sound again, and gone, when its owner is; its dead mount may be left.
const stepDisk = "disk"

// diskKind is one way for disks to fail while they are used.
type diskKind interface {
	params() []param
	// parts is what was asked for, as the parts after the name: ":200ms".
	parts() string
	// explain says what it does and when it bites.
	explain() string
	// draw makes the fault of one application, and describes it.
	draw(rng *rand.Rand) (disk.Fault, []history.Value)
	// bites looks on a disk that is under the fault whether it is, and returns what
	// was measured.
	bites(ctx context.Context, d *disk.Disk, c *disk.Canary, f disk.Fault) ([]history.Value, error)
}

// diskFault makes the disks of running nodes fail in one way.
type diskFault struct {
	name    string
	kind    diskKind
	targets targets
}

// diskEntry is the entry of a kind of failing disk.
func diskEntry(name, doc, color string, kind func() diskKind) Entry {
	made := func(spec string) (Fault, error) {
		f := &diskFault{name: name, kind: kind()}
		err := parseSpec(spec, append(f.kind.params(), f.targets.param())...)
		return f, err
	}
	return Entry{
		Name: name, Doc: doc, Specs: specs(append(kind().params(), new(targets).param())...),
		Start: "start-" + name, Stop: "stop-" + name, Color: color, New: made,
	}
}

func (f *diskFault) Name() string  { return f.name + f.kind.parts() + f.targets.suffix() }
func (f *diskFault) Start() string { return "start-" + f.name }
func (f *diskFault) Stop() string  { return "stop-" + f.name }
func (*diskFault) Needs() Needs    { return Needs{Disks: true} }

func (f *diskFault) Explain() string {
	return f.kind.explain() + " A file of jepgo's own on the same disk is used to see it, past the page cache. " +
		"It is undone when such a file can be written, made durable and read back right and in no time, and when the node is ready by RPC: " +
		"one that ended is started again, and one that is not ready although its disk is sound is restarted. " +
		"A node that does not come back even so is a finding about the node, told in the evidence; the disk is sound. " +
		"The node's data directory is on a disk of jepgo's (FUSE) from before its start. " + f.targets.explain()
}

func (f *diskFault) Possible(r Reach) error {
	return possibleOnDisks(f.Name(), f.targets, r)
}

// possibleOnDisks is Possible for a fault of disks of ours.
func possibleOnDisks(fault string, t targets, r Reach) error {
	if err := t.possible(fault, r); err != nil {
		return err
	}
	if !r.Disks {
		return fmt.Errorf("nemesis %q: the data directories of this network's nodes are not on disks of jepgo's, as only those of the embedded devnet are: leave out --devnet FILE", fault)
	}
	if err := disk.Probe(); err != nil {
		return fmt.Errorf("nemesis %q: %w", fault, err)
	}
	return nil
}

func (f *diskFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, disks, err := planOnDisks(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	d := &disking{net: net, victims: vs, disks: disks, kind: f.kind, canaries: make([]*disk.Canary, len(vs)), was: make([]disk.Counters, len(vs))}
	d.fault, d.about = f.kind.draw(rng)
	return d, nil
}

// planOnDisks draws the victims and finds their disks.
func planOnDisks(ctx context.Context, fault string, t targets, net Net, rng *rand.Rand) ([]victim, []*disk.Disk, error) {
	vs, err := t.plan(ctx, fault, net, rng)
	if err != nil {
		return nil, nil, err
	}
	disks := make([]*disk.Disk, len(vs))
	for i, v := range vs {
		if net.Disks != nil {
			disks[i] = net.Disks.Disk(v.node)
		}
		if disks[i] == nil {
			return nil, nil, fmt.Errorf("nemesis %q: node %q: its data is not on a disk of jepgo's", fault, v.node)
		}
	}
	return vs, disks, nil
}

// disking is one application of a failing disk.
type disking struct {
	net      Net
	victims  []victim
	disks    []*disk.Disk
	kind     diskKind
	fault    disk.Fault
	about    []history.Value
	canaries []*disk.Canary
	was      []disk.Counters // before the fault
}

func (d *disking) Value() history.Value { return restartingValue(d.victims, d.about...) }

func (d *disking) UndoSteps() []Step { return diskSteps(d.victims, d.disks) }

func diskSteps(vs []victim, disks []*disk.Disk) []Step {
	var ss []Step
	for i, v := range vs {
		if disks[i] != nil {
			ss = append(ss, Step{Kind: stepDisk, Node: v.node, Target: v.id, Path: disks[i].Dir(), Was: disks[i].Source()})
		}
	}
	return ss
}

func (d *disking) Apply(context.Context) error {
	for i, v := range d.victims {
		var err error
		if d.canaries[i], err = d.disks[i].NewCanary(); err != nil {
			return fmt.Errorf("node %q: %w", v.node, err)
		}
		d.was[i] = d.disks[i].Counters()
	}
	return each(len(d.victims), func(i int) error { return d.disks[i].Set(d.fault) })
}

func (d *disking) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(d.victims))
	err := each(len(d.victims), func(i int) error {
		evidence, err := d.kind.bites(ctx, d.disks[i], d.canaries[i], d.fault)
		if err != nil {
			return fmt.Errorf("node %q: %w", d.victims[i].node, err)
		}
		seen[i] = history.MapOf(append(evidence, d.bitten(i)...)...)
		return nil
	})
	if err := errors.Join(err, d.closeCanaries()); err != nil {
		return history.Value{}, err
	}
	return perNode(d.victims, seen), nil
}

// perNode is a map of values by node.
func perNode(vs []victim, seen []history.Value) history.Value {
	var kvs []history.Value
	for i, v := range vs {
		kvs = append(kvs, history.Text(v.node), seen[i])
	}
	return history.MapOf(kvs...)
}

func (d *disking) closeCanaries() error {
	var errs []error
	for i, c := range d.canaries {
		if c != nil {
			errs = append(errs, c.Close())
		}
		d.canaries[i] = nil
	}
	return errors.Join(errs...)
}

// bitten tells what the fault did to the node's own operations so far.
func (d *disking) bitten(i int) []history.Value {
	c := d.disks[i].Counters().Sub(d.was[i])
	kvs := []history.Value{history.Keyword("operations"), history.Int(c.Reads + c.Writes + c.Fsyncs), history.Keyword("hits"), history.Int(c.Bites())}
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"failed-reads", c.FailedReads}, {"failed-writes", c.FailedWrites}, {"failed-fsyncs", c.FailedFsyncs},
		{"full", c.Full}, {"read-only", c.ReadOnly}, {"flipped-bits", c.Flipped}, {"torn-writes", c.Torn}, {"torn-bytes", c.TornBytes},
		{"delayed", c.Delayed},
	} {
		if n.count > 0 {
			kvs = append(kvs, history.Keyword(n.name), history.Int(n.count))
		}
	}
	if c.Delayed > 0 {
		kvs = append(kvs, history.Keyword("mean-delay-ms"), history.FloatOf(millis(c.DelayedTime/time.Duration(c.Delayed))))
	}
	return kvs
}

func (d *disking) Stands() error {
	for i, on := range d.disks {
		if err := on.InPlace(); err != nil {
			return fmt.Errorf("node %q: %w", d.victims[i].node, err)
		}
	}
	return nil
}

func (d *disking) Undo(ctx context.Context) error {
	err := d.closeCanaries()
	for _, on := range d.disks {
		on.Clear()
	}
	return errors.Join(err, each(len(d.victims), func(i int) error {
		// On what lies under a disk that somebody took away, the node would start as if
		// it had never been.
		if err := d.disks[i].InPlace(); err != nil {
			return err
		}
		return startEnded(ctx, d.net, d.victims[i])
	}))
}

func (d *disking) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(d.victims))
	err := each(len(d.victims), func(i int) error {
		evidence := d.bitten(i)
		if err := soundDisk(d.disks[i], d.fault.Latency); err != nil {
			return fmt.Errorf("node %q: %w", d.victims[i].node, err)
		}
		evidence = append(evidence, history.Keyword("sound"), history.Flag(true))
		seen[i] = history.MapOf(append(evidence, comeback(ctx, d.net, d.victims[i], true)...)...)
		return nil
	})
	return perNode(d.victims, seen), err
}

// soundDisk checks with a canary that a disk does what disks should. latency is
// what it must be faster than, 0 for whatever.
func soundDisk(d *disk.Disk, latency time.Duration) (err error) {
	bites := d.Counters().Bites()
	c, err := d.NewCanary()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	least := time.Duration(0)
	for n := range int64(8) {
		took, err := c.Write(n)
		if err == nil {
			_, err = c.Sync()
		}
		if err != nil {
			return fmt.Errorf("disk of %q: canary: %w", d.Dir(), err)
		}
		if least = min(least, took); n == 0 {
			least = took
		}
		if _, flipped, err := c.Read(); err != nil || flipped > 0 {
			return errors.Join(fmt.Errorf("disk of %q: canary: %d bits are not as written", d.Dir(), flipped), err)
		}
	}
	if latency > 0 && least >= latency {
		return fmt.Errorf("disk of %q: canary: a write still takes %v", d.Dir(), least)
	}
	if more := d.Counters().Bites() - bites; more > 0 {
		return fmt.Errorf("disk of %q: %d operations still failed or were late", d.Dir(), more)
	}
	return nil
}

// takeBackDisk waits for nothing: the fault ended with its owner, and so did the
// disk; its mount may be left.
func takeBackDisk(_ context.Context, s Step) (string, error) {
	ls, err := disk.Leftovers()
	if err != nil {
		return "nothing", err
	}
	for _, l := range ls {
		if l.Mount == s.Path && l.Source == s.Was {
			if err := disk.Detach(l); err != nil {
				return "nothing", err
			}
			return fmt.Sprintf("the dead disk of %s was unmounted", s.Node), nil
		}
	}
	// An owner that lives is told by what Detach says of its mount.
	if err := disk.Detach(disk.Leftover{Mount: s.Path, Source: s.Was}); err != nil {
		return "nothing", err
	}
	return fmt.Sprintf("the disk of %s is gone", s.Node), nil
}

// diskMechanism is for doctor and sweep.
func diskMechanism() Mechanism {
	return Mechanism{
		Name: "disks", Also: []string{"fuse"}, Doc: "data directories on FUSE disks that fail as asked", Probe: disk.Probe,
		More: "Each node's data directory is mounted before the node starts, and jepgo serves every read, write and fsync. With jepgo the disk is dead and its node with it; the guardian and jepgo heal detach the mount. The data below it stays. A user who is not root has disks with --link emulator and --link kernel, in their user namespace.",
		Leftovers: func() ([]Leftover, error) {
			found, err := disk.Leftovers()
			var ls []Leftover
			for _, l := range found {
				ls = append(ls, Leftover{
					What:   fmt.Sprintf("dead disk %q of process %s on %s", l.Name, l.Owner, l.Mount),
					Remove: func(context.Context) error { return disk.Detach(l) },
				})
			}
			return ls, err
		},
	}
}

// shareText prints a share as it is asked for.
func shareText(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", share*100), "0"), ".") + "%"
}

// diskShare is what a fault is asked for that hits a share of what a disk does.
type diskShare struct{ share float64 }

func (d *diskShare) of(what string) []param {
	return []param{percent(&d.share, "a share of the "+what+" such as 5%")}
}

func (d *diskShare) parts() string {
	if d.share > 0 {
		return ":" + shareText(d.share)
	}
	return ""
}

func (d *diskShare) drawn(rng *rand.Rand) (float64, []history.Value) {
	share := []float64{0.01, 0.1, 0.5}[rng.IntN(3)]
	if d.share > 0 {
		share = d.share
	}
	return share, []history.Value{history.Keyword("share"), history.FloatOf(share)}
}

// untilSeen tries on the canary until something happens to it, such as failed, and
// at least so often that the share is worth telling.
func untilSeen(ctx context.Context, what string, try func(n int64) (bool, error)) ([]history.Value, error) {
	const enough = 20
	seen, tried := int64(0), int64(0)
	for ; tried < enough || seen == 0; tried++ {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("canary: %d tries and none %s: %w", tried, what, context.Cause(ctx))
		}
		happened, err := try(tried)
		if err != nil {
			return nil, fmt.Errorf("canary: %w", err)
		}
		if happened {
			seen++
		}
	}
	return []history.Value{
		history.Keyword("canary-" + what), history.Int(seen),
		history.Keyword("canary-tried"), history.Int(tried),
	}, nil
}
