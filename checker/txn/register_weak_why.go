package txn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/checker/txn/weak"
	"github.com/jepgo/jepgo/history"
)

// weakTeller puts a violation that package weak found into words.
type weakTeller struct {
	w     *weakJudge
	v     *weak.Violation
	names []int32 // transactions in the order of their names
	first bool    // the initial state matters
}

// name is T1, T2 and so on.
func (t *weakTeller) name(txn int32) string {
	at := slices.Index(t.names, txn)
	if at < 0 {
		at = len(t.names)
		t.names = append(t.names, txn)
	}
	return nameOf(at)
}

// shown gives the words.
func (t *weakTeller) shown() shown {
	s := shown{name: t.v.Name, cycle: true, end: "So each of them would have to come before itself."}
	// The cycle begins with the transaction that the history has first.
	first := 0
	for i, e := range t.v.Cycle {
		if e.From < t.v.Cycle[first].From {
			first = i
		}
	}
	cycle := slices.Concat(t.v.Cycle[first:], t.v.Cycle[:first])
	for _, e := range cycle {
		t.name(e.From)
	}
	for _, txn := range t.v.Core {
		t.name(txn)
	}
	for _, e := range slices.Concat(t.v.Derived, cycle) {
		s.clauses = append(s.clauses, fmt.Sprintf("%s comes before %s, as %s", t.name(e.From), t.name(e.To), t.because(e)))
		s.started = append(s.started, timed(e)...)
	}
	for _, e := range cycle {
		s.steps = append(s.steps, checker.Step{From: t.w.r.at(e.From), To: t.w.r.at(e.To), Rel: relOf(e.Why), Why: t.because(e)})
	}
	if t.v.Exhausted {
		s.clauses = append(s.clauses, fmt.Sprintf("no order of these %d transactions is one of %s in which each read sees what it saw", len(t.v.Core), t.v.Level))
		s.end = "The search went through all that could be."
		if t.v.Checked {
			s.end = "All orders of them were tried. " + s.end
		}
		for _, txn := range t.v.Core {
			s.started = append(s.started, txn)
			t.first = true
		}
	}
	s.txns = t.names
	if t.first && t.w.initial >= 0 {
		s.also = append(s.also, t.w.initial)
	}
	return s
}

// timed are the transactions whose beginning an edge leans on.
func timed(e weak.Edge) []int32 {
	var txns []int32
	if e.Why == weak.Realtime {
		txns = append(txns, e.To)
	}
	for _, p := range e.Path {
		txns = append(txns, timed(p)...)
	}
	return txns
}

func relOf(why weak.Why) string {
	switch why {
	case weak.Session:
		return graph.Process.String()
	case weak.WroteRead:
		return graph.WR.String()
	case weak.Realtime:
		return graph.Realtime.String()
	case weak.Overwrote:
		return graph.RW.String()
	}
	return graph.WW.String()
}

// wrote is the last value that a transaction wrote to a key.
func (t *weakTeller) wrote(txn, key int32) string { return t.w.r.name(t.w.r.lastWord(txn, key)) }

// because says in a clause why an edge is there.
func (t *weakTeller) because(e weak.Edge) string {
	r := t.w.r
	from, to := t.name(e.From), t.name(e.To)
	switch e.Why {
	case weak.Session:
		return fmt.Sprintf("process %s did %s before %s", r.clients.value(r.process[e.From]), from, to)
	case weak.Realtime:
		return from + " completed before " + to + " was invoked"
	case weak.WroteRead:
		return fmt.Sprintf("%s read %s of key %s, which %s wrote", to, t.wrote(e.From, e.Key), r.keyName(e.Key), from)
	}
	key := r.keyName(e.Key)
	switch {
	case e.Why == weak.Overwrote && e.Source == weak.Initial:
		t.first = true
		if t.w.initial >= 0 {
			return fmt.Sprintf("%s read %s of key %s, which was there from the start, and %s wrote %s there",
				from, t.wrote(t.w.initial, e.Key), key, to, t.wrote(e.To, e.Key))
		}
		return fmt.Sprintf("%s read nil of key %s, which is what it holds before the first write, and %s wrote %s there",
			from, key, to, t.wrote(e.To, e.Key))
	case e.Why == weak.Overwrote:
		source := t.name(e.Source)
		return fmt.Sprintf("%s read %s of key %s, which %s wrote before %s wrote %s (%s)",
			from, t.wrote(e.Source, e.Key), key, source, to, t.wrote(e.To, e.Key), t.path(e.Path))
	case e.Reader < 0:
		return fmt.Sprintf("both wrote key %s and so must not overlap, and %s did not end before %s began (%s)", key, to, from, t.path(e.Path))
	}
	reader := t.name(e.Reader)
	return fmt.Sprintf("%s read %s of key %s, which %s wrote, though it had to see that %s wrote %s there (%s)",
		reader, t.wrote(e.To, e.Key), key, to, from, t.wrote(e.From, e.Key), t.path(e.Path))
}

// path puts a chain of edges into a clause.
func (t *weakTeller) path(path []weak.Edge) string {
	var parts []string
	for _, e := range path {
		switch e.Why {
		case weak.Session, weak.Realtime, weak.WroteRead:
			parts = append(parts, t.because(e))
		default:
			parts = append(parts, t.name(e.From)+" comes before "+t.name(e.To))
		}
	}
	return strings.Join(parts, ", and ")
}

// why is for cycles of a graph, of which there are none here.
func (t *weakTeller) why(graph.Rel, int32, int32, string, string) (reason, bool) {
	return reason{}, false
}

// replay judges a witness.
func (t *weakTeller) replay(h *history.History) []string {
	o := t.w.c.options
	o.Memory, o.InitialTxn = 0, t.first && t.w.initial >= 0
	c := RWRegister(o).(*rwRegister)
	c.trust = true
	for e := range h.Events() {
		c.Take(e)
	}
	c.txns.settle()
	w := &weakJudge{c: c, r: newRegisters(&c.txns, true), initial: noTxn}
	if o.InitialTxn {
		w.initial = 0
	}
	w.build()
	var answer weak.Answer
	if t.v.Level <= weak.Causal {
		answer = w.h.Infer(context.Background(), t.v.Ask, 0)
	} else {
		answer = w.h.Search(context.Background(), t.v.Ask, 0)
	}
	if answer.Broken == nil {
		return nil
	}
	return []string{answer.Broken.Name, t.v.Name}
}
