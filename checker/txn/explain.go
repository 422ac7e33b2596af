package txn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/history"
)

// reason is why one transaction comes before another.
type reason struct {
	text    string
	shownBy []int32 // transactions that show it besides these two; nobody is left out
	started []int32 // transactions whose invocation shows it
}

// teller is what a kind of micro-ops has to say about a cycle.
type teller interface {
	// why says in a clause why from comes before to, by those names; ok is false
	// when rel, which is neither Process nor Realtime, is not there between them.
	why(rel graph.Rel, from, to int32, fromName, toName string) (r reason, ok bool)
	// replay returns the names of the anomalies of a history, in which transactions
	// in doubt are known to have taken part: it tells whether a witness shows what
	// it is a witness of.
	replay(h *history.History) []string
}

// shown is an anomaly about to be explained: the transactions that it calls T1, T2
// and so on, what it says of them, and who else shows that.
type shown struct {
	name    string
	txns    []int32
	clauses []string
	end     string // what follows from the clauses
	also    []int32
	started []int32 // those of which it matters when they were invoked
	steps   []checker.Step
	cycle   bool // to be replayed
}

// explainer puts anomalies into words.
type explainer struct {
	*txns
	teller
	src history.Source
	// unverified names an anomaly whose witness alone did not show it, "" when all did.
	unverified string
}

// cycle gives the words for a cycle; ok is false when one of its steps is not there.
func (x *explainer) cycle(c graph.Cycle) (s shown, ok bool) {
	s = shown{name: c.Class, cycle: true}
	// The cycle begins with the transaction that the history has first.
	first := 0
	for i, step := range c.Steps {
		if x.at(int32(step.From)) < x.at(int32(c.Steps[first].From)) {
			first = i
		}
	}
	steps := slices.Concat(c.Steps[first:], c.Steps[:first])
	for i, step := range steps {
		from, to := int32(step.From), int32(step.To)
		fromName, toName := nameOf(i), nameOf((i+1)%len(steps))
		var r reason
		switch step.Rel {
		case graph.Process:
			r.text = fmt.Sprintf("process %s did %s before %s", x.clients.value(x.process[from]), fromName, toName)
			ok = x.process[from] == x.process[to]
		case graph.Realtime:
			r.text = fromName + " completed before " + toName + " was invoked"
			ok = x.call[to] >= 0 && x.ret[from] < x.call[to] && x.status[from] == committed
		default:
			r, ok = x.why(step.Rel, from, to, fromName, toName)
		}
		if !ok {
			return s, false
		}
		s.txns = append(s.txns, from)
		s.also = append(s.also, r.shownBy...)
		s.started = append(s.started, r.started...)
		s.clauses = append(s.clauses, fmt.Sprintf("%s comes before %s, as %s", fromName, toName, r.text))
		s.steps = append(s.steps, checker.Step{From: x.at(from), To: x.at(to), Rel: step.Rel.String(), Why: r.text})
	}
	s.end = "So each of them would have to come before itself."
	return s, true
}

// anomalies explains all of them, reading their ops again once. Cycles whose
// witness alone does not show them are left out, and unverified says so.
func (x *explainer) anomalies(all []shown) map[string][]checker.Anomaly {
	var positions []int
	for i := range all {
		positions = append(positions, x.positions(&all[i])...)
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	read, err := x.src.Ops(positions)
	ops := make(map[int]history.Op, len(read))
	for i := range read {
		ops[positions[i]] = read[i]
	}
	said := make(map[string][]checker.Anomaly)
	for i := range all {
		s := &all[i]
		a := checker.Anomaly{Name: s.name, Steps: s.steps}
		for _, at := range x.positions(s) {
			ref := checker.Ref{Index: at}
			if op, ok := ops[at]; ok {
				ref.Op = op.String()
			} else if err != nil {
				ref.Op = "; this op could not be read again: " + err.Error()
			}
			a.Witness = append(a.Witness, ref)
		}
		if err == nil && s.cycle && !x.verified(s, ops) {
			x.unverified = s.name
			continue
		}
		var text strings.Builder
		text.WriteString("Let:\n")
		for n, txn := range s.txns {
			line := "an op that could not be read again"
			if op, ok := ops[x.at(txn)]; ok {
				line = shortOp(op, ops[int(max(x.call[txn], 0))].Value)
			}
			fmt.Fprintf(&text, "  %s = %s\n", nameOf(n), line)
		}
		text.WriteString("Then:\n")
		for _, c := range s.clauses {
			fmt.Fprintf(&text, "  - %s.\n", c)
		}
		text.WriteString(s.end)
		a.Message = text.String()
		said[s.name] = append(said[s.name], a)
	}
	return said
}

// positions are those of the ops of a witness: all completions, and invocations
// where they say something that the completion does not.
func (x *explainer) positions(s *shown) []int {
	var at []int
	for _, txn := range slices.Concat(s.txns, s.also) {
		if txn == nobody {
			continue
		}
		at = append(at, x.at(txn))
		if !x.tells(txn) && x.call[txn] >= 0 {
			at = append(at, int(x.call[txn]))
		}
	}
	for i, step := range s.steps {
		if to := s.txns[(i+1)%len(s.steps)]; step.Rel == graph.Realtime.String() {
			at = append(at, int(x.call[to]))
		}
	}
	for _, txn := range s.started {
		if txn != nobody && x.call[txn] >= 0 {
			at = append(at, int(x.call[txn]))
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// verified judges the ops of a witness alone.
func (x *explainer) verified(s *shown, ops map[int]history.Op) bool {
	var h history.History
	for _, at := range x.positions(s) {
		h.Ops = append(h.Ops, ops[at])
	}
	for _, found := range x.replay(&h) {
		if found == s.name || slices.Contains(graph.Implies(found), s.name) {
			return true
		}
	}
	return false
}

func nameOf(n int) string { return "T" + strconv.Itoa(n+1) }

// shortOp is an op on one line, with those fields that matter here, and not all of
// a value that is very long. An op that has no list for a value did what the
// invocation says.
func shortOp(op history.Op, invoked history.Value) string {
	const longest = 400
	value := op.Value
	if k := value.Kind(); k != history.Vector && k != history.List {
		value = invoked
	}
	var b strings.Builder
	b.WriteByte('{')
	if op.Index != history.Absent {
		fmt.Fprintf(&b, ":index %d, ", op.Index)
	}
	if !op.Process.IsZero() {
		fmt.Fprintf(&b, ":process %s, ", op.Process)
	}
	fmt.Fprintf(&b, ":type :%s, :value %s}", op.Type, brief(value, longest))
	return b.String()
}

// brief is a value as EDN, cut where it is longer than so many bytes.
func brief(v history.Value, longest int) string {
	text := v.String()
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " …"
	}
	return text
}
