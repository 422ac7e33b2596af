package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jepgo/jepgo/history"
)

// Floor is how many successes a run needs before a verdict about it means
// anything. A zero field is its default; a negative one asks for nothing.
type Floor struct {
	Run   int      // ok client ops in the phase :run; default 10
	Final int      // ok client ops in the phase :final; default 1
	Each  int      // ok ops of each :f in Of, in the phase :run, if it was invoked there; default 1
	Of    []string // default write, cas, read
	// Spare are operations of which all may fail, as those do that compete with
	// others for one thing; that is a warning then.
	Spare []string
}

// Stats returns the checker stats: how many operations of each :f succeeded,
// failed or stayed in doubt, and how long they took. It is Unknown when some :f
// that clients invoked never succeeded (Jepsen's documentation says unknown
// there, its code says invalid: an operation that never works is no evidence of
// an anomaly), or when successes stay below the floor; never Invalid. A history
// without phases counts as one :run and has no :final. Where jepgo's own history
// ends early, that is the first reason for what is missing, and a warning when
// nothing is. O(n) time; it keeps 8
// bytes for each operation.
func Stats(floor Floor) Checker {
	return Streamed(func() Stream { return StatsStream(floor) })
}

// StatsStream is Stats for a history that passes by.
func StatsStream(floor Floor) Stream {
	floor.Run = orDefault(floor.Run, 10)
	floor.Final = orDefault(floor.Final, 1)
	floor.Each = orDefault(floor.Each, 1)
	if floor.Of == nil {
		floor.Of = []string{"write", "cas", "read"}
	}
	return &stats{
		floor: floor, disordered: nowhere, phase: "run",
		byF: make(map[string]*tally), okIn: make(map[string]int), answered: make(map[string]bool),
	}
}

type stats struct {
	floor      Floor
	ours       ours
	byF        map[string]*tally
	lastF      string // a short cut past byF
	last       *tally
	okIn       map[string]int
	answered   map[string]bool // nodes, in the phase :final
	phase      string          // "run" before the first :phase op, for histories that have none
	phased     bool
	opened     opened[int64] // time of the invocation
	facts      int
	disordered int // the first op that is not where its index says
	index      int64
}

func (*stats) Name() string { return "stats" }

// tally counts one :f.
type tally struct {
	invoked, ok, fail, info int
	inRun, okInRun          int
	took                    []time.Duration // of ok ops
}

func (c *stats) Take(e *history.Event) {
	c.ours.take(e)
	if e.Index != history.Absent && e.Index != int64(e.Position) && c.disordered < 0 {
		c.disordered, c.index = e.Position, e.Index
	}
	if !e.Process.IsClient() {
		if e.F == "phase" && e.Process == history.Runner() {
			c.enter(string(e.Value.Bytes()))
		}
		return
	}
	t := c.last
	if t == nil || c.lastF != e.F {
		if t = c.byF[e.F]; t == nil {
			t = &tally{}
			c.byF[e.F] = t
		}
		c.lastF, c.last = e.F, t
	}
	switch e.Type {
	case history.Invoke:
		t.invoked++
		if c.phase == "run" {
			t.inRun++
		}
		c.opened.begin(e.Process, e.Time)
		return
	case history.OK:
		t.ok++
		c.okIn[c.phase]++
		switch c.phase {
		case "final":
			node, _ := e.Rest.Field("node")
			if name := node.Bytes(); !c.answered[string(name)] {
				c.answered[string(name)] = true
			}
		case "run":
			t.okInRun++
		}
	case history.Fail:
		t.fail++
	case history.Info:
		t.info++
	default:
		return
	}
	c.facts++
	if at, ok := c.opened.end(e.Process); ok && e.Type == history.OK && at >= 0 && e.Time >= at {
		t.took = append(t.took, time.Duration(e.Time-at))
	}
}

// enter begins a phase. What came before the first one is in none.
func (c *stats) enter(phase string) {
	if !c.phased {
		c.phased = true
		c.okIn = map[string]int{"": c.okIn["run"]}
		for _, t := range c.byF {
			t.inRun, t.okInRun = 0, 0
		}
	}
	c.phase = phase
}

