package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/history"
)

// defaultHold is how long a clock that will be reset is off.
const defaultHold = time.Second

// clockResetEntry is a clock that was off and is set right, as after a bad time
// server. (Jepsen's reset of all clocks is what the undo of every clock fault does.)
func clockResetEntry() Entry {
	e := Entry{
		Name: "clock-reset", Doc: "let the clocks of nodes jump, and be set right while the fault goes on",
		Start: "start-clock-reset", Stop: "stop-clock-reset", Color: "#B7C9E6",
	}
	var t targets
	var d time.Duration
	e.Specs = specs(t.param(), jumpParam(&d), periodParam(&d, "hold", leastHold, mostHold))
	e.New = func(spec string) (Fault, error) {
		f := clockFault{kind: e.Name}
		var by time.Duration
		hold := defaultHold
		if err := parseSpec(spec, f.targets.param(), jumpParam(&by), periodParam(&hold, "hold", leastHold, mostHold)); err != nil {
			return nil, err
		}
		what := "±11 ms to ±288 s, drawn each time"
		if by != 0 {
			f.asked, what = ":"+signed(by), signed(by)
		}
		if hold != defaultHold {
			f.asked += ":hold=" + hold.String()
		}
		f.explain = fmt.Sprintf("Lets the clocks of nodes jump by %s and sets them right after %v, once, as after a bad time server: what a node made of the wrong time meets the true one. ", what, hold) +
			"It bites when each clock, read as the node itself sees it, was found off by what was asked for, and then right, within 1 ms, or when a node ends of it. " +
			"It is undone when the vDSO of each node is byte for byte as it was and its clock reads right within 1 ms."
		f.draw = func(rng *rand.Rand) motion {
			by := by
			if by == 0 {
				by = drawJump(rng)
			}
			return motion{
				params: []history.Value{
					history.Keyword("offset-ms"), milliseconds(by), history.Keyword("hold-ms"), milliseconds(hold)},
				offsets: []time.Duration{by, 0}, every: hold, once: true,
				bites: func(_ *clock.Skew, r clock.Reading, seen *sighting) string { return resets(by, r, seen) },
			}
		}
		return f, nil
	}
	return e
}

const (
	leastHold = 100 * time.Millisecond // to be seen on a busy machine
	mostHold  = 10 * time.Second
)

// resets is bites for a reset: off first, then right. The evidence is what it was
// off by.
func resets(by time.Duration, r clock.Reading, seen *sighting) string {
	switch {
	case within(r, by):
		seen.last, seen.asked, seen.flips = r, by, 1
		return "its clock was not seen to be set right"
	case seen.flips == 0:
		return fmt.Sprintf("its clock is off by %v, asked was %v", r.Offset, by)
	case !within(r, 0):
		return fmt.Sprintf("its clock is off by %v after it was set right", r.Offset)
	}
	return ""
}
