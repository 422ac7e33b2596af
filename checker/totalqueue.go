package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// TotalQueue returns the checker total-queue: what goes in must come out. Over
// the whole history, as multisets, every element of an ok :enqueue must be
// dequeued (else it is lost), and nothing may be dequeued that nobody tried to
// enqueue (unexpected). An element that comes out more often than it can have
// gone in is duplicated, which is counted and allowed: queues deliver at least
// once. An ok :drain stands for a dequeue of each of its elements. It only means
// something of a history that empties the queue in the end.
//
// Where Jepsen differs: on a drain that crashed it throws. Such a drain counts as
// a dequeue of the elements that it names, and because it may have taken others
// too, elements that never came out are then Unknown, not lost. An element that a
// dequeue in doubt names has come out, too; an element that only a dequeue
// in doubt without a value can have taken stays lost, as in Jepsen.
//
// O(n) time; some 70 bytes for each element.
func TotalQueue() Stream { return &totalQueue{} }

type totalQueue struct {
	in      interner
	elems   []flow
	more    map[int32][]int // element → further ok enqueues, the first few
	puts    puts            // has nothing open: that is in calls
	calls   opened[queueCall]
	crashed int // drains in doubt, or whose elements cannot be read
	odd     int // ok drains whose elements cannot be read
	oddAt   int // the first of them
	doubts  int // dequeues in doubt that name nothing
	empty   int
}

// queueCall is an open operation.
type queueCall struct {
	put
	drain bool
}

// flow counts one element in and out, with the positions of the first of each.
type flow struct {
	tries, acks, outs, named  int32
	call, ack, outCall, outAt int
	ackCall                   int // the invocation of ack
}

func (*totalQueue) Name() string { return "total-queue" }

func (q *totalQueue) elem(id int32) *flow {
	for len(q.elems) <= int(id) {
		q.elems = append(q.elems, flow{call: nowhere, ack: nowhere, ackCall: nowhere, outCall: nowhere, outAt: nowhere})
	}
	return &q.elems[id]
}

func (q *totalQueue) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "enqueue":
		q.enqueue(e)
	case "dequeue", "drain":
		q.dequeue(e)
	}
}

func (q *totalQueue) enqueue(e *history.Event) {
	if e.Type == history.Invoke {
		_, flag := e.Value.Flag()
		id := q.in.number(e.Value)
		f := q.elem(id)
		if f.tries++; f.tries == 1 {
			f.call = e.Position
		}
		q.call(e, put{id, e.Position, flag})
		return
	}
	call, invoked := q.calls.end(e.Process)
	if e.Type != history.OK {
		return
	}
	id, _, known := q.puts.completed(&q.in, e, call.put, invoked)
	if !known {
		return
	}
	f := q.elem(id)
	if f.tries == f.acks {
		f.tries++ // nobody invoked it: the whole operation
	}
	if !invoked {
		call.at = nowhere
	}
	if f.acks++; f.acks == 1 {
		f.ack, f.ackCall = e.Position, call.at
	} else if f.acks <= enough {
		if q.more == nil {
			q.more = make(map[int32][]int)
		}
		q.more[id] = append(q.more[id], call.at, e.Position)
	}
}

// call notes an invocation; what its process had open before stays in doubt.
func (q *totalQueue) call(e *history.Event, what put) {
	if before, open := q.calls.end(e.Process); open && before.drain {
		q.crashed++
	}
	q.calls.begin(e.Process, queueCall{what, e.F == "drain"})
}

