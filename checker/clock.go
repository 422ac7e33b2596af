package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// Clocks is the checker clock-plot: how far the clocks of the nodes were off over
// time, as the :clock-offsets of the nemesis' ops say. It is data for a plot and
// judges nothing: Valid means that it has looked. Make one with ClockPlot.
type Clocks struct {
	ops    sample
	end    int64
	series []ClockSeries
}

// ClockSeries is the offsets of one node's clock, in the order of time.
type ClockSeries struct {
	Node   string
	Points []ClockPoint
}

// ClockPoint says that a clock was so many seconds ahead, at so many nanoseconds
// of the history's :time.
type ClockPoint struct {
	Time   int64
	Offset float64
}

// ClockPlot returns the checker clock-plot. As in Jepsen, the last offset of a node
// holds to the end of the history. The offsets are not in an Event, so Finish reads
// the nemesis' ops again, at most 100,000 of them (an even sample of more).
func ClockPlot() *Clocks { return &Clocks{} }

// Name is the checker's.
func (*Clocks) Name() string { return "clock-plot" }

// Take looks at the next event.
func (c *Clocks) Take(e *history.Event) {
	c.end = max(c.end, e.Time)
	if e.Process.Name() != "" {
		c.ops.take(e.Position)
	}
}

func (c *Clocks) asks() []int { return c.ops.at }

// Data returns the offsets of each node, by name; it is there after Finish.
func (c *Clocks) Data() []ClockSeries { return c.series }

// Finish reads the offsets.
func (c *Clocks) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: c.Name()}
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	byNode := make(map[string]*ClockSeries)
	err := eachOp(ctx, src, c.ops.at, func(op *history.Op) {
		offsets, _ := op.Lookup("clock-offsets")
		elems := offsets.Elems()
		if offsets.Kind() != history.Map || op.Time < 0 {
			return
		}
		for i := 0; i+1 < len(elems); i += 2 {
			offset, ok := seconds(elems[i+1])
			if !ok {
				continue
			}
			node := elems[i].Text()
			s := byNode[node]
			if s == nil {
				s = &ClockSeries{Node: node}
				byNode[node] = s
			}
			s.Points = append(s.Points, ClockPoint{op.Time, offset})
			r.Facts++
		}
	})
	if err != nil {
		return Result{Checker: c.Name(), Reason: fmt.Sprintf("ops of the nemesis could not be looked at again: %v", err)}
	}
	c.series = nil
	for _, node := range sortedKeys(byNode) {
		s := byNode[node]
		last := s.Points[len(s.Points)-1]
		low, high := last.Offset, last.Offset
		for _, p := range s.Points {
			low, high = min(low, p.Offset), max(high, p.Offset)
		}
		if last.Time < c.end {
			s.Points = append(s.Points, ClockPoint{c.end, last.Offset})
		}
		c.series = append(c.series, *s)
		r.Stats = append(r.Stats, Stat{node, fmt.Sprintf("from %.3f s to %.3f s off", low, high)})
	}
	c.series = slices.Clip(c.series)
	r.Verdict = Valid
	r.Reason = fmt.Sprintf("%s of %s; this is not judged", plural(r.Facts, "offset"), plural(len(c.series), "clock"))
	r.Facts = max(1, r.Facts)
	return r
}

// seconds reads a number of any kind.
func seconds(v history.Value) (s float64, ok bool) {
	if n, isInt := v.Int(); isInt {
		return float64(n), true
	}
	return v.Float()
}
