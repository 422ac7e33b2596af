package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// QueueOptions say what kind of queue it is.
type QueueOptions struct {
	// FIFO: elements leave in the order in which they came in. By default they may
	// leave in any order.
	FIFO bool
}

// Queue returns the checker queue: whatever an ok :dequeue (or :drain, which
// stands for so many dequeues) returns must be in the queue at that point of the
// history. Every invocation of :enqueue puts its element in, whatever became of
// it; so nothing is required to come out, for which there is TotalQueue.
//
// With FIFO, moreover, b must not leave before a if the enqueue of a ended before
// that of b began: invalid is a dequeue of b that ended before the dequeue of a
// began, or while a never left and no dequeue in doubt can have taken it. Jepsen
// folds a FIFO model over the invocations instead, which takes the order of
// invocations of concurrent enqueues for the order of the queue and lets failed
// enqueues block it: both are false alarms. Elements that were enqueued more than
// once are left out of the order. Neither is a full check of linearizability: for
// that see checker/linear.
//
// Jepsen passes over drains here. An ok dequeue of nil is taken for the answer
// that the queue is empty, which is not judged; with an ok drain of no collection
// nothing is Valid. O(n) time; some 50 bytes for each
// element.
func Queue(o QueueOptions) Stream { return &queue{fifo: o.FIFO, doubt: nowhere} }

type queue struct {
	fifo     bool
	in       interner
	elems    []passage
	enqueues opened[int32]
	dequeues opened[int]
	doubt    int     // the first dequeue in doubt, or nowhere
	entered  []int32 // elements in the order in which their enqueues ended
	missing  []take  // dequeues of what was not there; the first few
	missed   int
	aborted  int // elements that left although their enqueue failed
	enqueued int
	left     int
	empty    int // ok dequeues of nil
	odd      int // ok drains whose elements cannot be read
	oddAt    int // the first of them
	seen     int // events of enqueues and dequeues
}

// passage is the way of one element through a queue: positions, or nowhere.
type passage struct {
	here            int32 // how often it is in the queue
	tries           int32
	failed          bool
	call, back      int // of the first enqueue
	outCall, outEnd int // of the first dequeue
}

type take struct {
	elem     int32
	call, at int
}

func (*queue) Name() string { return "queue" }

func (q *queue) elem(v history.View) (int32, *passage) {
	id := q.in.number(v)
	for len(q.elems) <= int(id) {
		q.elems = append(q.elems, passage{call: nowhere, back: nowhere, outCall: nowhere, outEnd: nowhere})
	}
	return id, &q.elems[id]
}

func (q *queue) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "enqueue":
		q.seen++
		q.enqueue(e)
	case "dequeue", "drain":
		q.seen++
		q.dequeue(e)
	}
}

func (q *queue) enqueue(e *history.Event) {
	if e.Type == history.Invoke {
		id, p := q.elem(e.Value)
		p.here++
		p.tries++
		q.enqueued++
		if p.call == nowhere {
			p.call = e.Position
		}
		q.enqueues.begin(e.Process, id)
		return
	}
	id, invoked := q.enqueues.end(e.Process)
	if !invoked {
		return // only invocations put something in
	}
	p := &q.elems[id]
	switch e.Type {
	case history.OK:
		if p.back == nowhere {
			p.back = e.Position
			q.entered = append(q.entered, id)
		}
	case history.Fail:
		p.failed = true
	}
}

func (q *queue) dequeue(e *history.Event) {
	if e.Type == history.Invoke {
		q.dequeues.begin(e.Process, e.Position)
		return
	}
	call, ok := q.dequeues.end(e.Process)
	if !ok {
		call = nowhere
	}
	switch {
	case e.Type == history.Info:
		q.inDoubt(call)
	case e.Type != history.OK:
	case e.F == "drain":
		if !isCollection(e.Value) && !e.Value.IsNil() {
			if q.odd++; q.odd == 1 {
				q.oddAt = e.Position
			}
			q.inDoubt(call)
		}
		for elem := range elements(e.Value) {
			q.out(elem, call, e.Position)
		}
	case e.Value.IsNil():
		q.empty++
	default:
		q.out(e.Value, call, e.Position)
	}
}

// inDoubt notes a dequeue that may take something from its call on.
func (q *queue) inDoubt(call int) {
	if q.doubt == nowhere || call < q.doubt {
		q.doubt = max(call, 0)
	}
}

