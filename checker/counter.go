package checker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// CounterOptions say where a counter begins.
type CounterOptions struct {
	// Initial is the value before the first add, and what an ok read of nil has
	// seen: a counter that nobody has touched yet. The zero value is 0.
	Initial int64
}

// Counter returns the checker counter: :add n changes the counter by n, and an ok
// :read must return a value that some of the adds explain. At least those whose ok
// came before the read began count, at most those that began before it ended;
// adds that failed never count. With adds of both signs the least possible value
// has as few positive and as many negative adds as possible:
//
//	sure positive + possible negative adds ≤ value ≤ possible positive + sure negative adds
//
// Where Jepsen differs: it refuses negative adds, and throws on a read of nil. The
// check is necessary, not sufficient: which of the concurrent adds a read has seen
// is not compared between reads, as that is subset sum. Where all adds are
// positive, a read that returns less than one that ended before it began is a
// warning. A history without reads is Valid. After an add of no integer no bounds are
// known, and it is Unknown; after a read of none only if no other read is wrong.
//
// O(n log n) time; 40 bytes for each read whose value depends on an add that is
// open when the read ends.
func Counter(o CounterOptions) Stream { return &counter{initial: o.Initial, highest: math.MinInt64} }

type counter struct {
	initial  int64
	adds     opened[addition]
	reads    opened[readStart]
	nameless map[int64]int // open adds of ops without a process, by amount

	begun, done signed            // adds that began and did not fail; that were ok
	shifts      []shift           // corrections for reads that had ended by then
	doubtful    []boundedRead     // reads that those may concern
	first       [2][]additionDone // ok adds, the first few positive and negative ones

	judged   int
	highest  int64 // of the values read so far
	receded  int   // reads of less than what was read before they began
	recedeAt int
	oddAdds  int // events without an integer
	oddReads int
	oddAt    int // the first of them
	overflow bool
	seen     int
}

// signed sums amounts by their sign.
type signed struct{ positive, negative int64 }

type addition struct {
	amount int64
	at     int
}

type additionDone struct {
	addition
	ok int
}

// readStart is what was sure when a read began.
type readStart struct {
	at      int
	done    signed
	highest int64
}

// boundedRead is a read with the bounds of its value as far as known at its end.
type boundedRead struct {
	call, at         int
	low, value, high int64
}

// shift corrects the bounds of the reads that ended from a position on.
type shift struct {
	from int
	by   signed
}

// manyAdds is how many ok adds of a sign are kept, to show that a read is wrong.
const manyAdds = 16

func (*counter) Name() string { return "counter" }

func (c *counter) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "add":
		c.seen++
		c.takeAdd(e)
	case "read":
		c.seen++
		switch e.Type {
		case history.Invoke:
			c.reads.begin(e.Process, readStart{e.Position, c.done, c.highest})
		case history.OK:
			c.takeRead(e)
		default:
			c.reads.end(e.Process)
		}
	}
}

func (c *counter) takeAdd(e *history.Event) {
	amount, isInt := e.Value.Int()
	if e.Type == history.Invoke {
		if !isInt {
			c.unreadable(e, &c.oddAdds)
			return
		}
		c.count(&c.begun, amount)
		c.adds.begin(e.Process, addition{amount, e.Position})
		if e.Process.IsZero() {
			if c.nameless == nil {
				c.nameless = make(map[int64]int)
			}
			c.nameless[amount]++
		}
		return
	}
	add, invoked := c.adds.end(e.Process)
	if !invoked {
		if !isInt {
			if e.Type != history.Fail {
				c.unreadable(e, &c.oddAdds)
			}
			return
		}
		add = addition{amount, nowhere}
	}
	switch {
	case e.Type == history.Fail && invoked:
		// Reads that ended in between have counted it; those to come never do.
		undo := opposite(add.amount)
		c.begun.positive += undo.positive
		c.begun.negative += undo.negative
		c.shift(add.at, undo)
		c.shift(e.Position, signed{-undo.positive, -undo.negative})
	case e.Type == history.Fail:
	default:
		switch {
		case invoked:
		case c.nameless[amount] > 0:
			c.nameless[amount]--
		default:
			// It began nobody knows when, so reads before may have seen it, too.
			c.count(&c.begun, amount)
			undo := opposite(amount)
			c.shift(0, signed{-undo.positive, -undo.negative})
			c.shift(e.Position, undo)
		}
		if e.Type == history.OK {
			c.count(&c.done, add.amount)
			few := &c.first[0]
			if add.amount < 0 {
				few = &c.first[1]
			}
			if len(*few) < manyAdds {
				*few = append(*few, additionDone{add, e.Position})
			}
		}
	}
}

// unreadable notes an event without an integer.
func (c *counter) unreadable(e *history.Event, of *int) {
	if c.oddAdds+c.oddReads == 0 {
		c.oddAt = e.Position
	}
	*of++
}

