package nemesis

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func corruptEntry() Entry {
	return linkEntry("corrupt", "flip bits in packets of nodes", "#C98BB9", wayBoth, func() shaper { return new(corrupt) })
}

// corrupt flips bits that checksums find, or, when visible, bits that the
// application reads.
type corrupt struct {
	share float64
	kind  string
}

const visible = "visible"

func (c *corrupt) params() []param {
	return []param{percent(&c.share, "a share such as 20%"), oneOf(&c.kind, visible)}
}

func (c *corrupt) suffix() string {
	s := asShare(c.share)
	if c.kind != "" {
		s += ":" + c.kind
	}
	return s
}

func (c *corrupt) features() []link.Feature {
	if c.kind == visible {
		return []link.Feature{link.FeatureCorruptVisible}
	}
	return []link.Feature{link.FeatureCorrupt}
}

func (c *corrupt) explain() (does, bites string) {
	if c.kind == visible {
		return "Flips a bit in " + shareAsked(c.share, "1% of the packets or reads") + ", which arrives with a good checksum: the application reads it. " +
				"Connections that are authenticated, as devp2p's and CometBFT's are, end there, and are dialed anew.",
			"at least one bit was flipped and delivered"
	}
	return "Flips a bit in " + shareAsked(c.share, "5%, 10% or 20% of the packets, drawn,") + " that the receiver's checksum finds: it drops them, as if they were lost.",
		"the share of packets with a flipped bit lies within the interval that holds 99.9% of binomial draws"
}

func (c *corrupt) draw(rng *rand.Rand) drawnShape {
	p := c.share
	hit := func(c link.Counters) int64 { return c.Corrupted }
	if c.kind == visible {
		if p == 0 {
			p = 0.01
		}
		return drawnShape{
			shape: link.Shape{CorruptVisible: p},
			value: []history.Value{history.Keyword("share"), history.FloatOf(p), history.Keyword("visible"), history.Flag(true)},
			bites: hitAny("corrupted", hit),
		}
	}
	if p == 0 {
		p = []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	}
	return drawnShape{
		shape: link.Shape{Corrupt: p},
		value: []history.Value{history.Keyword("share"), history.FloatOf(p)},
		bites: hitShare("corrupted", p, hit),
	}
}
