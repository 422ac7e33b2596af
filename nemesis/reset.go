package nemesis

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func resetEntry() Entry {
	return linkEntry("reset", "break connections of nodes again and again", "#E07A5F", wayBoth, func() shaper { return new(reset) })
}

type reset struct{ share float64 }

func (r *reset) params() []param {
	return []param{percent(&r.share, "a share of packets or reads such as 2%")}
}

func (r *reset) suffix() string { return asShare(r.share) }

func (*reset) features() []link.Feature { return []link.Feature{link.FeatureReset} }

func (r *reset) explain() (does, bites string) {
	return "Breaks the connection with an RST to both ends in place of " + shareAsked(r.share, "1%, 2% or 5% of what it carries, drawn,") +
			" so that nodes dial anew all the time.",
		"at least one connection was broken"
}

func (r *reset) draw(rng *rand.Rand) drawnShape {
	p := r.share
	if p == 0 {
		p = []float64{0.01, 0.02, 0.05}[rng.IntN(3)]
	}
	return drawnShape{
		shape: link.Shape{Reset: p},
		value: []history.Value{history.Keyword("share"), history.FloatOf(p)},
		bites: hitAny("in place of a reset", func(c link.Counters) int64 { return c.Resets }),
	}
}
