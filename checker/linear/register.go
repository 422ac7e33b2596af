// Package linear decides whether registers and locks are linearizable: whether
// every operation can be given one moment between its invocation and its
// completion so that the operations, in the order of those moments, are what a
// single register would have done.
//
// Each key is decided on its own (linearizability is local). A key whose writes
// are all different and that has no cas is decided in O(n log n) from how long
// each value was there. Every other key is searched by Porcupine (Wing and Gong
// with a cache). That problem is NP-complete, so the search is bounded in real
// time and in memory, and Unknown when it meets a bound; a key with n operations
// of which c overlap takes about n·n/8 bytes when it is valid, and up to 2^c
// times as many steps when it is not. Order is the order of the history; :time
// is never looked at.
//
// What it is not for: keys with many thousands of operations that compare and
// set or write the same values again, ten or more of them at once.
package linear

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Options says how to read a history of registers. The zero value is one
// register without keys that starts as nil and in which a nil read says "never
// written".
type Options struct {
	// Keyed: every client :value is [key value], one register for each key.
	Keyed bool
	// Timeout bounds the real time of the whole check; 0 is a minute.
	Timeout time.Duration
	// Memory bounds, in bytes and roughly, what all searches together keep; 0 is 2 GiB.
	Memory int64
	// NilAny: a read of nil agrees with every state, as in Knossos.
	NilAny bool
	// Initial is the state of every register before the first write.
	Initial history.Value
	// EmptyValid: a history in which clients did try operations of this model, and
	// none of them completed, is Valid, as one that did nothing wrong, instead of
	// Unknown. Operations of any other :f do not count: that model judged nothing.
	EmptyValid bool
}

// Register returns the checker linear for the operations :read, :write (v) and
// :cas ([old new]); every other :f is left alone.
//
// Of the operations: ok ones happened, fail ones did not, reads in doubt say
// nothing, and a write or cas in doubt may take effect at any time from its
// invocation on, or never. Where a key is not linearizable the anomaly has a
// witness that is not linearizable by itself and in which every value that is
// read keeps its writer.
func Register(o Options) checker.Checker {
	return search{name: "linear", options: o.withDefaults(), model: registerModel()}
}

// Mutex returns the checker linear for a lock without owner: :acquire needs it
// free and takes it, :release needs it taken and frees it. Initial and NilAny do
// not apply; the lock starts free.
func Mutex(o Options) checker.Checker {
	o = o.withDefaults()
	o.NilAny, o.Initial = false, history.Flag(false)
	return search{name: "linear", options: o, model: mutexModel()}
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.Memory <= 0 {
		o.Memory = 2 << 30
	}
	return o
}

type search struct {
	name    string
	options Options
	model   model
}

func (s search) Name() string { return s.name }

func (s search) Check(ctx context.Context, h *history.History) checker.Result {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout,
		fmt.Errorf("time limit of %v reached", s.options.Timeout))
	defer cancel()
	keys, odd := split(ctx, h, s.options, s.model)
	if ctx.Err() != nil {
		return checker.Ended(ctx, s.name)
	}
	found := searchAll(ctx, keys, s.options)
	return s.judge(ctx, h, keys, found, odd)
}

// maxAnomalies bounds how many keys are explained; finding a witness costs many
// searches of that key.
const maxAnomalies = 4

func (s search) judge(ctx context.Context, h *history.History, keys []*register, found []outcome, odd []int) checker.Result {
	r := checker.Result{Checker: s.name}
	gaveUp, culprit := "", ""
	bad, undecided, pruned, longest := 0, 0, 0, 0
	for i, key := range keys {
		r.Facts += key.certain
		pruned += key.pruned
		longest = max(longest, len(key.calls))
		switch found[i].verdict {
		case checker.Invalid:
			bad++
			if len(r.Anomalies) < maxAnomalies {
				a, what := key.explain(ctx, h, s.options, found[i])
				r.Anomalies = append(r.Anomalies, a)
				if culprit == "" {
					culprit = what
				}
			}
		case checker.Unknown:
			text := fmt.Sprintf("%s with %d operations was not decided: %s", key.title(), len(key.calls), found[i].why)
			if gaveUp == "" {
				gaveUp = text
			}
			undecided++
			r.Warnings = append(r.Warnings, text)
		}
	}
	r.Stats = []checker.Stat{
		{Name: "keys", Value: fmt.Sprint(len(keys))},
		{Name: "operations of the busiest key", Value: fmt.Sprint(longest)},
		{Name: "unobserved operations in doubt left out", Value: fmt.Sprint(pruned)},
	}
	oddText := ""
	if len(odd) > 0 {
		oddText = fmt.Sprintf("%d operations have a value that is not one of their :f, the first is op %d: %s",
			len(odd), odd[0], h.Ops[odd[0]].Value)
		r.Warnings = append(r.Warnings, oddText)
	}
	switch {
	case bad > 0:
		r.Verdict = checker.Invalid
		r.Reason = keys[firstInvalid(found)].title() + " is not linearizable"
		if s.options.Keyed {
			r.Reason += sayOthers(bad-1, undecided, len(keys)-1)
		} else {
			r.Reason += ": no order has a place for the " + culprit
		}
	case gaveUp != "":
		r.Reason = gaveUp
	case oddText != "":
		r.Reason = oddText
	case r.Facts == 0 && s.options.EmptyValid && s.model.tried(h):
		r.Verdict, r.Facts = checker.Valid, 1
		r.Reason = "nothing happened, so nothing went wrong"
	case r.Facts == 0:
		r.Reason = s.model.sayNone(h)
	default:
		r.Verdict = checker.Valid
		r.Reason = fmt.Sprintf("%d operations on %d registers are linearizable", r.Facts, len(keys))
	}
	return r
}

// sayOthers continues a reason about one key with what became of the others.
func sayOthers(bad, undecided, others int) string {
	switch {
	case others == 0:
		return ""
	case bad == 1:
		return fmt.Sprintf(", nor is 1 of %d others", others)
	case bad > 1:
		return fmt.Sprintf(", nor are %d of %d others", bad, others)
	case undecided > 0:
		return fmt.Sprintf(", and %d of %d others could not be decided", undecided, others)
	case others == 1:
		return ", and the other key is"
	}
	return fmt.Sprintf(", and the %d others are", others)
}

// tried reports whether any client called for an operation of the model.
func (m model) tried(h *history.History) bool {
	return slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.Process.IsClient() && m.handles(op.F) })
}

// sayNone is the reason of a history in which nothing of the model completed.
func (m model) sayNone(h *history.History) string {
	judged := names(m.ops)
	if m.tried(h) {
		return "history has no completed operation of those that this model judges: " + judged
	}
	seen := make(map[string]bool)
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Process.IsClient() {
			seen[op.F] = true
		}
	}
	if len(seen) == 0 {
		return "history has no client operation, and this model judges " + judged
	}
	return fmt.Sprintf("clients did %s, and this model judges only %s", names(slices.Sorted(maps.Keys(seen))), judged)
}

// names lists operations as the history spells them.
func names(fs []string) string { return ":" + strings.Join(fs, ", :") }

func firstInvalid(found []outcome) int {
	for i := range found {
		if found[i].verdict == checker.Invalid {
			return i
		}
	}
	return 0
}
