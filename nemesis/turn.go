package nemesis

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jepgo/jepgo/history"
)

// item is one fault of the run's list and what its turns follow from.
type item struct {
	fault Fault // without its times
	name  string
	when  *trigger // nil: takes its turn by the interval
	stay  *length  // nil: the interval
	rand  *rand.Rand
	*memory
	fired int

	repeat *Scheduled // the application of an earlier run that it repeats; nil otherwise
}

// turns chooses whose turn is next.
type turns struct {
	*watch
	items    []*item
	interval time.Duration
	rand     *rand.Rand

	flips []*item // those without a trigger
	round []int   // of flips, who has yet to come in this round
	flip  time.Time
	bad   map[string]error // the last error of each trigger, so that it is logged once
}

func (r *run) newTurns(ctx context.Context) *turns {
	first := r.Interval
	if deadline, ok := ctx.Deadline(); ok {
		first = min(first, time.Until(deadline)/firstShare)
	}
	start := time.Now()
	t := &turns{
		watch: newWatch(r.Net, start, r.Faults), interval: r.Interval, rand: r.Rand,
		flip: start.Add(first), bad: make(map[string]error),
	}
	if r.Replay != nil {
		t.items = r.Replay.items()
		t.heights = true
		return t
	}
	for _, f := range r.Faults {
		it := &item{name: f.Name(), memory: &memory{}, rand: r.Rand}
		it.fault, it.when, it.stay = timesOf(f)
		if it.when == nil {
			t.flips = append(t.flips, it)
		} else {
			// A stream of its own: when it comes does not shift what others draw.
			it.rand = rand.New(rand.NewPCG(r.Rand.Uint64(), r.Rand.Uint64()))
		}
		t.items = append(t.items, it)
	}
	return t
}

// next waits for the moment of the next fault; ok is false when ctx ends first,
// or when nothing is left to wait for. Triggers go before those that take their
// turn by the interval, those that fired least first, then in the order of the list.
func (t *turns) next(ctx context.Context, warn func(it *item, err error)) (next *item, m moment, ok bool) {
	for waits := t.waits(); waits || len(t.flips) > 0; waits = t.waits() {
		if waits {
			t.look(ctx)
			if ctx.Err() != nil {
				return nil, moment{}, false
			}
			it := t.due(ctx, warn)
			t.looked()
			if it != nil {
				return it, t.now(), true
			}
		}
		if len(t.flips) > 0 && !time.Now().Before(t.flip) && ctx.Err() == nil {
			return t.turn(), t.now(), true
		}
		pause := t.period()
		if len(t.flips) > 0 && (!waits || time.Until(t.flip) < pause) {
			pause = max(0, time.Until(t.flip))
		}
		if !idle(ctx, pause) {
			return nil, moment{}, false
		}
	}
	return nil, moment{}, false
}

// waits reports whether any trigger may still fire.
func (t *turns) waits() bool {
	for _, it := range t.items {
		if it.mayFire() {
			return true
		}
	}
	return false
}

func (it *item) mayFire() bool {
	return it.when != nil && (it.fired == 0 || it.when.of().again && it.repeat == nil)
}

// due asks the triggers, those first that fired least: one that comes again and
// again, and on a busy machine is always due, would starve the others.
func (t *turns) due(ctx context.Context, warn func(it *item, err error)) *item {
	asked := slices.DeleteFunc(slices.Clone(t.items), func(it *item) bool { return !it.mayFire() })
	slices.SortStableFunc(asked, func(a, b *item) int { return cmp.Compare(a.fired, b.fired) })
	for _, it := range asked {
		now, err := it.when.of().due(clue{ctx, t.watch, it.memory}, *it.when)
		if err != nil && ctx.Err() == nil && t.bad[it.name] == nil {
			t.bad[it.name] = err
			warn(it, err)
		}
		if now {
			it.fired++
			return it
		}
		if it.repeat != nil {
			return nil // a replay keeps the order
		}
	}
	return nil
}

// turn is the next of those that take turns by the interval.
func (t *turns) turn() *item {
	if len(t.round) == 0 {
		t.round = t.rand.Perm(len(t.flips))
	}
	it := t.flips[t.round[0]]
	t.round = t.round[1:]
	it.fired++
	return it
}

// over says that a fault was undone.
func (t *turns) over(done *item) {
	t.blind()
	t.flip = time.Now().Add(t.interval)
	for i, it := range t.items[1:] {
		if t.items[i] == done {
			it.ended, it.counted = true, false
		}
	}
}

// stay waits for as long as a fault is to stay in force, or until ctx ends.
func (t *turns) hold(ctx context.Context, it *item) {
	switch {
	case it.stay == nil:
		idle(ctx, t.interval)
	case it.stay.blocks == 0:
		idle(ctx, it.stay.d)
	default:
		t.holdBlocks(ctx, it.stay.blocks)
	}
}

func (t *turns) holdBlocks(ctx context.Context, blocks uint64) {
	t.blind() // applying took its time
	var from uint64
	for counted := false; ; {
		t.look(ctx)
		t.looked()
		h, known := t.head()
		if known && !counted {
			from, counted = h, true
		}
		if counted && h >= from+blocks || !idle(ctx, t.period()) {
			return
		}
	}
}

// unfired says of each fault with a trigger that it never came: it was not
// injected, so what it was to test was not tested.
func (r *run) unfired(t *turns) {
	for _, it := range t.items {
		if it.when == nil || it.fired > 0 {
			continue
		}
		r.out.NotInjected++
		why := fmt.Errorf("its moment, %s, did not come: %s", it.when, it.why(t.bad[it.name]))
		r.problem(it.name+" was not injected", why)
		r.record(history.Op{
			F:     notInjected,
			Value: history.MapOf(history.Keyword("fault"), history.Text(it.name)),
			Error: history.Vec(history.Keyword(notInjected), history.Text(why.Error())),
		})
	}
}

// notInjected is the :f of the op about a fault whose moment never came.
const notInjected = "not-injected"

func (it *item) why(bad error) string {
	switch {
	case it.saw != "":
		return it.saw
	case bad != nil:
		return bad.Error()
	}
	return "the run ended before anything was seen"
}
