package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// maxAnomalies and maxWarnings bound what one checker spells out; the reason
// says how many there were. A witness has maxWitness ops at most.
const (
	maxAnomalies = 20
	maxWarnings  = 20
	maxWitness   = 10
)

// longOp is from how many bytes on an op of a witness is shortened in its middle.
const longOp = 4096

// findings gathers what a checker finds. What it says is put into words at the
// end, when the ops of all witnesses are read again together.
type findings struct {
	anomalies []finding
	count     int
	warnings  []finding
	warned    int
	facts     int
}

// finding is an anomaly or a warning; at are the positions of the ops that show
// it, which are completions, as they say all.
type finding struct {
	name  string
	say   func(ops) string
	txs   []string
	at    []int
	nodes []string // nil for those that answered the ops
}

// ops looks up the ops at the positions of a finding.
type ops func(position int) *history.Op

// report adds an anomaly; its witness are the ops at those positions.
func (f *findings) report(name string, at []int, say func(ops) string) *finding {
	return f.reportTxs(name, nil, at, say)
}

// reportTxs is report where some transactions are at stake, by their hashes. A
// witness shows no other ones of a block: there may be hundreds.
func (f *findings) reportTxs(name string, txs []string, at []int, say func(ops) string) *finding {
	f.count++
	if len(f.anomalies) == maxAnomalies {
		return &finding{}
	}
	f.anomalies = append(f.anomalies, finding{name: name, say: say, txs: txs, at: sorted(at)})
	return &f.anomalies[len(f.anomalies)-1]
}

// sorted returns the positions that there are, rising and each once, and of very
// many the first ones.
func sorted(at []int) []int {
	at = slices.DeleteFunc(slices.Clone(at), func(p int) bool { return p < 0 })
	slices.Sort(at)
	at = slices.Compact(at)
	return at[:min(len(at), maxWitness)]
}

// saying is what a finding says that needs no op.
func saying(format string, args ...any) func(ops) string {
	text := fmt.Sprintf(format, args...)
	return func(ops) string { return text }
}

func (f *findings) warn(format string, args ...any) {
	f.warned++
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, finding{say: saying(format, args...)})
	}
}

// warnOf is warn where the words need those ops.
func (f *findings) warnOf(at []int, say func(ops) string) {
	f.warned++
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, finding{say: say, at: sorted(at)})
	}
}

// result makes the verdict of what was found: invalid with an anomaly, else
// valid when something was compared, else unknown because of none.
func (f *findings) result(src history.Source, name string, held, none string, stats []checker.Stat) checker.Result {
	r := checker.Result{Checker: name, Facts: f.facts, Stats: stats}
	look, err := f.lookUp(src)
	for i := range f.warnings {
		r.Warnings = append(r.Warnings, f.warnings[i].say(look))
	}
	for i := range f.anomalies {
		r.Anomalies = append(r.Anomalies, f.anomalies[i].anomaly(look, err))
	}
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
	case f.facts == 0:
		r.Reason = none
	default:
		r.Verdict, r.Reason = checker.Valid, held
	}
	return r
}

// lookUp asks src once for all ops of all findings. What it cannot give is an
// empty op.
func (f *findings) lookUp(src history.Source) (ops, error) {
	var at []int
	for _, list := range [][]finding{f.anomalies, f.warnings} {
		for i := range list {
			at = append(at, list[i].at...)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	var read []history.Op
	var err error
	if len(at) > 0 {
		read, err = src.Ops(at)
	}
	return func(position int) *history.Op {
		if i, ok := slices.BinarySearch(at, position); ok && i < len(read) {
			return &read[i]
		}
		return &history.Op{}
	}, err
}

func (f *finding) anomaly(look ops, err error) checker.Anomaly {
	a := checker.Anomaly{Name: f.name, Message: f.say(look), Nodes: f.nodes}
	for _, at := range f.at {
		ref := checker.Ref{Index: at}
		if err != nil {
			ref.Op = "; this op could not be read again: " + err.Error()
		} else {
			op := *look(at)
			op.Value = trimmed(&op, f.txs)
			ref.Op = shortened(op.String())
		}
		a.Witness = append(a.Witness, ref)
	}
	if a.Nodes == nil {
		if a.Nodes = nodesOf(look, f.at, true); a.Nodes == nil {
			a.Nodes = nodesOf(look, f.at, false)
		}
	}
	return a
}

// trimmed is the value of an op; of one that lists the transactions of a block,
// those that are at stake only.
func trimmed(op *history.Op, txs []string) history.Value {
	key := ""
	switch op.F {
	case "txs":
		key = "ops"
	case "body":
		key = "txs"
	default:
		return op.Value
	}
	list, has := op.Value.Field(key)
	if !has {
		return op.Value
	}
	return onlyTxs(op.Value, key, list, txs)
}

// onlyTxs is a value of which the list under key has those transactions only,
// and how many it lost as :left-out.
func onlyTxs(v history.Value, key string, list history.Value, hashes []string) history.Value {
	var kept []history.Value
	for _, e := range list.Elems() {
		hash := e.Text()
		if parts := e.Elems(); len(parts) > 0 {
			hash = parts[0].Text()
		}
		if slices.Contains(hashes, hash) {
			kept = append(kept, e)
		}
	}
	left := len(list.Elems()) - len(kept)
	if left == 0 {
		return v
	}
	kvs := slices.Clone(v.Elems())
	for i := 0; i+1 < len(kvs); i += 2 {
		if kvs[i].Text() == key {
			kvs[i+1] = history.Vec(kept...)
		}
	}
	return history.MapOf(append(kvs, history.Keyword("left-out"), history.Int(int64(left)))...)
}

// shortened cuts the middle out of an op that nobody would read to its end.
func shortened(op string) string {
	if len(op) <= longOp {
		return op
	}
	head := strings.ToValidUTF8(op[:longOp/2], "")
	tail := strings.ToValidUTF8(op[len(op)-longOp/2:], "")
	return fmt.Sprintf("%s … (%d bytes left out) … %s", head, len(op)-longOp, tail)
}

// nodesOf lists who answered the ops of a witness. The node that was asked for a
// block's transactions is a bystander where another node's answer is at stake.
func nodesOf(look ops, at []int, accused bool) []string {
	var nodes []string
	for _, p := range at {
		op := look(p)
		if op.Node != "" && !(accused && op.F == "txs") && !slices.Contains(nodes, op.Node) {
			nodes = append(nodes, op.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
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
	head, tail, of := strings.Cut(noun, " of ")
	if of {
		return fmt.Sprintf("%d %ss of %s", n, head, tail)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// join lists names as a sentence does: a, b and c.
func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
