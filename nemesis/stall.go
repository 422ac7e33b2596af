package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func stallEntry() Entry {
	return linkEntry("stall", "let streams of nodes stand still as a lost packet would", "#C9A227", wayBoth, func() shaper { return new(stall) })
}

// stall stands for loss where the links are streams.
type stall struct {
	share float64
	time  time.Duration
}

// retransmission is the least time after which Linux sends a segment again.
const retransmission = 200 * time.Millisecond

func (s *stall) params() []param {
	return []param{
		percent(&s.share, "a share of reads such as 10%"),
		duration(&s.time, "how long the stream stands still such as 200ms", time.Millisecond, mostDelay),
	}
}

func (s *stall) suffix() string { return asShare(s.share) + asTime(s.time) }

func (*stall) features() []link.Feature { return []link.Feature{link.FeatureStall} }

func (s *stall) explain() (does, bites string) {
	return "Lets a stream stand still for " + asAsked(s.time, "200ms, the least retransmission time of Linux,") + " before " +
			shareAsked(s.share, "5%, 10% or 20% of the reads, drawn") + ". It stands for packet loss where links are TCP proxies, which cannot lose a packet: " +
			"the application sees the same silence, but no segment is lost, and no congestion window shrinks.",
		"the share of reads before which a stream stood still lies within the interval that holds 99.9% of binomial draws, and reads were held for as long as asked"
}

func (s *stall) draw(rng *rand.Rand) drawnShape {
	p, t := s.share, s.time
	if p == 0 {
		p = []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	}
	if t == 0 {
		t = retransmission
	}
	often := hitShare("held up", p, func(c link.Counters) int64 { return c.Stalls })
	return drawnShape{
		shape: link.Shape{Stall: p, StallTime: t},
		value: []history.Value{history.Keyword("share"), history.FloatOf(p), history.Keyword("stall-ms"), milliseconds(t)},
		bites: func(s sight) string {
			if s.sum.HeldTime < t-twoReadings {
				return fmt.Sprintf("%d units were held for %v together, less than one stall of %v", s.sum.Held, s.sum.HeldTime, t)
			}
			return often(s)
		},
	}
}
