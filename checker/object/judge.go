package object

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/internal/reason"
	"github.com/jepgo/jepgo/history"
)

// searchers is how many parts are searched at once. It does not depend on the
// machine, since each has its share of the memory.
const searchers = 4

// Finish implements checker.Stream.
func (r *recorder) Finish(ctx context.Context, src history.Source) (res checker.Result) {
	defer func() {
		if v := recover(); v != nil {
			res = checker.Result{Checker: r.Name(), Reason: r.panicked(v)}
		}
	}()
	if ctx.Err() != nil {
		return checker.Ended(ctx, r.Name())
	}
	if r.spec.unfit != "" {
		return checker.Result{Checker: r.Name(), Reason: r.spec.unfit}
	}
	r.sift()
	parts := r.divide()
	found := make([]finding, len(parts))
	all := make([]int, len(parts))
	for i := range all {
		all[i] = i
	}
	// What is easy goes first: if that shows a violation, hard parts need not be
	// decided.
	o := r.options
	o.Work = min(o.Work, easyWork)
	judgeAll(ctx, parts, all, found, o)
	bad := slices.ContainsFunc(found, func(f finding) bool { return f.verdict == checker.Invalid })
	hard := slices.DeleteFunc(all, func(i int) bool { return found[i].verdict != checker.Unknown || o.Work == r.options.Work })
	if !bad {
		judgeAll(ctx, parts, hard, found, r.options)
	} else {
		for _, i := range hard {
			found[i].why += ", and no more was tried because other parts are not linearizable"
		}
	}
	return r.summary(ctx, src, parts, found)
}

// easyWork is how many steps a part gets at first.
const easyWork = 4_000_000

// judgeAll judges some of the parts, several at once.
func judgeAll(ctx context.Context, parts []*part, which []int, found []finding, o Options) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(searchers, len(which)) {
		wait.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(which)); n = next.Add(1) - 1 {
				i := which[n]
				steps := found[i].steps
				found[i] = judgePart(ctx, parts[i], o)
				found[i].steps += steps
			}
		})
	}
	wait.Wait()
}

// divide returns the parts that can be judged by themselves.
func (r *recorder) divide() []*part {
	parts := r.parts()
	var out []*part
	for _, p := range parts {
		switch {
		case r.options.Whole:
			out = append(out, p)
		case r.spec.split != nil:
			out = append(out, r.spec.split(p)...)
		case r.spec.partition != nil:
			out = append(out, p.splitByModel()...)
		default:
			out = append(out, p)
		}
	}
	return out
}

// judgePart judges one part. A model that panics is a fault of the model, not a
// verdict, and not the end of the program.
func judgePart(ctx context.Context, p *part, o Options) (f finding) {
	defer func() {
		if v := recover(); v != nil {
			f = finding{why: p.r.panicked(v), by: "nothing"}
		}
	}()
	if ctx.Err() != nil {
		return finding{why: fmt.Sprintf("check ended early: %v", context.Cause(ctx)), by: "nothing"}
	}
	if p.r.spec.refuse != nil {
		if why := p.r.spec.refuse(p); why != "" {
			return finding{why: why, by: "nothing"}
		}
	}
	if p.r.spec.monitor != nil && o.only == anyEngine {
		if f, ok := p.r.spec.monitor(p); ok {
			return f
		}
	}
	return search(ctx, p, o)
}

// maxAnomalies is how many parts are explained.
const maxAnomalies = 4

func (r *recorder) summary(ctx context.Context, src history.Source, parts []*part, found []finding) checker.Result {
	res := checker.Result{Checker: r.Name()}
	bad, undecided, firstBad, busiest := 0, 0, -1, 0
	steps := int64(0)
	by := make(map[string]int)
	var gaveUp string
	for i, p := range parts {
		f := &found[i]
		res.Facts += p.certain()
		busiest = max(busiest, p.operations())
		steps += f.steps
		by[f.by]++
		switch f.verdict {
		case checker.Invalid:
			bad++
			if firstBad < 0 {
				firstBad = i
			}
		case checker.Unknown:
			undecided++
			text := fmt.Sprintf("%s with %d operations was not decided: %s", p.title(), p.operations(), f.why)
			if f.at > 0 {
				text += fmt.Sprintf(", at op %d", f.at)
			}
			if gaveUp == "" {
				gaveUp = text
			}
			if undecided <= maxAnomalies {
				res.Warnings = append(res.Warnings, text)
			}
		}
	}
	if r.odd > 0 {
		text := fmt.Sprintf("%d ops make no sense to the model %s, the first is op %d: %s", r.odd, r.spec.name, r.oddAt, r.oddWhy)
		if r.cut {
			text += "; what it may have changed was not judged"
		}
		res.Warnings = append(res.Warnings, text)
		gaveUp = text
	}
	res.Stats = []checker.Stat{
		{Name: "parts", Value: fmt.Sprint(len(parts))},
		{Name: "operations of the busiest part", Value: fmt.Sprint(busiest)},
		{Name: "search steps", Value: fmt.Sprint(steps)},
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		res.Stats = append(res.Stats, checker.Stat{Name: "decided by " + name, Value: fmt.Sprint(by[name])})
	}
	switch {
	case bad > 0:
		var culprit string
		res.Anomalies, culprit = r.explain(ctx, src, parts, found)
		res.Verdict = checker.Invalid
		res.Reason = parts[firstBad].title() + " is not linearizable"
		if len(parts) == 1 && culprit != "" {
			res.Reason += ": no order has a place for " + culprit
		} else {
			res.Reason += reason.Others(bad-1, undecided, len(parts)-1)
		}
	case gaveUp != "":
		res.Reason = gaveUp
	case res.Facts == 0 && r.options.EmptyValid && (r.tried > 0 || len(r.others) == 0):
		res.Verdict, res.Facts = checker.Valid, 1
		res.Reason = "nothing happened, so nothing went wrong"
	case res.Facts == 0:
		res.Reason = reason.Nothing(r.tried > 0, r.others, r.spec.ops)
	default:
		res.Verdict = checker.Valid
		res.Reason = fmt.Sprintf("%d operations on %s are linearizable", res.Facts, r.sayParts(parts))
	}
	return res
}

func (r *recorder) sayParts(parts []*part) string {
	name := r.spec.name
	if name == "" {
		name = "object"
	}
	if len(parts) == 1 && !r.options.Keyed {
		return "the " + name
	}
	return fmt.Sprintf("%d parts of the %s", len(parts), name)
}

// panicked says that a function of the model panicked.
func (r *recorder) panicked(v any) string {
	return fmt.Sprintf("the model of %s panicked: %v%s", r.spec.name, v, advice(v))
}

// advice says what to do about a panic that has a usual cause.
func advice(panicked any) string {
	if err, ok := panicked.(runtime.Error); ok && strings.Contains(err.Error(), "unhashable") {
		return ": states of that type cannot be compared, so the model needs a Key"
	}
	return ""
}
