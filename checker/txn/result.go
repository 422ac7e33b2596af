package txn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/lattice"
)

// emptyGraph is the name of a history in which nothing orders any two
// transactions, so that nothing can be said of it.
const emptyGraph = "empty-transaction-graph"

// finding is all that was found of one anomaly.
type finding struct {
	name      string
	count     int               // how often: of cycles, those that were told apart
	anomalies []checker.Anomaly // a few of them, the clearest first
}

// judgement is what there is to say of a history, before it is put into words.
type judgement struct {
	checker    string
	options    Options
	facts      int // transactions that took part
	found      []finding
	unfinished string // which limit cut the search off, "" when none did
	stats      []checker.Stat
	warnings   []string
}

// result gives the verdict: invalid where an anomaly was found that the options
// forbid, else unknown where the search was not finished or had nothing to search,
// else valid.
func (j judgement) result() checker.Result {
	r := checker.Result{Checker: j.checker, Facts: j.facts, Warnings: j.warnings, Stats: j.stats}
	order := append(lattice.Anomalies(), GarbageRead)
	slices.SortStableFunc(j.found, func(a, b finding) int {
		return slices.Index(order, a.name) - slices.Index(order, b.name)
	})
	forbidden := j.options.forbidden()
	var bad, all []string
	empty := false
	for _, f := range j.found {
		if f.name == emptyGraph {
			empty = true
			continue
		}
		all = append(all, f.name)
		r.Stats = append(r.Stats, checker.Stat{Name: f.name, Value: strconv.Itoa(f.count)})
		if forbidden[f.name] {
			bad = append(bad, f.name)
			r.Anomalies = append(r.Anomalies, f.anomalies...)
			continue
		}
		w := fmt.Sprintf("%s occurs %s, which %s", f.name, times(f.count), j.allowed())
		if len(f.anomalies) > 0 {
			w += ". " + f.anomalies[0].Message
		}
		r.Warnings = append(r.Warnings, w)
	}
	not, alsoNot := broken(all)
	if len(not) > 0 {
		r.Stats = append(r.Stats, checker.Stat{Name: "not", Value: strings.Join(not, " ")})
	}
	if len(alsoNot) > 0 {
		r.Stats = append(r.Stats, checker.Stat{Name: "also not", Value: strings.Join(alsoNot, " ")})
	}
	switch {
	case len(bad) > 0:
		r.Verdict = checker.Invalid
		r.Reason = first(bad, 3, ", ") + ": not " + first(weakestBroken(bad), 3, " or ")
		if strings.HasSuffix(r.Reason, ": not ") {
			r.Reason = first(bad, 3, ", ")
		}
	case j.unfinished != "":
		r.Reason = j.unfinished
	case j.facts == 0:
		r.Reason = "no transaction completed"
	case empty:
		r.Reason = fmt.Sprintf("nothing orders any two of the %d transactions", j.facts)
	default:
		r.Verdict = checker.Valid
		r.Reason = fmt.Sprintf("%d transactions without an anomaly that %s", j.facts, j.forbids())
	}
	return r
}

// broken returns the weakest models that the anomalies rule out, and the others.
func broken(names []string) (not, alsoNot []string) {
	names = slices.Clone(names)
	for i, name := range names {
		if name == GarbageRead {
			names[i] = "duplicate-elements" // rules out the same
		}
	}
	return lattice.Broken(names)
}

func weakestBroken(names []string) []string {
	not, _ := broken(names)
	return not
}

// allowed says of an anomaly who allows it.
func (j judgement) allowed() string {
	if models := j.options.models(); len(models) > 0 {
		return first(models, 3, " and ") + " allows"
	}
	return "is not one of the anomalies asked for"
}

// forbids says who forbids those anomalies that were looked for.
func (j judgement) forbids() string {
	if models := j.options.models(); len(models) > 0 {
		return first(models, 3, " or ") + " forbids"
	}
	return "was asked for"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// first joins up to n of the names.
func first(names []string, n int, with string) string {
	if len(names) > n {
		return strings.Join(names[:n], with) + ", …"
	}
	return strings.Join(names, with)
}