// count adds an amount to a sum, and notices when the sum is too large.
func (c *counter) count(sums *signed, amount int64) {
	sum := &sums.positive
	if amount < 0 {
		sum = &sums.negative
	}
	*sum += amount
	if *sum > math.MaxInt64/4 || *sum < math.MinInt64/4 {
		c.overflow, *sum = true, 0
	}
}

// opposite is what takes an amount out of sums again.
func opposite(amount int64) signed {
	if amount < 0 {
		return signed{negative: -amount}
	}
	return signed{positive: -amount}
}

func (c *counter) shift(from int, by signed) { c.shifts = append(c.shifts, shift{from, by}) }

func (c *counter) takeRead(e *history.Event) {
	start, invoked := c.reads.end(e.Process)
	if !invoked {
		start = readStart{at: nowhere, highest: math.MinInt64} // at any time: nothing was sure
	}
	value, isInt := e.Value.Int()
	if e.Value.IsNil() {
		value, isInt = c.initial, true
	}
	if !isInt {
		c.unreadable(e, &c.oddReads)
		return
	}
	c.judged++
	if value < start.highest && c.begun.negative == 0 {
		if c.receded++; c.receded == 1 {
			c.recedeAt = e.Position
		}
	}
	c.highest = max(c.highest, value)
	change := value - c.initial
	if change >= start.done.positive+c.done.negative && change <= c.done.positive+start.done.negative {
		return // explained by adds that were ok
	}
	c.doubtful = append(c.doubtful, boundedRead{
		call: start.at, at: e.Position, value: value,
		low:  c.initial + start.done.positive + c.begun.negative,
		high: c.initial + c.begun.positive + start.done.negative,
	})
}

func (c *counter) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: c.Name(), Facts: c.judged}
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	if c.overflow {
		r.Reason = "the adds sum up to more than 64 bits hold"
		return r
	}
	wrong := c.wrong()
	var found findings
	worst := int64(0)
	for _, read := range wrong {
		name := "read-too-low"
		at := append([]int{read.call, read.at}, c.enoughAdds(read)...)
		if read.value > read.high {
			name = "read-too-high"
			worst = max(worst, read.value-read.high)
		} else {
			worst = max(worst, read.low-read.value)
		}
		if found.room(name) {
			found.explain(name, at, "Read %d (op %d), but the counter must have been between %d and %d while the read was open.", read.value, read.at, read.low, read.high)
		}
	}
	r.Stats = []Stat{{"reads", fmt.Sprint(c.judged)}, {"errors", fmt.Sprint(len(wrong))}, {"max-absolute-error", fmt.Sprint(worst)}}
	if c.receded > 0 && c.begun.negative == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s returned less than a read that had ended before they began, such as op %d: the bounds allow that, a linearizable counter does not", plural(c.receded, "read"), c.recedeAt))
	}
	odd := ""
	if n := c.oddAdds + c.oddReads; n > 0 {
		odd = fmt.Sprintf("%s of adds and reads without an integer as the value, such as op %d", plural(n, "line"), c.oddAt)
		if len(wrong) > 0 && c.oddAdds == 0 {
			r.Warnings = append(r.Warnings, odd)
		}
	}
	if c.oddAdds > 0 {
		r.Reason = odd + ": the bounds are not known"
		return r
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%d of %s out of bounds", len(wrong), plural(c.judged, "read")) + such(r.Anomalies)
	case odd != "":
		r.Reason = odd
	case c.seen == 0:
		r.Reason = "there is no add and no read"
	case c.judged == 0:
		r.Verdict, r.Facts = Valid, 1
		r.Reason = "nothing was read, which a counter allows"
	default:
		r.Verdict = Valid
		r.Reason = plural(c.judged, "read") + " within the bounds that the adds set"
	}
	return r
}

// wrong corrects the bounds of the doubtful reads and returns those that are out
// of them, in history order.
func (c *counter) wrong() []boundedRead {
	slices.SortStableFunc(c.shifts, func(a, b shift) int { return cmp.Compare(a.from, b.from) })
	var by signed
	next := 0
	var wrong []boundedRead
	for _, read := range c.doubtful {
		for ; next < len(c.shifts) && c.shifts[next].from <= read.at; next++ {
			by.positive += c.shifts[next].by.positive
			by.negative += c.shifts[next].by.negative
		}
		read.high += by.positive
		read.low += by.negative
		if read.value < read.low || read.value > read.high {
			wrong = append(wrong, read)
		}
	}
	return wrong
}

// enoughAdds returns the positions of ok adds that alone make a read too low, or
// too high, if the first few do.
func (c *counter) enoughAdds(read boundedRead) []int {
	sign, adds := int64(1), c.first[0]
	if read.value > read.high {
		sign, adds = -1, c.first[1]
	}
	var at []int
	sum := c.initial
	for _, add := range adds {
		if sign*(sum-read.value) > 0 {
			return at
		}
		if add.ok < read.call {
			at = append(at, add.at, add.ok)
			sum += add.amount
		}
	}
	if sign*(sum-read.value) > 0 {
		return at
	}
	return nil
}
