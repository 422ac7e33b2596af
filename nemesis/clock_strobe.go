package nemesis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// clockStrobeEntry is a clock that jumps to and fro.
func clockStrobeEntry() Entry {
	e := Entry{
		Name: "clock-strobe", Doc: "let the clocks of nodes jump to and fro, and no other's",
		Start: "start-clock-strobe", Stop: "stop-clock-strobe", Color: "#A9DDC4",
	}
	var t targets
	var d time.Duration
	e.Specs = specs(t.param(), jumpParam(&d), periodParam(&d, "period", leastPeriod, mostPeriod))
	e.New = func(spec string) (Fault, error) {
		f := clockFault{kind: e.Name}
		var by, period time.Duration
		if err := parseSpec(spec, f.targets.param(), jumpParam(&by), periodParam(&period, "period", leastPeriod, mostPeriod)); err != nil {
			return nil, err
		}
		what, often := "±11 ms to ±288 s", "1 ms to 1 s"
		if by != 0 {
			f.asked, what = ":"+by.String(), by.String()
		}
		if period != 0 {
			f.asked, often = f.asked+":period="+period.String(), period.String()
		}
		f.explain = "Lets the clocks of nodes jump by " + what + " and back again, every " + often + ", drawn each time where not given. " +
			"It bites when each clock, read as the node itself sees it, was found off by what was asked for and right again, two times at least, each within 1 ms, or when a node ends of it. " +
			"It is undone when the vDSO of each node is byte for byte as it was and its clock reads right within 1 ms."
		f.draw = func(rng *rand.Rand) motion {
			by, period := by, period
			// Both are drawn always, so that giving one does not shift the other.
			drawnBy, drawnPeriod := drawJump(rng), time.Millisecond<<rng.IntN(11)
			if by == 0 {
				by = drawnBy
			}
			if period == 0 {
				period = drawnPeriod
			}
			return motion{
				params: []history.Value{
					history.Keyword("offset-ms"), milliseconds(by), history.Keyword("period-ms"), milliseconds(period)},
				offsets: []time.Duration{by, 0}, every: period,
				bites: func(_ *clock.Skew, r clock.Reading, seen *sighting) string { return flips(by, r, seen) },
			}
		}
		return f, nil
	}
	return e
}

// wantFlips is how many changes between the two states must be seen.
const wantFlips = 3

// flips is bites for a strobe.
func flips(by time.Duration, r clock.Reading, seen *sighting) string {
	off := within(r, by)
	if !off && !within(r, 0) {
		return fmt.Sprintf("its clock is off by %v, asked was %v or nothing", r.Offset, by)
	}
	first := seen.first.Host.IsZero()
	if first {
		seen.first = r
	}
	if was := within(seen.last, by); !first && was != off {
		seen.flips++
	}
	seen.last, seen.asked = r, 0
	if off {
		seen.asked = by
	}
	if seen.flips < wantFlips {
		return fmt.Sprintf("its clock was seen to jump %d times only", seen.flips)
	}
	return ""
}

const (
	leastPeriod = time.Millisecond
	mostPeriod  = 4 * time.Second
)

// periodParam takes a duration after a name: period=50ms.
func periodParam(at *time.Duration, name string, least, most time.Duration) param {
	doc := "a time such as " + name + "=50ms"
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			text, ok := strings.CutPrefix(part, name+"=")
			if !ok {
				return false, nil
			}
			d, err := time.ParseDuration(text)
			if err != nil || d < least || d > most {
				return true, fmt.Errorf("%q: expected %s, from %v to %v", part, doc, least, most)
			}
			*at = d
			return true, nil
		},
	}
}
