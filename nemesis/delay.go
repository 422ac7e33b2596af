package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

const mostDelay = 10 * time.Minute

func delayEntry() Entry {
	return linkEntry("delay", "hold back all traffic of nodes by the same time", "#F2C879", wayBoth, func() shaper { return new(delay) })
}

// delay holds all units back by one time: Jepsen's default is 50 ms.
type delay struct{ time time.Duration }

func (d *delay) params() []param {
	return []param{duration(&d.time, "a delay such as 200ms", time.Millisecond, mostDelay)}
}

func (d *delay) suffix() string { return asTime(d.time) }

func (*delay) features() []link.Feature { return []link.Feature{link.FeatureDelay} }

func (d *delay) explain() (does, bites string) {
	return "Adds " + asAsked(d.time, "a delay drawn from 40ms to 60ms") + " to everything, each way; much may be under way at a time. " +
			"Links made of TCP proxies delay what connections carry, not how they are opened, and the nodes' kernels see no longer round trip.",
		"at least 5 units were held, in the mean no less than 1ms short of what was asked"
}

func (d *delay) draw(rng *rand.Rand) drawnShape {
	t := d.time
	if t == 0 {
		t = between(rng, 40*time.Millisecond, 60*time.Millisecond)
	}
	return drawnShape{
		shape: link.Shape{Delay: t},
		value: []history.Value{history.Keyword("delay-ms"), milliseconds(t)},
		bites: heldAtLeast(t),
	}
}

// asTime prints a duration as duration reads it; 0 was not given.
func asTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ":" + d.String()
}

// asAsked prints a duration, or what is drawn when none was given.
func asAsked(d time.Duration, otherwise string) string {
	if d == 0 {
		return otherwise
	}
	return fmt.Sprint(d)
}
