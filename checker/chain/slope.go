package chain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Bounds of resource-slope, for each minute.
const (
	slopeWarmUp  = 30 * time.Second
	slopeSamples = 24      // after it: two minutes of samples every five seconds
	slopeBytes   = 8 << 20 // of resident memory, or
	slopeShare   = 20      // a twentieth of what it has, whichever is more
	slopeFiles   = 10      // open descriptors
	slopeThreads = 5
	slopeWhole   = 12  // times these, over all of the samples, is the least that counts
	slopeMost    = 240 // samples that are compared, evenly taken
	slopeRising  = 0.8 // share of pairs of samples that rise
)

// ResourceSlope returns the checker resource-slope: within one process of a node,
// from half a minute after its first sample on, memory, open files and threads
// rise by no more than a bound a minute: 8 MiB or a twentieth of the median,
// 10 files, 5 threads; and over all samples by no more than twelve times that (96
// MiB), for a node that starts fills its caches for minutes. The slope is that of Theil and Sen, the median over all
// pairs of samples, so that no peak and no collection of garbage makes one; and
// four of five pairs must rise. More is a warning, for a cache may still be
// filling. It is left out where no process has two minutes of samples. O(n) memory,
// and for each process O(s²) time, s at most 240.
func ResourceSlope() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().ResourceSlope() })
}

// ResourceSlope is ResourceSlope for a pass.
func (r *Reader) ResourceSlope() checker.Stream {
	return &resourceSlope{r: r, of: make(map[[2]string]int)}
}

type resourceSlope struct {
	r         *Reader
	of        map[[2]string]int // node and process → place in processes
	processes []sampled
	found     findings
}

type sampled struct {
	node, process string
	samples       []sample
}

type sample struct {
	time int64
	at   int
	has  [3]int64 // memory, files, threads; -1 for what was not told
}

func (*resourceSlope) Name() string { return "resource-slope" }

func (c *resourceSlope) Take(e *history.Event) {
	c.r.take(e)
	if e.Process != history.Runner() || e.F != "sample" {
		return
	}
	text := func(key string) string {
		v, _ := e.Value.Field(key)
		return string(v.Bytes())
	}
	k := [2]string{text("node"), text("process")}
	i, known := c.of[k]
	if !known {
		i = len(c.processes)
		c.of[k] = i
		c.processes = append(c.processes, sampled{node: k[0], process: k[1]})
	}
	s := sample{time: e.Time, at: e.Position}
	for n, key := range []string{"rss-bytes", "fds", "threads"} {
		v, _ := e.Value.Field(key)
		x, ok := v.Int()
		if !ok {
			x = -1
		}
		s.has[n] = x
	}
	c.processes[i].samples = append(c.processes[i].samples, s)
}

func (c *resourceSlope) Finish(ctx context.Context, src history.Source) checker.Result {
	var stats []checker.Stat
	most := 0
	for i := range c.processes {
		if ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		p := &c.processes[i]
		warm := slices.DeleteFunc(slices.Clone(p.samples), func(s sample) bool { return s.time < p.samples[0].time+int64(slopeWarmUp) })
		most = max(most, len(warm))
		if len(warm) < slopeSamples {
			continue
		}
		text := ""
		for n, what := range []string{"memory", "open files", "threads"} {
			slope, middle, ok := slopeOf(warm, n)
			if !ok {
				continue
			}
			c.found.facts += len(warm)
			bound, value := 0.0, ""
			switch n {
			case 0:
				bound, value = max(slopeBytes, middle/slopeShare), fmt.Sprintf("%+.1f MiB", slope/(1<<20))
			case 1:
				bound, value = slopeFiles, fmt.Sprintf("%+.1f", slope)
			case 2:
				bound, value = slopeThreads, fmt.Sprintf("%+.1f", slope)
			}
			if text != "" {
				text += ", "
			}
			text += what + " " + value
			first, last := warm[0], warm[len(warm)-1]
			if whole := slope * time.Duration(last.time-first.time).Minutes(); slope > bound && whole > slopeWhole*bound {
				c.found.warnOf([]int{first.at, last.at}, saying("%s of %s (process %s) rose by %s a minute over %v: from %d to %d (ops %d and %d, %d samples)",
					what, p.node, p.process, value[1:], time.Duration(last.time-first.time).Round(time.Second), first.has[n], last.has[n], first.at, last.at, len(warm)))
			}
		}
		stats = append(stats, checker.Stat{Name: "a minute on " + p.node + ", process " + p.process, Value: text})
	}
	if c.found.facts == 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true, Reason: fmt.Sprintf(
			"no process of a node has enough samples: %d after its first %v, want %d", most, slopeWarmUp, slopeSamples)}
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("%d processes of nodes watched, %s beyond the bounds", len(stats), plural(c.found.warned, "rise")),
		"nothing could be compared", stats)
}

// slopeOf is the median slope a minute over all pairs of samples, 0 unless most
// of them rise, and the median of the samples; ok is false without samples.
func slopeOf(all []sample, n int) (slope, middle float64, ok bool) {
	step := max(1, (len(all)+slopeMost-1)/slopeMost)
	var list []sample
	for i := 0; i < len(all); i += step {
		if all[i].has[n] >= 0 {
			list = append(list, all[i])
		}
	}
	if len(list) < 2 {
		return 0, 0, false
	}
	var slopes, values []float64
	rising := 0
	for i, a := range list {
		values = append(values, float64(a.has[n]))
		for _, b := range list[i+1:] {
			if b.time <= a.time {
				continue
			}
			if b.has[n] > a.has[n] {
				rising++
			}
			slopes = append(slopes, float64(b.has[n]-a.has[n])/time.Duration(b.time-a.time).Minutes())
		}
	}
	if len(slopes) == 0 {
		return 0, 0, false
	}
	slices.Sort(slopes)
	slices.Sort(values)
	middle = values[len(values)/2]
	if slope = slopes[len(slopes)/2]; slope > 0 && float64(rising) < slopeRising*float64(len(slopes)) {
		slope = 0
	}
	return slope, middle, true
}
