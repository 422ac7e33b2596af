package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func slowCloseEntry() Entry {
	return linkEntry("slow-close", "tell the peers of nodes late that a connection has ended", "#B5B0A1", wayOut, func() shaper { return new(slowClose) })
}

type slowClose struct{ time time.Duration }

func (s *slowClose) params() []param {
	return []param{duration(&s.time, "how much later such as 5s", time.Millisecond, mostDelay)}
}

func (s *slowClose) suffix() string { return asTime(s.time) }

func (*slowClose) features() []link.Feature { return []link.Feature{link.FeatureSlowClose} }

func (s *slowClose) explain() (does, bites string) {
	return "Breaks the connections of the targets with an RST that one end sees at once and the other " +
			asAsked(s.time, "2s to 10s") + " later, and so with every end of a connection while it is in force: meanwhile one end takes the connection for whole, and may refuse a second one.",
		"the end of at least one connection was held back"
}

func (s *slowClose) draw(rng *rand.Rand) drawnShape {
	t := s.time
	if t == 0 {
		t = between(rng, 2*time.Second, 10*time.Second)
	}
	return drawnShape{
		shape:  link.Shape{SlowClose: t},
		value:  []history.Value{history.Keyword("slow-close-ms"), milliseconds(t)},
		bites:  hitAny("the end of a connection that was held back", func(c link.Counters) int64 { return c.HeldEnds }),
		breaks: true,
	}
}
