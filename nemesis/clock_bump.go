package nemesis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// clockBumpEntry is a jump of the clock.
func clockBumpEntry() Entry {
	e := Entry{
		Name: "clock-bump", Doc: "let the clocks of nodes jump ahead or back, and no other's",
		Start: "start-clock-bump", Stop: "stop-clock-bump", Color: "#E9D9A0",
	}
	var t targets
	var by time.Duration
	e.Specs = specs(t.param(), jumpParam(&by))
	e.New = func(spec string) (Fault, error) {
		f := clockFault{kind: e.Name}
		var by time.Duration
		if err := parseSpec(spec, f.targets.param(), jumpParam(&by)); err != nil {
			return nil, err
		}
		what := "by ±11 ms to ±288 s, drawn each time (as Jepsen does)"
		if by != 0 {
			f.asked, what = ":"+signed(by), "by "+signed(by)
		}
		f.explain = "Lets the clocks of nodes jump " + what + ", and jump back at the end. " +
			"It bites when each clock, read as the node itself sees it, is off by what was asked for within 1 ms, or when a node ends of it. " +
			"It is undone when the vDSO of each node is byte for byte as it was and its clock reads right within 1 ms."
		f.draw = func(rng *rand.Rand) motion {
			by := by
			if by == 0 {
				by = drawJump(rng)
			}
			return motion{
				params:  []history.Value{history.Keyword("offset-ms"), milliseconds(by)},
				offsets: []time.Duration{by},
				bites:   isOff,
			}
		}
		return f, nil
	}
	return e
}

// isOff is bites for a fixed offset.
func isOff(s *clock.Skew, r clock.Reading, seen *sighting) string {
	seen.last, seen.asked = r, s.Asked(r.Host)
	if !within(r, seen.asked) {
		return fmt.Sprintf("its clock is off by %v, asked was %v", r.Offset, seen.asked)
	}
	return ""
}

const (
	leastJump = 5 * time.Millisecond // what cannot be told from 0 proves nothing
	mostJump  = 10 * 365 * 24 * time.Hour
)

// signed renders an offset with its sign, so that it is not taken for how long the
// fault stays.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}

// jumpParam takes an offset: 10s, +10s, -2h.
func jumpParam(at *time.Duration) param {
	doc := "an offset such as +10s or -2h"
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			d, err := time.ParseDuration(part)
			if err != nil {
				return false, nil
			}
			if size := max(d, -d); size < leastJump || size > mostJump {
				return true, fmt.Errorf("%q: expected %s, from %v to %v either way", part, doc, leastJump, mostJump)
			}
			*at = d
			return true, nil
		},
	}
}

// drawJump draws ±1.5^6 to ±1.5^31 ms, as Jepsen does: small ones as often as large
// ones.
func drawJump(rng *rand.Rand) time.Duration {
	d := time.Duration(math.Round(math.Pow(1.5, float64(6+rng.IntN(26))))) * time.Millisecond
	if rng.IntN(2) == 0 {
		return -d
	}
	return d
}