func (c *stats) Finish(ctx context.Context, _ history.Source) Result {
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	r := Result{Checker: c.Name(), Facts: c.facts}
	run := c.ours.runLength()
	for _, f := range sortedKeys(c.byF) {
		r.Stats = append(r.Stats, Stat{Name: f, Value: c.byF[f].describe(run)})
	}
	info, ours := c.ours.readTest()
	early := c.ours.endsEarly()
	if ours && early == "" {
		for _, node := range info.Nodes {
			if !c.answered[node] {
				r.Reason = fmt.Sprintf("node %s answered nothing in phase final, so what it holds in the end is not known", node)
				return r
			}
		}
	}
	if ours && c.disordered >= 0 {
		r.Reason = fmt.Sprintf("line %d of the history has :index %d: lines were moved, lost or added after jepgo wrote it", c.disordered+1, c.index)
		return r
	}
	problems := c.problems(c.byF, c.okIn, c.phased)
	if len(problems) > 0 {
		r.Reason, r.Warnings = because(early, problems[0]), problems[1:]
		return r
	}
	if early != "" {
		r.Reason = early + ", so what its last reads would have shown is not known"
		return r
	}
	r.Verdict = Valid
	r.Reason = fmt.Sprintf("every operation had successes, %d in all", c.okIn["run"]+c.okIn["heal"]+c.okIn["final"])
	for _, f := range c.floor.Spare {
		if t := c.byF[f]; t != nil && t.ok == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("operation %q never succeeded, which its kind may: %d failed, %d in doubt", f, t.fail, t.info))
		}
	}
	return r
}

// advice is what helps a run that stayed below its floor.
const advice = "run longer (--time) or with more clients"

func (c *stats) problems(byF map[string]*tally, okIn map[string]int, phased bool) []string {
	var problems []string
	if len(byF) == 0 {
		return []string{"history has no client operations"}
	}
	for _, f := range sortedKeys(byF) {
		if t := byF[f]; t.ok == 0 && !slices.Contains(c.floor.Spare, f) {
			problems = append(problems, fmt.Sprintf("operation %q never succeeded: %d failed, %d in doubt of %d", f, t.fail, t.info, max(t.invoked, t.fail+t.info)))
		}
	}
	if got := okIn["run"]; got < c.floor.Run {
		problems = append(problems, fmt.Sprintf("phase run has fewer successes than the floor: %d of %d: %s", got, c.floor.Run, advice))
	}
	for _, f := range c.floor.Of {
		if t := byF[f]; t != nil && t.inRun > 0 && t.ok > 0 && t.okInRun < c.floor.Each {
			problems = append(problems, fmt.Sprintf("operation %q has fewer successes in phase run than the floor: %d of %d: %s", f, t.okInRun, c.floor.Each, advice))
		}
	}
	if got := okIn["final"]; phased && got < c.floor.Final {
		problems = append(problems, fmt.Sprintf("phase final has fewer successes than the floor: %d of %d", got, c.floor.Final))
	}
	return problems
}

// runLength is how long the phase :run took; 0 when the history does not say.
func (o *ours) runLength() time.Duration {
	for _, p := range o.phases() {
		if from := o.op(p.From).Time; p.Name == "run" && p.To < o.count && from >= 0 {
			return time.Duration(o.op(p.To).Time - from)
		}
	}
	return 0
}

// describe is the tally in words; run is the length of the phase :run, or 0.
func (t *tally) describe(run time.Duration) string {
	inRun := ""
	switch rate := float64(t.okInRun) / run.Seconds(); {
	case t.okInRun == 0 && t.ok > 0:
		inRun = " (none in phase run)"
	case t.okInRun != t.ok && run > 0:
		inRun = fmt.Sprintf(" (%d in phase run, %.1f/s)", t.okInRun, rate)
	case t.okInRun != t.ok:
		inRun = fmt.Sprintf(" (%d in phase run)", t.okInRun)
	case t.ok > 0 && run > 0:
		inRun = fmt.Sprintf(" (%.1f/s in the run)", rate)
	}
	s := fmt.Sprintf("%d ok%s, %d fail, %d info", t.ok, inRun, t.fail, t.info)
	if open := t.invoked - t.ok - t.fail - t.info; open > 0 {
		s += fmt.Sprintf(", %d open", open)
	}
	if len(t.took) == 0 {
		return s
	}
	slices.Sort(t.took)
	return s + fmt.Sprintf("; ok took p50 %v, p95 %v, p99 %v, max %v",
		brief(Quantile(t.took, 0.50)), brief(Quantile(t.took, 0.95)), brief(Quantile(t.took, 0.99)), brief(t.took[len(t.took)-1]))
}

// Quantile returns the q-quantile of a sorted sample that is not empty: the
// smallest element that at least q of the sample does not exceed.
func Quantile[T any](sorted []T, q float64) T {
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[min(max(rank-1, 0), len(sorted)-1)]
}

// brief rounds a duration to what a reader compares.
func brief(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
