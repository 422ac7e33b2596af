package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// clockSlack is how far a measured clock may be from what was asked for.
const clockSlack = time.Millisecond

// sighting is what was measured of one target while the fault was in force.
type sighting struct {
	first, last clock.Reading // the first one that showed something, and the newest
	asked       time.Duration // of last
	flips       int
	ended       bool // the target's process did, before all of it was seen
}

func (s *skewing) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]sighting, len(s.victims))
	err := each(len(s.victims), func(i int) error {
		return await(ctx, probeEvery, func() (string, error) {
			skew, v := s.present(i)
			if skew == nil {
				return fmt.Sprintf("%s: its clock was not set off", v), nil
			}
			r, err := skew.Read()
			if errors.Is(err, os.ErrProcessDone) {
				// Its clock was set, or Apply had failed, and it did not live with that.
				seen[i].ended, seen[i].asked = true, skew.Asked(time.Now())
				return "", nil
			}
			if err != nil {
				return "", err
			}
			missing := s.motion.bites(skew, r, &seen[i])
			if missing != "" {
				missing = fmt.Sprintf("%s: %s", v, missing)
			}
			return missing, nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i := range s.victims {
		_, v := s.present(i)
		kvs = append(kvs, history.Text(v.node), history.MapOf(append(identity(v.id), seen[i].values()...)...))
	}
	beside, err := s.beside()
	return history.MapOf(append(kvs, beside...)...), err
}

// probeEvery is how often a clock is looked at: not in step with any strobe.
const probeEvery = 7 * time.Millisecond

func (g sighting) values() []history.Value {
	if g.ended {
		return []history.Value{history.Keyword("offset-ms"), milliseconds(g.asked), history.Keyword("ended"), history.Flag(true)}
	}
	kvs := []history.Value{
		history.Keyword("offset-ms"), milliseconds(g.asked),
		history.Keyword("measured-ms"), milliseconds(g.last.Offset),
		history.Keyword("bound-ms"), milliseconds(g.last.Bound),
	}
	if g.flips > 0 {
		kvs = append(kvs, history.Keyword("flips"), history.Int(int64(g.flips)))
	}
	if span := g.last.Host.Sub(g.first.Host); g.flips == 0 && span > 0 && !g.first.Host.IsZero() {
		kvs = append(kvs, history.Keyword("measured-ppm"), history.FloatOf(float64(g.last.Offset-g.first.Offset)/float64(span)*1e6))
	}
	return kvs
}

// milliseconds is a duration as a number, whole where it is.
func milliseconds(d time.Duration) history.Value {
	if d%time.Millisecond == 0 {
		return history.Int(int64(d / time.Millisecond))
	}
	return history.FloatOf(float64(d) / float64(time.Millisecond))
}

// beside measures what must not have moved: this machine's clock and the other
// nodes'. A node that is on its way down is left out.
func (s *skewing) beside() ([]history.Value, error) {
	now, err := hostClock()
	if err != nil {
		return nil, err
	}
	kvs := []history.Value{history.Keyword("host-moved-ms"), milliseconds(now - s.host)}
	var others []history.Value
	for _, v := range running(s.net) {
		if s.hits(v.node) {
			continue
		}
		r, err := clock.Read(v.id)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		others = append(others, history.Text(v.node), milliseconds(r.Offset))
	}
	return append(kvs, history.Keyword("others-ms"), history.MapOf(others...)), nil
}

func (s *skewing) hits(node string) bool {
	for _, v := range s.victims {
		if v.node == node {
			return true
		}
	}
	return false
}

// Stands reads the clocks of targets that live as the processes that were set off:
// what came back a moment ago may not be yet. One that is to change by itself says
// nothing at a single moment.
func (s *skewing) Stands() error {
	if s.motion.every > 0 {
		return nil
	}
	return each(len(s.victims), func(i int) error {
		skew, v := s.present(i)
		if id, up := s.net.Processes.Identity(v.node); skew == nil || !up || id != v.id {
			return nil
		}
		r, err := skew.Read()
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		if err == nil {
			if want := skew.Asked(r.Host); !within(r, want) {
				err = fmt.Errorf("its clock was off by %v in the end, asked was %v", r.Offset, want)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		return nil
	})
}

// ClockOffsets reads the clocks of all nodes that run, for the history: see Clocked.
func (s *skewing) ClockOffsets() history.Value {
	up := running(s.net)
	read := make([]history.Value, len(up))
	_ = each(len(up), func(i int) error {
		if r, err := clock.Read(up[i].id); err == nil { // else it has no point on the plot
			read[i] = history.FloatOf(r.Offset.Seconds())
		}
		return nil
	})
	var kvs []history.Value
	for i, v := range up {
		if !read[i].IsNil() {
			kvs = append(kvs, history.Text(v.node), read[i])
		}
	}
	return history.MapOf(kvs...)
}

// VerifyUndone looks at the vDSO of each target, and reads its clock. One that has
// ended since Undo is for the next attempt to start.
func (s *skewing) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(s.victims))
	err := each(len(s.victims), func(i int) error {
		_, v := s.present(i)
		if id, up := s.net.Processes.Identity(v.node); up {
			v.id = id
		}
		if s.fresh[i].PID != 0 {
			if err := s.net.Processes.Ready(ctx, v.node); err != nil {
				return fmt.Errorf("node %q: not ready after its start: %w", v.node, err)
			}
		}
		return await(ctx, look, func() (missing string, err error) {
			seen[i], missing, err = clean(v)
			return missing, err
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range s.victims {
		if s.fresh[i].PID != 0 {
			_, was := s.present(i)
			l := lives{net: s.net, victims: []victim{was}}
			more := append([]history.Value{history.Keyword("was"), history.MapOf(identity(was.id)...),
				history.Keyword("ready"), history.Flag(true)}, l.ended(ctx, 0)...)
			seen[i] = history.MapOf(append(seen[i].Elems(), more...)...)
		}
		kvs = append(kvs, history.Text(v.node), seen[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lapses := s.lapses
	for _, skew := range s.skews {
		if skew != nil {
			lapses += skew.Lapses()
		}
	}
	if s.again > 0 {
		kvs = append(kvs, history.Keyword("set-again"), history.Int(int64(s.again)))
	}
	if lapses > 0 {
		kvs = append(kvs, history.Keyword("lapses"), history.Int(int64(lapses)))
	}
	for _, v := range s.victims {
		if err := s.failed[v.node]; err != nil {
			kvs = append(kvs, history.Keyword("not-set-again"), history.Text(fmt.Sprintf("%s: %v", v.node, err)))
		}
	}
	return history.MapOf(kvs...), nil
}

// clean is the evidence that a process runs with the right clock.
func clean(v victim) (evidence history.Value, missing string, err error) {
	patched, err := clock.Patched(v.id)
	if err != nil {
		return history.Value{}, "", fmt.Errorf("%s: %w", v, err)
	}
	if patched {
		return history.Value{}, "", fmt.Errorf("%s: its vDSO is still patched", v)
	}
	r, err := clock.Read(v.id)
	if err != nil {
		return history.Value{}, "", fmt.Errorf("%s: %w", v, err)
	}
	if !within(r, 0) {
		return history.Value{}, fmt.Sprintf("%s: its clock is off by %v", v, r.Offset), nil
	}
	return history.MapOf(append(identity(v.id),
		history.Keyword("vdso"), history.Keyword("clean"),
		history.Keyword("measured-ms"), milliseconds(r.Offset),
		history.Keyword("bound-ms"), milliseconds(r.Bound))...), "", nil
}

// within reports whether a reading agrees with an offset.
func within(r clock.Reading, want time.Duration) bool {
	d := r.Offset - want
	return max(d, -d) <= clockSlack+r.Bound
}
