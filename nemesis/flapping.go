package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// flapping is a cut that heals and comes back, half a period each, for as long
// as it is in force.
type flapping struct {
	*cut
	period time.Duration

	stop context.CancelFunc // of the goroutine that flaps; nil: there is none
	done chan struct{}

	mu      sync.Mutex
	cuts    int                         // times that all edges were cut
	heals   int                         // times that none was
	swallow map[link.Edge]link.Counters // grown while cut
	passed  int64                       // bytes while healed
	err     error                       // of the links, or a leak
}

// flap draws a period around that in which TCP and consensus try again.
func flap(c *cut, _ []string, p partitionFault, rng *rand.Rand) Application {
	period := time.Second + time.Duration(rng.IntN(30))*100*time.Millisecond
	if p.period > 0 {
		period = p.period
	}
	return &flapping{cut: c, period: period, swallow: make(map[link.Edge]link.Counters)}
}

func (f *flapping) Value() history.Value {
	return history.MapOf(append(f.parts(), history.Keyword("period-ms"), history.Int(f.period.Milliseconds()))...)
}

// Apply cuts and starts to flap; Undo ends that.
func (f *flapping) Apply(ctx context.Context) error {
	if err := f.cut.Apply(ctx); err != nil {
		return err
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop, f.done = stop, make(chan struct{})
	f.cuts = 1
	go func() {
		defer close(f.done)
		for from := f.cutAt; idle(own, f.period/2); {
			if from = f.heal(from); from == nil || !idle(own, f.period/2) {
				return
			}
			if from = f.again(from); from == nil {
				return
			}
		}
	}()
	return nil
}

// heal ends one cut and returns the counters from which the next phase counts;
// nil after an error.
func (f *flapping) heal(from map[link.Edge]link.Counters) map[link.Edge]link.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.see(from)
	for _, e := range f.edges {
		f.err = errors.Join(f.err, f.net.Links.Heal(e))
	}
	f.heals++
	if f.err != nil {
		return nil
	}
	return f.counters()
}

// see adds up what the cut that is in force swallowed. f.mu is held.
func (f *flapping) see(from map[link.Edge]link.Counters) {
	for _, e := range f.edges {
		was, is, sum := from[e], f.net.Links.Counters(e), f.swallow[e]
		if n := is.Bytes - was.Bytes; n > 0 {
			f.err = errors.Join(f.err, fmt.Errorf("link %s: delivered %d bytes while cut", e, n))
		}
		sum.Dropped += is.Dropped - was.Dropped
		sum.RefusedDials += is.RefusedDials - was.RefusedDials
		f.swallow[e] = sum
	}
}

// again cuts once more.
func (f *flapping) again(from map[link.Edge]link.Counters) map[link.Edge]link.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.edges {
		f.passed += f.net.Links.Counters(e).Bytes - from[e].Bytes
		f.err = errors.Join(f.err, f.net.Links.Cut(e))
	}
	f.cuts++
	if f.err != nil {
		return nil
	}
	return f.counters()
}

// Probe waits until it was cut, healed and cut again, and each node of the
// grudge missed something while it was cut.
func (f *flapping) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err != nil {
			return "", f.err
		}
		var deaf []string
		for _, to := range f.net.Nodes {
			bitten := len(f.grudge[to]) == 0
			for _, from := range f.grudge[to] {
				c := f.swallow[link.Edge{From: from, To: to}]
				bitten = bitten || c.Dropped > 0 || c.RefusedDials > 0
			}
			if !bitten {
				deaf = append(deaf, to)
			}
		}
		switch {
		case f.cuts < 2:
			return fmt.Sprintf("cut %d times and healed %d times", f.cuts, f.heals), nil
		case len(deaf) > 0:
			return "no bytes dropped and no dial refused on the cut links to " + list(deaf), nil
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	return f.evidence(), nil
}

func (f *flapping) evidence() history.Value {
	f.mu.Lock()
	defer f.mu.Unlock()
	kvs := []history.Value{
		history.Keyword("cuts"), history.Int(int64(f.cuts)),
		history.Keyword("heals"), history.Int(int64(f.heals)),
		history.Keyword("passed-while-healed-bytes"), history.Int(f.passed),
	}
	for _, e := range f.edges {
		kvs = append(kvs, edgeValue(e), history.MapOf(
			history.Keyword("dropped"), history.Int(f.swallow[e].Dropped),
			history.Keyword("refused-dials"), history.Int(f.swallow[e].RefusedDials)))
	}
	return history.MapOf(kvs...)
}

// Stands is what went wrong since Probe: at any moment the edges may be healed.
func (f *flapping) Stands() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Undo ends the flapping, then heals.
func (f *flapping) Undo(ctx context.Context) error {
	if f.stop != nil {
		f.stop()
		<-f.done
	}
	return f.cut.Undo(ctx)
}

// VerifyUndone adds how often it flapped in all.
func (f *flapping) VerifyUndone(ctx context.Context) (history.Value, error) {
	v, err := f.cut.VerifyUndone(ctx)
	if err != nil {
		return v, err
	}
	return history.MapOf(append(v.Elems(), history.Keyword("cuts"), history.Int(int64(f.cuts)))...), nil
}
