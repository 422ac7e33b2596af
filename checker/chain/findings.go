package chain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// maxAnomalies and maxWarnings bound what one checker spells out; the reason
// says how many there were.
const (
	maxAnomalies = 20
	maxWarnings  = 20
)

// findings gathers what a checker finds.
type findings struct {
	h         *history.History
	anomalies []checker.Anomaly
	count     int
	warnings  []string
	warned    int
}

// report adds an anomaly; its witness are the ops at those positions, which are
// completions, as they say all.
func (f *findings) report(name, message string, positions ...int) {
	f.reportTxs(name, message, nil, positions...)
}

// reportTxs is report where some transactions are at stake, by their hashes. A
// witness shows no other ones of a block: there may be hundreds.
func (f *findings) reportTxs(name, message string, txs []string, positions ...int) {
	f.count++
	if len(f.anomalies) == maxAnomalies {
		return
	}
	a := checker.Anomaly{Name: name, Message: message, Witness: checker.Refs(f.h, positions...)}
	for i := range a.Witness {
		op := f.h.Ops[a.Witness[i].Index]
		if list, has := op.Value.Field("ops"); has && op.F == "txs" {
			op.Value = onlyTxs(op.Value, list, txs)
			a.Witness[i].Op = op.String()
		}
	}
	if a.Nodes = f.nodes(a.Witness, true); a.Nodes == nil {
		a.Nodes = f.nodes(a.Witness, false)
	}
	f.anomalies = append(f.anomalies, a)
}

// onlyTxs is the value of a :txs op with those transactions only, and with how
// many it lost as :left-out.
func onlyTxs(v, list history.Value, hashes []string) history.Value {
	var kept []history.Value
	for _, e := range list.Elems() {
		if parts := e.Elems(); len(parts) > 0 && slices.Contains(hashes, parts[0].Text()) {
			kept = append(kept, e)
		}
	}
	left := len(list.Elems()) - len(kept)
	if left == 0 {
		return v
	}
	kvs := slices.Clone(v.Elems())
	for i := 0; i+1 < len(kvs); i += 2 {
		if kvs[i].Text() == "ops" {
			kvs[i+1] = history.Vec(kept...)
		}
	}
	return history.MapOf(append(kvs, history.Keyword("left-out"), history.Int(int64(left)))...)
}

// nodes lists who answered the ops of a witness. The node that was asked for a
// block's transactions is a bystander where another node's answer is at stake.
func (f *findings) nodes(witness []checker.Ref, accused bool) []string {
	var nodes []string
	for _, ref := range witness {
		op := &f.h.Ops[ref.Index]
		if op.Node != "" && !(accused && op.F == "txs") && !slices.Contains(nodes, op.Node) {
			nodes = append(nodes, op.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func (f *findings) warn(format string, args ...any) {
	f.warned++
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
	}
}

// result makes the verdict of what was found: invalid with an anomaly, else
// valid when something was compared, else unknown because of none.
func (f *findings) result(name string, facts int, held, none string, stats []checker.Stat) checker.Result {
	r := checker.Result{Checker: name, Facts: facts, Anomalies: f.anomalies, Warnings: f.warnings, Stats: stats}
	slices.SortStableFunc(r.Anomalies, func(a, b checker.Anomaly) int { return cmp.Compare(lastIndex(a), lastIndex(b)) })
	if more := f.warned - len(f.warnings); more > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("and %d more", more))
	}
	switch {
	case f.count > 0:
		r.Verdict, r.Reason = checker.Invalid, firstSentence(r.Anomalies[0].Message)
		if f.count > 1 {
			r.Reason += fmt.Sprintf(" (and %d more)", f.count-1)
		}
	case facts == 0:
		r.Reason = none
	default:
		r.Verdict, r.Reason = checker.Valid, held
	}
	return r
}

// lastIndex is the op at which an anomaly shows.
func lastIndex(a checker.Anomaly) int {
	if len(a.Witness) == 0 {
		return -1
	}
	return a.Witness[len(a.Witness)-1].Index
}

func firstSentence(text string) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' {
			return text[:i]
		}
	}
	return text
}

// short is a hash for prose.
func short(hash string) string { return checker.ShortHash(hash) }

// plural renders a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