func (q *totalQueue) dequeue(e *history.Event) {
	if e.Type == history.Invoke {
		q.call(e, put{elem: none, at: e.Position})
		return
	}
	call, ok := q.calls.end(e.Process)
	if !ok {
		call.at = nowhere
	}
	switch {
	case e.Type != history.OK && e.Type != history.Info:
	case e.F == "drain":
		if e.Type == history.Info {
			q.crashed++
		} else if !isCollection(e.Value) && !e.Value.IsNil() {
			q.crashed++
			if q.odd++; q.odd == 1 {
				q.oddAt = e.Position
			}
		}
		for elem := range elements(e.Value) {
			q.out(elem, e.Type, call.at, e.Position)
		}
	case e.Value.IsNil() && e.Type == history.OK:
		q.empty++
	case e.Value.IsNil():
		q.doubts++
	default:
		q.out(e.Value, e.Type, call.at, e.Position)
	}
}

func (q *totalQueue) out(v history.View, kind history.Type, call, at int) {
	f := q.elem(q.in.number(v))
	if kind == history.Info {
		f.named++
		return
	}
	if f.outs++; f.outs == 1 {
		f.outCall, f.outAt = call, at
	}
}

func (q *totalQueue) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: q.Name()}
	if ctx.Err() != nil {
		return Ended(ctx, q.Name())
	}
	crashed := q.crashed
	for call := range q.calls.all() {
		if call.drain {
			crashed++ // one without a completion has crashed, too
		}
	}
	var lost, unexpected, duplicated, recovered []int32
	var tries, acks, outs, ok, lostCount int
	var found findings
	for i := range q.elems {
		f, id := &q.elems[i], int32(i)
		tries, acks, outs = tries+int(f.tries), acks+int(f.acks), outs+int(f.outs)
		ok += int(min(f.outs, f.tries))
		if min(f.outs, f.tries) > f.acks {
			recovered = append(recovered, id)
		}
		switch missing := f.acks - f.outs - f.named; {
		case f.tries == 0 && f.outs > 0:
			unexpected = append(unexpected, id)
			if found.room("unexpected") {
				found.explain("unexpected", []int{f.outCall, f.outAt}, "%s was dequeued (op %d), but nobody tried to enqueue it.", q.in.name(id), f.outAt)
			}
		case f.outs > f.tries:
			duplicated = append(duplicated, id)
		case missing > 0:
			lost = append(lost, id)
			lostCount += int(missing)
			if crashed == 0 && found.room("lost") {
				at := append([]int{f.call, f.ackCall, f.ack, f.outCall, f.outAt}, q.more[id]...)
				if f.acks == 1 {
					found.explain("lost", at, "%s was enqueued (op %d) and never came out.", q.in.name(id), f.ack)
				} else {
					found.explain("lost", at, "%s was enqueued %d times and came out only %d times.", q.in.name(id), f.acks, f.outs)
				}
			}
		}
	}
	r.Facts = acks + outs
	r.Stats = []Stat{
		{"attempts", fmt.Sprint(tries)}, {"acknowledged", fmt.Sprint(acks)}, {"dequeued", fmt.Sprint(outs)}, {"ok", fmt.Sprint(ok)},
		q.in.countOf("lost", lost), q.in.countOf("unexpected", unexpected),
		q.in.countOf("duplicated", duplicated), q.in.countOf("recovered", recovered),
	}
	if len(duplicated) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s came out more often than they went in: %s", plural(len(duplicated), "element"), q.in.intervals(duplicated)))
	}
	if len(lost) > 0 && crashed == 0 && q.doubts > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s may have taken elements that count as lost", plural(q.doubts, "dequeue in doubt")))
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("of %s, %d were lost; %d that came out are unexpected", plural(acks, "acknowledged element"), lostCount, len(unexpected))
	case q.odd > 0:
		r.Reason = fmt.Sprintf("%s without a collection, such as op %d", plural(q.odd, "ok drain"), q.oddAt)
	case q.puts.nameless > 0:
		r.Reason = q.puts.odd("enqueue")
	case len(lost) > 0:
		r.Reason = fmt.Sprintf("%s never came out, but a drain crashed, and they may have left with it", plural(lostCount, "acknowledged element"))
	case r.Facts == 0:
		r.Reason = "nothing was enqueued for certain, and nothing came out"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("all of %s came out", plural(acks, "acknowledged element"))
	}
	return r
}