func (q *queue) out(v history.View, call, at int) {
	id, p := q.elem(v)
	q.left++
	if p.here == 0 {
		if q.missed++; q.missed <= enough {
			q.missing = append(q.missing, take{id, call, at})
		}
		return
	}
	p.here--
	if p.failed && p.back == nowhere {
		q.aborted++
	}
	if p.outEnd == nowhere {
		p.outCall, p.outEnd = call, at
	}
}

func (q *queue) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: q.Name(), Facts: q.left}
	if ctx.Err() != nil {
		return Ended(ctx, q.Name())
	}
	if q.seen == 0 {
		r.Reason = "there is no enqueue and no dequeue"
		return r
	}
	var found findings
	for i := range q.missed {
		if !found.room("not-enqueued") {
			continue
		}
		t := q.missing[i]
		p := &q.elems[t.elem]
		at := []int{t.call, t.at, p.call, p.outCall, p.outEnd}
		if p.call == nowhere || p.call > t.at {
			found.explain("not-enqueued", at, "%s was dequeued (op %d) before anybody had enqueued it.", q.in.name(t.elem), t.at)
		} else {
			found.explain("not-enqueued", at, "%s was dequeued (op %d) more often than it had been enqueued by then.", q.in.name(t.elem), t.at)
		}
	}
	if q.fifo {
		for call := range q.dequeues.all() {
			q.inDoubt(call)
		}
		q.order(&found)
	}
	r.Stats = []Stat{{"enqueued", fmt.Sprint(q.enqueued)}, {"dequeued", fmt.Sprint(q.left)}, {"empty", fmt.Sprint(q.empty)}}
	if q.aborted > 0 {
		r.Warnings = append(r.Warnings, plural(q.aborted, "element")+" came out although the enqueue failed")
	}
	r.Anomalies = found.anomalies(src)
	odd := ""
	if q.odd > 0 {
		odd = fmt.Sprintf("%s without a collection, such as op %d", plural(q.odd, "ok drain"), q.oddAt)
		if len(r.Anomalies) > 0 {
			r.Warnings = append(r.Warnings, odd)
		}
	}
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("of %s, %d are wrong", plural(q.left, "dequeue"), found.total())
	case odd != "":
		r.Reason = odd
	case q.left == 0:
		r.Verdict, r.Facts = Valid, 1
		r.Reason = "nothing was dequeued, which a queue does not forbid"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s, each of what was in the queue", plural(q.left, "dequeue"))
	}
	return r
}

// order looks for elements that were overtaken: sweeping over the enqueues by
// their calls, it knows which element, of all whose enqueue had ended, left last.
func (q *queue) order(found *findings) {
	const forever = int(^uint(0) >> 1)
	byCall := make([]int32, 0, len(q.elems))
	for id := range q.elems {
		if p := &q.elems[id]; p.tries == 1 && p.outEnd != nowhere {
			byCall = append(byCall, int32(id))
		}
	}
	sortBy(byCall, func(id int32) int { return q.elems[id].call })
	next, late, overtaken := 0, nowhere, int32(none)
	for _, b := range byCall {
		for ; next < len(q.entered) && q.elems[q.entered[next]].back < q.elems[b].call; next++ {
			a := q.entered[next]
			p := &q.elems[a]
			if p.tries != 1 {
				continue
			}
			out := p.outCall // nowhere if the dequeue may have begun at any time
			if p.outEnd == nowhere {
				if out = forever; q.doubt != nowhere {
					out = q.doubt
				}
			}
			if out > late {
				late, overtaken = out, a
			}
		}
		first := &q.elems[b]
		if overtaken == none || first.outEnd >= late || !found.room("overtaken") {
			continue
		}
		p := &q.elems[overtaken]
		what := "never left the queue"
		if p.outEnd != nowhere {
			what = fmt.Sprintf("left only after that (op %d)", p.outEnd)
		}
		found.explain("overtaken", []int{p.call, p.back, p.outCall, p.outEnd, first.call, first.back, first.outCall, first.outEnd},
			"%s was enqueued (op %d) before the enqueue of %s began (op %d), but %s left the queue first (op %d): %s %s.",
			q.in.name(overtaken), p.back, q.in.name(b), first.call, q.in.name(b), first.outEnd, q.in.name(overtaken), what)
	}
}
