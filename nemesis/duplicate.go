package nemesis

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func duplicateEntry() Entry {
	return linkEntry("duplicate", "deliver packets of nodes twice", "#B9A6D9", wayBoth, func() shaper { return new(duplicate) })
}

type duplicate struct{ share float64 }

func (d *duplicate) params() []param {
	return []param{percent(&d.share, "a share of packets such as 20%")}
}

func (d *duplicate) suffix() string { return asShare(d.share) }

func (*duplicate) features() []link.Feature { return []link.Feature{link.FeatureDuplicate} }

func (d *duplicate) explain() (does, bites string) {
	return "Delivers " + shareAsked(d.share, "5%, 10% or 20% of the packets, drawn,") + " twice. TCP throws the second copy away; UDP, and so discovery, sees both.",
		"the share of packets delivered twice lies within the interval that holds 99.9% of binomial draws"
}

func (d *duplicate) draw(rng *rand.Rand) drawnShape {
	p := d.share
	if p == 0 {
		p = []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	}
	return drawnShape{
		shape: link.Shape{Duplicate: p},
		value: []history.Value{history.Keyword("share"), history.FloatOf(p)},
		bites: hitShare("delivered twice", p, func(c link.Counters) int64 { return c.Duplicated }),
	}
}
