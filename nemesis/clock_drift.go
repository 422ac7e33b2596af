package nemesis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// clockDriftEntry is a clock that goes wrong.
func clockDriftEntry() Entry {
	e := Entry{
		Name: "clock-drift", Doc: "let the clocks of nodes go fast or slow, and no other's",
		Start: "start-clock-drift", Stop: "stop-clock-drift", Color: "#D3E09A",
	}
	var t targets
	var ppm float64
	e.Specs = specs(t.param(), ratePartParam(&ppm))
	e.New = func(spec string) (Fault, error) {
		f := clockFault{kind: e.Name}
		var ppm float64
		if err := parseSpec(spec, f.targets.param(), ratePartParam(&ppm)); err != nil {
			return nil, err
		}
		what := "by ±0.1 % to ±10 %, drawn each time"
		if ppm != 0 {
			text := strconv.FormatFloat(ppm, 'g', -1, 64) + "ppm"
			f.asked, what = ":"+text, "by "+text
		}
		f.explain = "Lets the clocks of nodes go fast or slow " + what + ", so that they are off more and more, and jump back at the end. " +
			"It bites when each clock, read twice as the node itself sees it, is off by what the rate makes it at that moment, within 0.1 ms, and further than before, or when a node ends of it. " +
			"It is undone when the vDSO of each node is byte for byte as it was and its clock reads right within 1 ms."
		f.draw = func(rng *rand.Rand) motion {
			ppm := ppm
			if ppm == 0 {
				ppm = drawRate(rng)
			}
			return motion{
				params:  []history.Value{history.Keyword("rate-ppm"), history.FloatOf(ppm)},
				offsets: []time.Duration{0}, ppm: ppm, bites: drifts,
			}
		}
		return f, nil
	}
	return e
}

// driftSlack is how far a drifting clock may be from what was asked for.
const driftSlack = 100 * time.Microsecond

// drifts is bites for a rate: two readings, far enough from each other and from 0.
func drifts(s *clock.Skew, r clock.Reading, seen *sighting) string {
	asked := s.Asked(r.Host)
	seen.last, seen.asked = r, asked
	if d := r.Offset - asked; max(d, -d) > driftSlack+r.Bound {
		return fmt.Sprintf("its clock is off by %v, asked was %v", r.Offset, asked)
	}
	if seen.first.Host.IsZero() {
		seen.first = r
	}
	if way := r.Offset - seen.first.Offset; max(way, -way) < 2*driftSlack {
		return fmt.Sprintf("its clock has drifted by %v only", way)
	}
	return ""
}

const (
	leastRate = 50 // ppm; it takes seconds to see less
	mostRate  = 500_000
)

// ratePartParam takes a rate in percent or in ppm, as ppm.
func ratePartParam(at *float64) param {
	doc := "a rate such as 1%, -0.5% or 500ppm"
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			unit := 1.0
			text, ok := strings.CutSuffix(part, "ppm")
			if !ok {
				unit = 1e4
				if text, ok = strings.CutSuffix(part, "%"); !ok {
					return false, nil
				}
			}
			n, err := strconv.ParseFloat(text, 64)
			ppm := n * unit
			if err != nil || !(math.Abs(ppm) >= leastRate && math.Abs(ppm) <= mostRate) {
				return true, fmt.Errorf("%q: expected %s, from %dppm to %dppm either way", part, doc, leastRate, mostRate)
			}
			*at = ppm
			return true, nil
		},
	}
}

// drawRate draws ±0.1 % to ±10 %, small ones as often as large ones.
func drawRate(rng *rand.Rand) float64 {
	ppm := math.Round(math.Pow(10, 3+2*rng.Float64()))
	if rng.IntN(2) == 0 {
		return -ppm
	}
	return ppm
}
