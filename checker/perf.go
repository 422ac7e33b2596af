package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/jepgo/jepgo/history"
)

// PerfOptions say how fine performance is measured.
type PerfOptions struct {
	// Window is the length of the windows of time at the start; 0 means 100 ms. It
	// doubles whenever there would be more than 512 of them.
	Window time.Duration
	// Quantiles are those of the latencies; nil means 0.5, 0.95, 0.99 and 1.
	Quantiles []float64
}

// Performance is the checker perf: how long operations took, and how many ended,
// for each :f and outcome, over time. It is data for plots and judges nothing:
// Valid means that it has looked. Make one with Perf.
type Performance struct {
	window    time.Duration
	quantiles []float64
	open      opened[int64]
	series    []*perfSeries
	recent    *perfSeries
	begin     int64 // :time of the first op
	end       int64
	started   bool
	ended     int // operations
	timeless  int // those without two times
	points    []PerfPoint
	every     int // one completion in so many is a point
}

// PerfSeries is the operations of one :f with one outcome.
type PerfSeries struct {
	F       string
	Outcome history.Type // OK, Fail or Info
	Count   int
	Latency []time.Duration // by quantile, of all; nil when no op has two times
	Windows []PerfWindow
}

// PerfWindow is one window of time of a series.
type PerfWindow struct {
	Start   int64           // :time, in nanoseconds
	Rate    float64         // operations that ended in it, a second
	Latency []time.Duration // by quantile, of the operations that began in it; nil when there are none
}

// PerfPoint is one operation: its series, when it began and how long it took.
type PerfPoint struct {
	Series  int // in PerfData.Series
	Time    int64
	Latency time.Duration
}

// PerfData is what a Performance has measured.
type PerfData struct {
	Window    time.Duration
	Quantiles []float64
	Series    []PerfSeries // in the order of their first completion
	Points    []PerfPoint  // an even sample of the operations, at most 16,384
}

// Perf returns the checker perf. An operation counts in the window in which it
// began for its latency, in the one in which it ended for the rate. Latencies are
// counted in buckets, so quantiles are up to 1.6 % too high, the 1-quantile not.
//
// O(n) time; memory does not grow with the history.
func Perf(o PerfOptions) *Performance {
	if o.Window <= 0 {
		o.Window = 100 * time.Millisecond
	}
	if o.Quantiles == nil {
		o.Quantiles = []float64{0.5, 0.95, 0.99, 1}
	}
	return &Performance{window: o.Window, quantiles: o.Quantiles, every: 1}
}

const (
	mostWindows = 512
	mostPoints  = 1 << 14
)

type perfSeries struct {
	f       string
	outcome history.Type
	number  int
	count   int
	all     latencies
	windows []perfWindow
}

type perfWindow struct {
	ended int
	took  latencies
}

// Name is the checker's.
func (*Performance) Name() string { return "perf" }

// Take looks at the next event.
func (p *Performance) Take(e *history.Event) {
	if !ofClient(e) || e.Type == 0 {
		return
	}
	if e.Time >= 0 {
		if !p.started {
			p.started, p.begin = true, e.Time
		}
		p.end = max(p.end, e.Time)
	}
	if e.Type == history.Invoke {
		p.open.begin(e.Process, e.Time)
		return
	}
	began, ok := p.open.end(e.Process)
	s := p.find(e.F, e.Type)
	s.count++
	p.ended++
	if e.Time < 0 {
		p.timeless++
		return
	}
	s.at(p, e.Time).ended++
	if !ok || began < 0 || began > e.Time {
		p.timeless++
		return
	}
	took := time.Duration(e.Time - began)
	s.all.add(took)
	s.at(p, began).took.add(took)
	p.point(PerfPoint{s.number, began, took})
}

// find returns the series of an :f and an outcome.
func (p *Performance) find(f string, outcome history.Type) *perfSeries {
	if s := p.recent; s != nil && s.outcome == outcome && s.f == f {
		return s
	}
	for _, s := range p.series {
		if s.outcome == outcome && s.f == f {
			p.recent = s
			return s
		}
	}
	s := &perfSeries{f: f, outcome: outcome, number: len(p.series)}
	p.series = append(p.series, s)
	p.recent = s
	return s
}

// at returns the window of a time, making windows longer until it is among them.
func (s *perfSeries) at(p *Performance, at int64) *perfWindow {
	since := max(0, at-p.begin)
	for since/int64(p.window) >= mostWindows {
		p.window *= 2
		for _, other := range p.series {
			other.halve()
		}
	}
	i := int(since / int64(p.window))
	for len(s.windows) <= i {
		s.windows = append(s.windows, perfWindow{})
	}
	return &s.windows[i]
}

// halve makes one window of each two.
func (s *perfSeries) halve() {
	for i := range s.windows {
		if i%2 == 0 {
			s.windows[i/2] = s.windows[i]
			continue
		}
		to := &s.windows[i/2]
		to.ended += s.windows[i].ended
		to.took.addAll(&s.windows[i].took)
	}
	s.windows = s.windows[:(len(s.windows)+1)/2]
}

// point keeps an even sample.
func (p *Performance) point(at PerfPoint) {
	if (p.ended-1)%p.every != 0 {
		return
	}
	if len(p.points) == mostPoints {
		for i := range mostPoints / 2 {
			p.points[i] = p.points[2*i]
		}
		p.points = p.points[:mostPoints/2]
		p.every *= 2
		if (p.ended-1)%p.every != 0 {
			return
		}
	}
	p.points = append(p.points, at)
}

// Data returns what was measured.
func (p *Performance) Data() PerfData {
	d := PerfData{Window: p.window, Quantiles: p.quantiles, Points: p.points}
	for _, s := range p.series {
		out := PerfSeries{F: s.f, Outcome: s.outcome, Count: s.count, Latency: s.all.quantiles(p.quantiles)}
		for i := range s.windows {
			w := &s.windows[i]
			out.Windows = append(out.Windows, PerfWindow{
				Start:   p.begin + int64(i)*int64(p.window),
				Rate:    float64(w.ended) / p.window.Seconds(),
				Latency: w.took.quantiles(p.quantiles),
			})
		}
		d.Series = append(d.Series, out)
	}
	return d
}

// Finish sums up.
func (p *Performance) Finish(ctx context.Context, _ history.Source) Result {
	r := Result{Checker: p.Name(), Verdict: Valid, Facts: max(1, p.ended)}
	if ctx.Err() != nil {
		return Ended(ctx, p.Name())
	}
	length := time.Duration(p.end - p.begin)
	for _, s := range p.series {
		text := fmt.Sprint(s.count)
		if length > 0 {
			text += fmt.Sprintf(" (%.1f/s)", float64(s.count)/length.Seconds())
		}
		for i, took := range s.all.quantiles(p.quantiles) {
			text += fmt.Sprintf(", p%v %v", 100*p.quantiles[i], brief(took))
		}
		r.Stats = append(r.Stats, Stat{s.f + " " + s.outcome.String(), text})
	}
	r.Reason = fmt.Sprintf("%s in %v; this is not judged", plural(p.ended, "operation"), brief(length))
	if p.timeless > 0 {
		r.Warnings = append(r.Warnings, plural(p.timeless, "operation")+" without two times, so how long they took is not known")
	}
	return r
}
