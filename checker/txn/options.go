// Package txn judges the isolation of transactions: histories whose ops are lists
// of micro-operations, either [:append k v] and [:r k list] (ListAppend) or
// [:w k v] and [:r k v] (RWRegister).
//
// The order in which a key took its values is inferred from what was read. It
// orders the transactions (Adya 1999): ww from a write to the one that follows
// it, wr from a write to who read it, rw from who read a version to the write
// that replaced it; to these come the order of each process and real time where
// a model that was asked for respects them. A cycle is an anomaly, and which one
// depends on its edges. The rules, the names of the anomalies and the models are
// those of Elle (Kingsbury & Alvaro, VLDB 2020), in linear time, with limits that
// are counted in steps and not in seconds: see ListAppend and RWRegister for what
// is different.
//
// An anomaly that the models asked for allow is a warning. A history is invalid
// exactly when an anomaly was found that one of them forbids, so an invalid
// verdict holds however much of the search a limit cut off; a valid one is given
// only when nothing was cut off.
//
// Of lists this decides nearly everything, as their reads tell the order. Of registers
// they do not: there package weak is asked besides, which finds an order of the
// transactions or a proof that there is none.
//
// What is taken of a transaction is about 30 bytes, and 8 for each of its
// micro-operations.
package txn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker/txn/lattice"
)

// Options says what a history of transactions is judged by. The zero Options
// judges strict serializability.
type Options struct {
	// Models are the consistency models that must hold, by Elle's names
	// (snapshot-isolation, PL-2, …). None of these and no Anomalies either:
	// strict-serializable, with Sessions strong-session-serializable.
	Models []string
	// Anomalies must not be found either, besides what Models forbid. With no
	// Models, only these are looked for.
	Anomalies []string

	// SequentialKeys, LinearizableKeys and WFRKeys let an rw-register's versions of
	// each key follow the order of each process, real time, and the reads that came
	// before a write in its transaction.
	SequentialKeys, LinearizableKeys, WFRKeys bool
	// Order gives an rw-register's transactions an order of commits: from the
	// :index of the completion, or its position where there is none, to a place. Nil
	// when it is not known.
	Order map[int]int
	// Versions gives the writes of an rw-register's store in the order in which it
	// made them, key by key: nil when it is not known. It goes before Order.
	Versions []Written

	// Sessions says that an rw-register's history is one of sessions, as formats
	// without real time record them: each process is one, whose order every level
	// respects, and nothing was there before the history but its initial state. The
	// levels are then those of Biswas & Enea (OOPSLA 2019); of them read-committed is
	// stronger than Adya's.
	Sessions bool
	// InitialTxn says that the first op wrote that initial state, before all others.
	// Only with Sessions.
	InitialTxn bool

	Work   int64 // steps of the search for cycles; 0: enough for any history seen yet
	Memory int64 // bytes that what is kept of the history may take; 0: no limit
}

// GarbageRead is the name of an anomaly that Elle has none for: a read of an
// element that nobody appended. It breaks every model that duplicate-elements
// breaks: every one.
const GarbageRead = "garbage-read"

// Check returns an error for a model or an anomaly whose name is not known, and
// for models that nothing could break.
func (o Options) Check() error {
	for _, name := range o.Models {
		if _, ok := lattice.Model(name); !ok {
			known := lattice.Models()
			for _, model := range lattice.Models() {
				known = append(known, lattice.Aliases(model)...)
			}
			return unknownName("consistency model", name, known, lattice.Models())
		}
	}
	for _, name := range o.Anomalies {
		if !lattice.Anomaly(name) && bare(name) != GarbageRead {
			known := append(lattice.Anomalies(), GarbageRead)
			return unknownName("anomaly", name, known, known)
		}
	}
	if len(o.Models) > 0 && len(o.Anomalies) == 0 && len(o.forbidden()) == 0 {
		advice := "it is not about transactions"
		if a, unchecked := lattice.Unchecked(o.Models[0]); unchecked && a != "" {
			advice = a
		}
		return fmt.Errorf("consistency model %q: nothing in a history of transactions breaks it: %s", o.Models[0], advice)
	}
	return nil
}

// models returns the models asked for, by the names that this project uses.
func (o Options) models() []string {
	switch {
	case len(o.Models) > 0 || len(o.Anomalies) > 0:
	case o.Sessions:
		return []string{"strong-session-serializable"}
	default:
		return []string{"strict-serializable"}
	}
	var names []string
	for _, name := range o.Models {
		if canonical, ok := lattice.Model(name); ok {
			names = append(names, canonical)
		}
	}
	return names
}

// forbidden returns every anomaly that makes a history invalid.
func (o Options) forbidden() map[string]bool {
	set := make(map[string]bool)
	for _, name := range lattice.Forbidden(o.models()) {
		set[name] = true
	}
	for _, name := range lattice.Including(o.Anomalies) {
		set[name] = true
	}
	for _, name := range o.Anomalies {
		set[bare(name)] = true
	}
	set[GarbageRead] = set[GarbageRead] || set["duplicate-elements"]
	if !set[GarbageRead] {
		delete(set, GarbageRead)
	}
	return set
}

// orders reports whether an anomaly of the order of processes, or of real time,
// is one that the asked models forbid: else these edges are left out, as in Elle.
func (o Options) orders() (process, realtime bool) {
	for name := range o.forbidden() {
		process = process || strings.HasSuffix(name, "-process")
		realtime = realtime || strings.HasSuffix(name, "-realtime")
	}
	return process, realtime
}

// bare is a name without the colon that it may have in Clojure.
func bare(name string) string { return strings.TrimPrefix(name, ":") }

// unknownName says which of the known names may have been meant, or else which there
// are to choose from.
func unknownName(kind, name string, known, choice []string) error {
	text := fmt.Sprintf("%s %q is not known: ", kind, name)
	if near := nearest(bare(name), known); len(near) > 0 {
		return errors.New(text + "did you mean " + strings.Join(near, " or ") + "?")
	}
	return errors.New(text + "want one of " + strings.Join(choice, ", "))
}

// nearest returns up to three of the names that are like the given one, the most
// alike first.
func nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if strings.Contains(strings.ToLower(k), strings.ToLower(name)) {
			d = min(d, 2)
		}
		if d <= max(2, len(name)/3) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range near[:min(3, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// distance is how many letters have to be put in, taken out or changed to make
// one text the other (Levenshtein). Texts longer than any name are cut.
func distance(a, b string) int {
	const longest = 64
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				next = min(next, diagonal)
			} else {
				next = min(next, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
