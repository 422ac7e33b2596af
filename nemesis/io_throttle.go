package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/devnet/load"
	"github.com/jepgo/jepgo/history"
)

const (
	ioStart = "start-io-throttle"
	ioStop  = "stop-io-throttle"
	// ioRate is what is left of the disk: a node of a devnet writes less than that
	// on average, and more in bursts.
	ioRate = 1 << 20
	// ioWindow is how long a rate is measured, and ioWindows how often at the most.
	ioWindow  = time.Second
	ioWindows = 3
	// ioQuick is how long the disk is measured without the limit.
	ioQuick = 250 * time.Millisecond
)

// ioFault limits the disk traffic of nodes.
type ioFault struct {
	targets targets
	rate    int64 // bytes a second; 0: ioRate
}

func ioThrottleEntry() Entry {
	return Entry{
		Name: "io-throttle", Doc: "limit the disk traffic of nodes", Specs: specs(new(ioFault).params()...),
		Start: ioStart, Stop: ioStop, Color: "#9C755F", New: newIOThrottle,
	}
}

func (f *ioFault) params() []param {
	return []param{f.targets.param(), size(&f.rate, "a rate in bytes a second, such as 1MiB", 64<<10)}
}

func newIOThrottle(spec string) (Fault, error) {
	var f ioFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f ioFault) Name() string {
	name := "io-throttle" + f.targets.suffix()
	if f.rate > 0 {
		name += ":" + sizeText(f.rate)
	}
	return name
}

// sizeText renders a number of bytes as it is asked for.
func sizeText(n int64) string {
	for _, u := range sizeUnits {
		if n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%dB", n)
}

func (ioFault) Start() string { return ioStart }
func (ioFault) Stop() string  { return ioStop }

func (f ioFault) asked() int64 {
	if f.rate == 0 {
		return ioRate
	}
	return f.rate
}

func (f ioFault) Explain() string {
	return fmt.Sprintf("Limits what each node reads from and writes to the disk on which it has most files open for writing, to %s a second each way, in its control group. "+
		"It bites when a process of jepgo's own, which writes beside the node's files in the same control group, is faster than that before, and after it node and writer together are not. "+
		"It is undone when no limit is in force and the control group is gone. "+
		"Writes that wait in the page cache are not slowed by version 1 of control groups: the node feels it where it waits for fsync or reads what is not in memory. ", sizeText(f.asked())) +
		f.targets.explain()
}

func (f ioFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	return groupsMissing(f.Name(), cgroup.IO)
}

func (f ioFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	s, err := seat(net, vs, cgroup.IO)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	app := &ioThrottling{seats: s, rate: f.asked(), disks: make([]cgroup.Disk, len(vs)), free: make([]float64, len(vs))}
	for i, v := range vs {
		if app.disks[i], err = cgroup.DiskOf(v.id); err != nil {
			return nil, fmt.Errorf("nemesis %q: %s: %w", f.Name(), v, err)
		}
	}
	if app.marks, err = helperMarks(vs, rng); err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	return app, nil
}

// ioThrottling is one application of io-throttle.
type ioThrottling struct {
	seats
	rate  int64
	disks []cgroup.Disk
	marks []string  // of the writers
	free  []float64 // bytes a second that the writer reached before the limit
}

func (t *ioThrottling) Value() history.Value {
	return onNodes(t.victims, history.Keyword("rate-bytes"), history.Int(t.rate))
}

// UndoSteps end the writers first: they are taken from the last to the first.
func (t *ioThrottling) UndoSteps() []Step {
	return append(t.steps(), helperSteps(t.victims, t.marks)...)
}

// Apply measures the disk and then limits it.
func (t *ioThrottling) Apply(ctx context.Context) error {
	if err := t.enter(); err != nil {
		return err
	}
	return each(len(t.victims), func(i int) error {
		v, g := t.victims[i], t.groups[i]
		err := t.write(ctx, i, func() error {
			was, took, err := t.measure(ctx, i, ioQuick)
			t.free[i] = was / took.Seconds()
			return err
		})
		if err == nil {
			err = g.SetIO(t.disks[i].Device, t.rate)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		return nil
	})
}

// write runs a writer in the group of a victim while do does.
func (t *ioThrottling) write(ctx context.Context, i int, do func() error) error {
	h, err := load.Start(ctx, t.marks[i], load.Work{Dir: t.disks[i].Dir})
	if err != nil {
		return err
	}
	if err = t.groups[i].Enter(h.Process); err == nil {
		// What it wrote before it was in the group is behind it with the next write.
		from := h.Written()
		err = await(ctx, glance, func() (string, error) {
			switch {
			case !h.Alive():
				return "", errors.New("the writer beside it has ended")
			case h.Written() == from:
				return "the writer beside it has not written", nil
			}
			return "", nil
		})
	}
	if err == nil {
		err = do()
	}
	return errors.Join(err, h.Stop(ctx))
}

// measure counts what a group writes in a time.
func (t *ioThrottling) measure(ctx context.Context, i int, window time.Duration) (bytes float64, took time.Duration, err error) {
	began := time.Now() // before the first look: a busy machine may let time pass after it
	_, was, err := t.groups[i].IO(t.disks[i].Device)
	if err != nil {
		return 0, 0, err
	}
	if !idle(ctx, window) {
		return 0, 0, fmt.Errorf("the disk was not measured: %w", context.Cause(ctx))
	}
	_, now, err := t.groups[i].IO(t.disks[i].Device)
	return float64(now - was), time.Since(began), err
}

func (t *ioThrottling) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(t.victims))
	err := each(len(t.victims), func(i int) error {
		v := t.victims[i]
		if t.free[i] < 1.5*float64(t.rate) {
			return fmt.Errorf("%s: its disk does %.0f bytes/s without a limit, too little to see one of %d", v, t.free[i], t.rate)
		}
		return t.write(ctx, i, func() error {
			if _, err := v.used(); err != nil {
				return err
			}
			var n, most float64
			var took time.Duration
			// What had gathered while nothing was written is let through at first, on a
			// busy machine more than once.
			for try := 0; try == 0 || n > most && try < ioWindows; try++ {
				var err error
				if n, took, err = t.measure(ctx, i, ioWindow); err != nil {
					return fmt.Errorf("%s: %w", v, err)
				}
				// Two writes of 64 KiB may have been let through already.
				most = 1.1*float64(t.rate)*took.Seconds() + 128<<10
			}
			if !t.groups[i].Has(v.id) {
				return fmt.Errorf("%s: has left its control group", v)
			}
			if n > most {
				return fmt.Errorf("%s: wrote %.0f bytes in %v, expected at most %.0f", v, n, took, most)
			}
			seen[i] = history.MapOf(append(identity(v.id),
				history.Keyword("device"), history.Text(t.disks[i].Device),
				history.Keyword("rate-before-bytes"), history.Int(int64(t.free[i])),
				history.Keyword("rate-seen-bytes"), history.Int(int64(n/took.Seconds())),
				history.Keyword("window-ms"), history.Int(took.Milliseconds()))...)
			return nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	return perNode(t.victims, seen), nil
}

func (t *ioThrottling) Undo(ctx context.Context) error {
	return errors.Join(
		each(len(t.marks), func(i int) error {
			_, err := load.End(ctx, t.marks[i])
			return err
		}),
		t.lift(ctx))
}

func (t *ioThrottling) VerifyUndone(context.Context) (history.Value, error) { return t.lifted(nil) }
