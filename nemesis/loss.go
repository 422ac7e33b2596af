package nemesis

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func lossEntry() Entry {
	return linkEntry("loss", "lose packets of nodes", "#D98C8C", wayBoth, func() shaper { return new(loss) })
}

// loss loses packets, each by itself or in bursts. Jepsen's default is 20 %.
type loss struct {
	share float64
	kind  string
}

const (
	bursty = "bursty"
	// burstLeave makes bursts of five packets in the mean.
	burstLeave = 0.2
)

func (l *loss) params() []param {
	return []param{percent(&l.share, "a share of packets such as 20%"), oneOf(&l.kind, bursty)}
}

func (l *loss) suffix() string {
	s := asShare(l.share)
	if l.kind != "" {
		s += ":" + l.kind
	}
	return s
}

func (l *loss) features() []link.Feature {
	if l.kind == bursty {
		return []link.Feature{link.FeatureBurst}
	}
	return []link.Feature{link.FeatureLoss}
}

func (l *loss) explain() (does, bites string) {
	does = "Loses " + shareAsked(l.share, "5%, 10% or 20% of the packets, drawn,")
	if l.kind == bursty {
		return does + " in bursts of five in the mean (Gilbert–Elliott): a link is good or bad, and loses everything while it is bad.",
			"packets were lost, in number between a third of what was asked and three times that: bursts make the share vary"
	}
	return does + " each independently of the others.",
		"the share of packets lost lies within the interval that holds 99.9% of binomial draws"
}

func (l *loss) draw(rng *rand.Rand) drawnShape {
	p := l.share
	if p == 0 {
		p = []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	}
	value := []history.Value{history.Keyword("share"), history.FloatOf(p)}
	lost := func(c link.Counters) int64 { return c.Lost }
	if l.kind != bursty {
		return drawnShape{shape: link.Shape{Loss: p}, value: value, bites: hitShare("lost", p, lost)}
	}
	enter := 1.0
	if p < 1 {
		enter = min(1, burstLeave*p/(1-p))
	}
	return drawnShape{
		shape: link.Shape{Burst: link.Burst{Enter: enter, Leave: enter * (1 - p) / p}},
		value: append(value, history.Keyword("bursty"), history.Flag(true)),
		bites: hitRoughly("lost", p, lost),
	}
}
