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
	// bad: a model asked for forbids it, whatever the lattice says of its name, and
	// rulesOut are the models that it breaks; with sessions, stronger ones only where
	// they respect the order of processes.
	bad      bool
	rulesOut []string
	sessions bool
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
	var bad, all []finding
	empty := false
	for _, f := range j.found {
		if f.name == emptyGraph {
			empty = true
			continue
		}
		all = append(all, f)
		r.Stats = append(r.Stats, checker.Stat{Name: f.name, Value: strconv.Itoa(f.count)})
		if forbidden[f.name] || f.bad {
			bad = append(bad, f)
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
		r.Reason = first(names(bad), 3, ", ")
		if weakest, _ := broken(bad); len(weakest) > 0 {
			r.Reason += ": not " + first(weakest, 3, " or ")
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

// isInvalid reports whether an anomaly was found already that the options forbid.
func (j *judgement) isInvalid() bool {
	forbidden := j.options.forbidden()
	return slices.ContainsFunc(j.found, func(f finding) bool { return f.bad || forbidden[f.name] })
}

func names(all []finding) []string {
	var names []string
	for _, f := range all {
		names = append(names, f.name)
	}
	return names
}

// broken returns the weakest models that what was found rules out, and the others.
func broken(all []finding) (not, alsoNot []string) {
	var anomalies, models []string
	for _, f := range all {
		name := f.name
		if name == GarbageRead {
			name = "duplicate-elements" // rules out the same
		}
		anomalies = append(anomalies, name)
		models = append(models, f.rulesOut...)
		for _, model := range f.rulesOut {
			for _, other := range lattice.Models() {
				implied := lattice.Implied(other)
				if slices.Contains(implied, model) && (!f.sessions || slices.Contains(implied, "strong-session-read-uncommitted")) {
					models = append(models, other)
				}
			}
		}
	}
	not, alsoNot = lattice.Broken(anomalies)
	models = slices.Concat(models, not, alsoNot)
	not, alsoNot = nil, nil
	for _, model := range lattice.Models() {
		if !slices.Contains(models, model) {
			continue
		}
		weaker := slices.DeleteFunc(lattice.Implied(model), func(m string) bool { return m == model })
		if slices.ContainsFunc(weaker, func(m string) bool { return slices.Contains(models, m) }) {
			alsoNot = append(alsoNot, model)
		} else {
			not = append(not, model)
		}
	}
	return not, alsoNot
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
