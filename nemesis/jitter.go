package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func jitterEntry() Entry {
	return linkEntry("jitter", "hold back traffic of nodes by times that vary", "#F0B49A", wayBoth, func() shaper { return new(jitter) })
}

// jitter holds each unit from nothing to twice a time.
type jitter struct{ time time.Duration }

func (j *jitter) params() []param {
	return []param{duration(&j.time, "a mean such as 30ms, of delays from 0 to twice that", time.Millisecond, mostDelay)}
}

func (j *jitter) suffix() string { return asTime(j.time) }

func (*jitter) features() []link.Feature {
	return []link.Feature{link.FeatureDelay, link.FeatureJitter}
}

func (j *jitter) explain() (does, bites string) {
	return "Delays each unit by a time of its own, uniformly from 0 to twice " + asAsked(j.time, "a mean drawn from 10ms to 50ms") + ". " +
			"Links made of TCP proxies keep the order of a stream, so a late unit holds up those behind it; others may let packets overtake.",
		"at least 5 units were held, and the mean time that they were held varied from look to look by a tenth of what was asked"
}

func (j *jitter) draw(rng *rand.Rand) drawnShape {
	t := j.time
	if t == 0 {
		t = between(rng, 10*time.Millisecond, 50*time.Millisecond)
	}
	return drawnShape{
		shape: link.Shape{Delay: t, Jitter: t},
		value: []history.Value{history.Keyword("delay-ms"), milliseconds(t), history.Keyword("jitter-ms"), milliseconds(t)},
		bites: varied(t),
	}
}

// varied bites when the mean time of the units of one look differs from that of
// another.
func varied(jitter time.Duration) func(sight) string {
	type seen struct {
		last        link.Counters
		least, most time.Duration
		looks       int
	}
	nodes := make(map[string]*seen)
	return func(s sight) string {
		n := nodes[s.node]
		if n == nil {
			n = new(seen)
			nodes[s.node] = n
		}
		if new := since(s.sum, n.last); new.Held > 0 {
			mean := new.HeldTime / time.Duration(new.Held)
			if n.looks == 0 {
				n.least, n.most = mean, mean
			}
			n.least, n.most, n.last = min(n.least, mean), max(n.most, mean), s.sum
			n.looks++
		}
		if spread := n.most - n.least; s.sum.Held < enoughHeld || spread < jitter/10 {
			return fmt.Sprintf("%d units were held, from %v to %v in the mean of a look: too few, or too steady, to see a jitter of %v",
				s.sum.Held, n.least, n.most, jitter)
		}
		return ""
	}
}
