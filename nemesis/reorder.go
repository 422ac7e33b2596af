package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func reorderEntry() Entry {
	return linkEntry("reorder", "let packets of nodes overtake others", "#A8C686", wayBoth, func() shaper { return new(reorder) })
}

// reorder delays packets, and lets a share of them overtake the others.
type reorder struct {
	share float64
	time  time.Duration
}

func (r *reorder) params() []param {
	return []param{
		percent(&r.share, "a share of packets such as 20%"),
		duration(&r.time, "the delay of the others such as 50ms", time.Millisecond, mostDelay),
	}
}

func (r *reorder) suffix() string { return asShare(r.share) + asTime(r.time) }

func (*reorder) features() []link.Feature {
	return []link.Feature{link.FeatureDelay, link.FeatureReorder}
}

func (r *reorder) explain() (does, bites string) {
	return "Sends " + shareAsked(r.share, "5%, 10% or 20% of the packets, drawn,") + " at once, past the others, which are delayed by " +
			asAsked(r.time, "50ms") + ". TCP puts the order right again, and may take what is missing for lost.",
		"the share of packets that overtook lies within the interval that holds 99.9% of binomial draws"
}

func (r *reorder) draw(rng *rand.Rand) drawnShape {
	p, t := r.share, r.time
	if p == 0 {
		p = []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	}
	if t == 0 {
		t = 50 * time.Millisecond
	}
	return drawnShape{
		shape: link.Shape{Delay: t, Reorder: p},
		value: []history.Value{history.Keyword("share"), history.FloatOf(p), history.Keyword("delay-ms"), milliseconds(t)},
		bites: hitShare("sent past others", p, func(c link.Counters) int64 { return c.Reordered }),
	}
}
