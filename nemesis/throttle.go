package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/history"
)

const (
	throttleStart = "start-throttle"
	throttleStop  = "stop-throttle"
	// throttleShare is a tenth of a core: a node that does its work at a few per
	// cent lives, and every burst of work takes long.
	throttleShare = 0.1
)

// throttleFault limits the processor time of nodes.
type throttleFault struct {
	targets targets
	share   float64 // of one core; 0: throttleShare
}

func throttleEntry() Entry {
	return Entry{
		Name: "throttle", Doc: "limit the processor time of nodes to a share of one core", Specs: specs(new(throttleFault).params()...),
		Start: throttleStart, Stop: throttleStop, Color: "#8FB8DE", New: newThrottle,
	}
}

func (f *throttleFault) params() []param {
	return []param{f.targets.param(), percent(&f.share, "a share of one core, such as 10%")}
}

func newThrottle(spec string) (Fault, error) {
	var f throttleFault
	err := parseSpec(spec, f.params()...)
	if err == nil && f.share > 0 && f.share < 0.01 {
		err = fmt.Errorf("share %v: expected at least 1%% of a core", percentText(f.share))
	}
	return f, err
}

// percentText renders a share as it is asked for.
func percentText(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 6, 64) + "%"
}

func (f throttleFault) Name() string {
	name := "throttle" + f.targets.suffix()
	if f.share > 0 {
		name += ":" + percentText(f.share)
	}
	return name
}

func (throttleFault) Start() string { return throttleStart }
func (throttleFault) Stop() string  { return throttleStop }

func (f throttleFault) asked() float64 {
	if f.share == 0 {
		return throttleShare
	}
	return f.share
}

func (f throttleFault) Explain() string {
	return fmt.Sprintf("Limits each node to %s of one core by a quota of its control group, given out every 100 ms: "+
		"a node that has used it up stands still until the next. "+
		"It bites when the kernel counts periods in which the node was made to wait, and the processor time that it used is within the quota. "+
		"It is undone when no quota is in force and the control group is gone. "+
		"A node with less work than the quota is not slowed, which is no evidence. The limit holds for the process, not for one that is started meanwhile. ", percentText(f.asked())) +
		f.targets.explain()
}

func (f throttleFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	return groupsMissing(f.Name(), cgroup.CPU)
}

func (f throttleFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	s, err := seat(net, vs, cgroup.CPU)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	return &throttling{seats: s, share: f.asked(), was: make([]use, len(vs)), seen: make([]use, len(vs))}, nil
}

// throttling is one application of throttle.
type throttling struct {
	seats
	share     float64
	was, seen []use // when the quota was set, and when it was seen to bite
}

// use is what a node had used of its quota.
type use struct {
	at    time.Time
	ticks uint64
	count cgroup.CPUCount
}

// tickTime is what one clock tick of /proc stands for: USER_HZ is 100 on every
// machine that Linux still runs on.
const tickTime = 10 * time.Millisecond

func (t *throttling) Value() history.Value {
	return onNodes(t.victims, history.Keyword("share"), history.FloatOf(t.share))
}

func (t *throttling) UndoSteps() []Step { return t.steps() }

func (t *throttling) Apply(context.Context) error {
	if err := t.enter(); err != nil {
		return err
	}
	return each(len(t.victims), func(i int) (err error) {
		if err := t.groups[i].SetCPU(t.share); err != nil {
			return fmt.Errorf("%s: %w", t.victims[i], err)
		}
		t.was[i], err = t.use(i)
		return err
	})
}

func (t *throttling) use(i int) (u use, err error) {
	// The time first: what is used while we look counts against the quota.
	u.at = time.Now()
	if u.ticks, err = t.victims[i].used(); err != nil {
		return u, err
	}
	if u.count, err = t.groups[i].CPU(); err != nil {
		return u, fmt.Errorf("%s: %w", t.victims[i], err)
	}
	return u, nil
}

// throttlePeriods are the periods with waiting that show that a quota bites.
const throttlePeriods = 5

func (t *throttling) Probe(ctx context.Context) (history.Value, error) {
	err := each(len(t.victims), func(i int) error {
		v := t.victims[i]
		return await(ctx, look, func() (string, error) {
			now, err := t.use(i)
			if err != nil {
				return "", err
			}
			if !t.groups[i].Has(v.id) {
				return "", fmt.Errorf("%s: has left its control group", v)
			}
			t.seen[i] = now
			if n := now.count.Throttled - t.was[i].count.Throttled; n < throttlePeriods {
				return fmt.Sprintf("%s: made to wait in %d periods of 100 ms, expected %d; it used %s of a core, of %s",
					v, n, throttlePeriods, percentText(t.rate(i)), percentText(t.share)), nil
			}
			return "", nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range t.victims {
		was, seen := t.was[i], t.seen[i]
		took := seen.at.Sub(was.at)
		used := time.Duration(seen.ticks-was.ticks) * tickTime
		// One period may be half used before, one after, and clock ticks are whole.
		if most := time.Duration(t.share*float64(took+200*time.Millisecond)) + 2*tickTime; used > most {
			return history.Value{}, fmt.Errorf("%s: used %v of processor time in %v, expected at most %v", v, used, took, most)
		}
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(v.id),
			history.Keyword("used-share"), history.FloatOf(t.rate(i)),
			history.Keyword("window-ms"), history.Int(took.Milliseconds()),
			history.Keyword("periods"), history.Int(seen.count.Periods-was.count.Periods),
			history.Keyword("throttled"), history.Int(seen.count.Throttled-was.count.Throttled),
			history.Keyword("waited-ms"), history.Int((seen.count.WaitedUS-was.count.WaitedUS)/1000))...))
	}
	return history.MapOf(kvs...), nil
}

// rate is the share of a core that was used between the two looks.
func (t *throttling) rate(i int) float64 {
	took := t.seen[i].at.Sub(t.was[i].at)
	if took <= 0 {
		return 0
	}
	return float64(time.Duration(t.seen[i].ticks-t.was[i].ticks)*tickTime) / float64(took)
}

func (t *throttling) Undo(ctx context.Context) error { return t.lift(ctx) }

func (t *throttling) VerifyUndone(context.Context) (history.Value, error) { return t.lifted(nil) }
