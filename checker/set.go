package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// Set returns the checker set: elements are added one by one (:add x) and the
// last ok :read must hold every element whose add was ok (else it is lost) and
// none that nobody tried to add (else it is unexpected). Elements of adds in
// doubt may be there or not. It is Unknown when nothing was read.
//
// Like Jepsen's set; beyond it, an element that is there although its add failed
// is a warning, and an ok add without its invocation counts as tried.
//
// O(n) time; some 50 bytes for each element and a copy of the last read. What
// other reads than the last say is judged by SetFull.
func Set() Stream { return &set{lastInvoked: nowhere, lastRead: nowhere} }

type set struct {
	in       interner
	adds     puts
	tries    []try // by element
	reads    opened[int]
	last     history.Tape
	lastView history.View

	lastInvoked, lastRead int
}

// try is what is known of the adding of one element: positions, or nowhere.
type try struct {
	invoked, ok int
	call        int // the invocation that says what the ok is of, where that does not
	failed      bool
}

// untried is an element of which nothing is known.
func untried() try { return try{invoked: nowhere, ok: nowhere, call: nowhere} }

func (*set) Name() string { return "set" }

// take notes an event about the element, by a call where only that says so; it
// keeps the first of each kind.
func (t *try) take(e *history.Event, call int) {
	if t.invoked == nowhere {
		t.invoked = e.Position
	}
	switch e.Type {
	case history.OK:
		if t.ok == nowhere {
			t.ok, t.call = e.Position, call
		}
	case history.Fail:
		t.failed = true
	}
}

func (s *set) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "add":
		id, call, ok := s.adds.of(&s.in, e)
		if !ok {
			return
		}
		for len(s.tries) <= int(id) {
			s.tries = append(s.tries, untried())
		}
		s.tries[id].take(e, call)
	case "read":
		switch e.Type {
		case history.Invoke:
			s.reads.begin(e.Process, e.Position)
		case history.OK:
			s.last.Reset()
			s.lastView = e.Value.CopyTo(&s.last)
			s.lastRead, s.lastInvoked = e.Position, nowhere
			if at, ok := s.reads.end(e.Process); ok {
				s.lastInvoked = at
			}
		default:
			s.reads.end(e.Process)
		}
	}
}

func (s *set) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: s.Name()}
	if ctx.Err() != nil {
		return Ended(ctx, s.Name())
	}
	if s.lastRead == nowhere {
		r.Reason = "the set was never read"
		return r
	}
	if !isCollection(s.lastView) {
		r.Reason = fmt.Sprintf("the last ok read (op %d) has no collection as its value", s.lastRead)
		return r
	}
	var found findings
	var lost, unexpected, recovered, aborted []int32
	seen := make([]bool, s.in.len())
	tried := len(s.tries)
	ok := 0
	for elem := range elements(s.lastView) {
		id := s.in.number(elem)
		if int(id) < len(seen) && seen[id] {
			continue
		}
		if int(id) >= len(seen) {
			seen = append(seen, make([]bool, int(id)+1-len(seen))...)
		}
		seen[id] = true
		switch {
		case int(id) >= tried || s.tries[id].invoked == nowhere:
			unexpected = append(unexpected, id)
			if found.room("unexpected") {
				found.explain("unexpected", []int{s.lastInvoked, s.lastRead},
					"The last read holds %s, which nobody tried to add.", s.in.name(id))
			}
			continue
		case s.tries[id].ok == nowhere && s.tries[id].failed:
			aborted = append(aborted, id)
		case s.tries[id].ok == nowhere:
			recovered = append(recovered, id)
		}
		ok++
	}
	acked := 0
	for id, t := range s.tries {
		if t.ok == nowhere {
			continue
		}
		acked++
		if !seen[id] {
			lost = append(lost, int32(id))
			if found.room("lost") {
				found.explain("lost", []int{t.invoked, t.call, t.ok, s.lastInvoked, s.lastRead},
					"%s was added (op %d), but the last read (op %d) does not hold it.", s.in.name(int32(id)), t.ok, s.lastRead)
			}
		}
	}
	r.Facts = 1 + acked + len(unexpected)
	r.Stats = []Stat{
		{"attempts", fmt.Sprint(tried)}, {"acknowledged", fmt.Sprint(acked)}, {"ok", fmt.Sprint(ok)},
		s.in.countOf("lost", lost), s.in.countOf("unexpected", unexpected), s.in.countOf("recovered", recovered),
	}
	if len(aborted) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the last read holds %s although the add failed: %s", plural(len(aborted), "element"), s.in.intervals(aborted)))
	}
	r.Anomalies = found.anomalies(src)
	if len(r.Anomalies) > 0 {
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("of %s, %d were lost; %d are unexpected", plural(acked, "acknowledged element"), len(lost), len(unexpected))
		return r
	}
	if r.Reason = s.adds.odd("add"); r.Reason != "" {
		return r
	}
	r.Verdict = Valid
	r.Reason = fmt.Sprintf("the last read holds all of %s and nothing unexpected", plural(acked, "acknowledged element"))
	return r
}
