// Package linear decides whether registers and locks are linearizable: whether
// every operation can be given one moment between its invocation and its
// completion so that the operations, in the order of those moments, are what a
// single register would have done. Sequential decides the weaker question that
// asks for the order within each process only.
//
// Each key is decided on its own (linearizability is local). A key in which no
// value is set twice is decided in O(n log n), cas included, from how long each
// value was there (zones, chains). Every other key is walked event by event with
// the set of all states that the register may be in (frontier); that is near
// linear in the history and exponential in the worst case only in how many
// operations overlap, in doubt or not. Where the set grows too wide, the best of
// it is kept first, as that suffices to find an order; then short stretches are
// tried for a proof that there is none; only then more is kept.
//
// All of that is bounded by work and memory, never by time, so that a history
// has the same verdict on every machine; where the work ends, the verdict is
// Unknown. Order is the order of the history; :time is never looked at.
//
// Of a history that passes by, 4 to 8 bytes are kept for each operation, and past
// Options.Records those are in a temporary file. Then the memory in use is what the
// largest keys take that are decided at one time: where no value is set twice 24
// to 44 bytes for each value, else 24 for each operation and what the search keeps,
// and about 256 for each key there is. Only texts of values that are not integers
// below 2^30 are always in memory, each once.
package linear

import (
	"context"
	"fmt"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/internal/reason"
	"github.com/jepgo/jepgo/history"
)

// Options says how to read a history of registers. The zero value is one
// register without keys that starts as nil and in which a nil read says "never
// written".
type Options struct {
	// Keyed: every client :value is [key value], one register for each key.
	Keyed bool
	// Timeout bounds the real time of the judgement; 0 is no such bound.
	Timeout time.Duration
	// Work bounds the steps that all searches together may take; 0 is 500 million,
	// about a minute of one core.
	Work int64
	// Memory bounds, in bytes, what is kept of the history in memory and what the
	// searches keep; 0 is 2 GiB.
	Memory int64
	// Records bounds, in bytes, what is kept of operations in memory while the
	// history passes by; past it, that goes to a temporary file. 0 is an eighth of
	// Memory, at most 32 MiB. The result does not depend on it.
	Records int64
	// TempDir is where that file is; "" is os.TempDir. It has no name, so that
	// nothing is left behind. Where it cannot be written, all stays within Memory.
	TempDir string
	// NilAny: a read of nil agrees with every state, as in Knossos.
	NilAny bool
	// Initial is the state of every register before the first write.
	Initial history.Value
	// EmptyValid: a history in which no operation of this model completed is Valid,
	// as Knossos has it, instead of Unknown. It must have some event, and where
	// clients did only operations of any other :f it stays Unknown: that model
	// judged nothing. Facts is then 1 and the reason says that nothing completed.
	EmptyValid bool
}

// Register returns the checker linear for the operations :read, :write (v) and
// :cas ([old new]); every other :f is left alone. An ok completion :cas-miss of a
// :cas says that it ran and found another value than old.
//
// Of the operations: ok ones happened, fail ones did not, reads in doubt say
// nothing, and a write or cas in doubt may take effect at any time from its
// invocation on, or never. An ok op without a process is a whole operation of an
// unknown caller; where an op without a process is anything else but a failure, a
// history is never Valid. Where a key is not linearizable the anomaly has a
// witness that is not linearizable by itself and in which every value that is
// read keeps its writer.
func Register(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return RegisterStream(o) })
}

// RegisterStream is Register for a history that passes by.
func RegisterStream(o Options) checker.Stream {
	o = o.withDefaults()
	return &stream{name: "linear", options: o, columns: newColumns(o, registerModel()), judge: judgeLinear}
}

// Mutex returns the checker linear for a lock without owner: :acquire needs it
// free and takes it, :release needs it taken and frees it. Initial and NilAny do
// not apply; the lock starts free.
func Mutex(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return MutexStream(o) })
}

// MutexStream is Mutex for a history that passes by.
func MutexStream(o Options) checker.Stream {
	o = o.withDefaults()
	o.NilAny = false
	return &stream{name: "linear", options: o, columns: newColumns(o, mutexModel()), judge: judgeLinear}
}

func (o Options) withDefaults() Options {
	if o.Work <= 0 {
		o.Work = 500_000_000
	}
	if o.Memory <= 0 {
		o.Memory = 2 << 30
	}
	if o.Records <= 0 {
		o.Records = min(o.Memory/8, 32<<20)
	}
	return o
}

// bound applies the limit of time.
func (o Options) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("time limit of %v reached", o.Timeout))
}

// maxAnomalies bounds how many keys are explained; finding a witness costs many
// searches of that key.
const maxAnomalies = 4

func judgeLinear(ctx context.Context, src history.Source, c *columns) (r checker.Result, end conclusion) {
	found := decideAll(ctx, c)
	culprit, first := "", ""
	var stale []checker.Stat
	bad, undecided, pruned, longest, work := 0, 0, 0, 0, int64(0)
	for i, k := range c.keys {
		r.Facts += found[i].certain
		pruned += found[i].pruned
		work += found[i].work
		longest = max(longest, k.rows)
		switch found[i].verdict {
		case checker.Invalid:
			if bad++; bad == 1 {
				first = c.title(k)
			}
			if len(r.Anomalies) < maxAnomalies {
				a, what := explain(ctx, src, c, k, found[i])
				r.Anomalies = append(r.Anomalies, a)
				if text := c.staleness(src, k, found[i]); text != "" {
					stale = append(stale, checker.Stat{Name: "stale reads of " + c.title(k), Value: text})
				}
				if culprit == "" {
					culprit = what
				}
			}
		case checker.Unknown:
			undecided++
			end.giveUp(&r, c, k, found[i].why)
		}
	}
	r.Stats = []checker.Stat{
		{Name: "keys", Value: fmt.Sprint(len(c.keys))},
		{Name: "operations of the busiest key", Value: fmt.Sprint(longest)},
		{Name: "unobserved operations in doubt left out", Value: fmt.Sprint(pruned)},
		{Name: "steps", Value: fmt.Sprint(work)},
	}
	r.Stats = append(r.Stats, stale...)
	if bad > 0 {
		end.bad = first + " is not linearizable"
		if c.options.Keyed {
			end.bad += reason.Others(bad-1, undecided, len(c.keys)-1)
		} else {
			end.bad += ": no order has a place for the " + culprit
		}
	}
	end.verdict, end.why = checker.Valid, c.sayGood(r.Facts, "linearizable")
	return r, end
}

func sayMemory(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("memory limit of %d KiB reached", bytes>>10)
	}
	return fmt.Sprintf("memory limit of %d MiB reached", bytes>>20)
}

// sayOdd tells of operations that could not be read, "" when there are none.
func (c *columns) sayOdd(src history.Source) string {
	if c.odd == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s a value that is not one of their :f, the first is %s", count(c.odd, "operation"), plural(c.odd, "has", "have"), sayOp(c.oddAt))
	if ops, err := src.Ops([]int{c.oddAt}); err == nil {
		text += ": " + ops[0].Value.String()
	}
	return text
}

// title names the register of a key.
func (c *columns) title(k *key) string {
	if !c.options.Keyed {
		return c.model.kind
	}
	return "key " + c.codes.value(k.code).String()
}
