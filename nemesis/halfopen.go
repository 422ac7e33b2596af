package nemesis

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
)

func halfOpenEntry() Entry {
	return linkEntry("half-open", "never tell the peers of nodes that a connection has ended", "#9C8FA0", wayOut, func() shaper { return new(halfOpen) })
}

type halfOpen struct{}

func (*halfOpen) params() []param { return nil }
func (*halfOpen) suffix() string  { return "" }

func (*halfOpen) features() []link.Feature { return []link.Feature{link.FeatureHalfOpen} }

func (*halfOpen) explain() (does, bites string) {
	return "Breaks the connections of the targets with an RST that the targets see and their peers do not (with in: the peers see it, the targets do not), " +
			"and so with every end of a connection while it is in force, as when a machine loses its power: the end that is not told keeps a dead connection, " +
			"sends into the void, and may refuse a second one. When the fault is undone the ends are told.",
		"the end of at least one connection was held back"
}

func (*halfOpen) draw(*rand.Rand) drawnShape {
	return drawnShape{
		shape:  link.Shape{HalfOpen: true},
		bites:  hitAny("the end of a connection that was held back", func(c link.Counters) int64 { return c.HeldEnds }),
		breaks: true,
	}
}
