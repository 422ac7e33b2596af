package object

import (
	"context"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// explainWork bounds the steps of all searches for one explanation. It is work
// and not time, so that a history has the same witness everywhere.
const explainWork = 10_000_000

// shrinker looks for few calls that are not linearizable by themselves, and that
// are so for the reason for which all of them are not. Leaving out a call that
// changes nothing is harmless. A call that changes the object may have been what
// another one saw, and without it that one would be impossible for no good reason:
// so it goes only together with what took its element, or if nobody saw it, or if
// the rest is impossible even if it happened at any time since it began, or never.
type shrinker struct {
	ctx     context.Context
	p       *part
	o       Options
	work    int64
	stop    int32          // what a search last stopped at
	keep    []int32        // calls
	relaxed map[int32]bool // calls that went, and may have happened or not
}

// shrink returns few calls of p that are not linearizable by themselves.
func shrink(ctx context.Context, p *part, o Options, f finding) []int32 {
	s := &shrinker{ctx: ctx, p: p, o: o, work: explainWork, keep: f.calls, relaxed: make(map[int32]bool)}
	if calls, bad := s.fails(f.calls, nil); bad {
		s.keep = calls
	} else {
		return f.calls // no work left for it
	}
	s.p = p.only(s.keep)
	for before := 0; before != len(s.keep) && s.work > 0; {
		before = len(s.keep)
		s.drop(s.units())
	}
	return s.keep
}

// fails reports whether calls are not linearizable, and which of them suffice.
func (s *shrinker) fails(calls []int32, relaxed map[int32]bool) (those []int32, bad bool) {
	q := s.p.choose(func(c int32) bool {
		_, ok := slices.BinarySearch(calls, c)
		return ok || relaxed[c]
	})
	s.work -= int64(len(q.events))
	if s.work < 0 {
		return nil, false
	}
	var f finding
	ok := false
	if q.r.spec.elements {
		f, ok = q.r.spec.monitor(q)
	}
	if !ok {
		o := s.o
		o.Work = min(s.work, o.Work)
		f = searchRelaxed(s.ctx, q, o, func(c int32) bool { return relaxed[c] })
		s.work -= f.steps
		if f.verdict == checker.Invalid {
			s.stop = f.stop
			slices.Sort(f.calls)
			f.calls = slices.DeleteFunc(f.calls, func(c int32) bool { return relaxed[c] })
			return f.calls, true
		}
		return nil, false
	}
	if f.verdict != checker.Invalid {
		return nil, false
	}
	// What a monitor names must fail by itself, or else all of it is kept.
	if again, ok := q.r.spec.monitor(q.only(f.calls)); ok && again.verdict == checker.Invalid {
		return f.calls, true
	}
	return calls, true
}

// unit is some calls that can be left out together, and whether that is harmless.
type unit struct {
	calls []int32
	safe  bool
}

// units returns what can be tried, the earliest first.
func (s *shrinker) units() []unit {
	r := s.p.r
	if r.spec.elements {
		// A queue without an element is a queue of the others.
		by := make(map[int32]int)
		var out []unit
		for _, id := range s.keep {
			c := &r.calls[id]
			value := c.arg
			if c.f == 1 {
				if c.end == never {
					continue // it may have taken what is missing
				}
				value = c.res
			}
			i, ok := by[value]
			if value == 0 || !ok {
				i = len(out)
				out = append(out, unit{safe: true})
				by[value] = i
			}
			out[i].calls = append(out[i].calls, id)
		}
		return out
	}
	var out []unit
	for _, id := range s.keep {
		safe := r.spec.pure != nil && r.spec.pure(r.op(&r.calls[id]))
		if !safe && s.sourced() && s.seen(id) {
			continue
		}
		out = append(out, unit{[]int32{id}, safe})
	}
	return out
}

// sourced reports whether results are made of arguments, so that seen tells.
func (s *shrinker) sourced() bool { return s.p.r.spec.sourced }

// seen reports whether the result of another call has what call id brought.
func (s *shrinker) seen(id int32) bool {
	r := s.p.r
	texts := brought(r.op(&r.calls[id]))
	for _, other := range s.keep {
		c := &r.calls[other]
		if other == id || c.how != history.OK || c.res == c.arg {
			continue
		}
		got := r.op(c).Result.String()
		for _, text := range texts {
			if strings.Contains(got, text) {
				return true
			}
		}
	}
	return false
}

// brought returns, as text, what op writes.
func brought(op Op) []string {
	if txn := microOps(op.Arg); len(txn) > 0 {
		var out []string
		for _, m := range txn {
			if m.write {
				out = append(out, m.value.String())
			}
		}
		return out
	}
	v := op.Arg
	if e := v.Elems(); len(e) == 2 {
		v = e[1]
	}
	if v.Kind() == history.String {
		quoted := v.String()
		return []string{quoted[1 : len(quoted)-1]}
	}
	return []string{v.String()}
}

// drop leaves out what it can, in ever smaller pieces.
func (s *shrinker) drop(units []unit) {
	for size := (len(units) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(units) && s.work > 0; {
			to := min(from+size, len(units))
			if s.without(units[from:to]) {
				units = slices.Delete(units, from, to)
			} else {
				from = to
			}
		}
		if s.work <= 0 {
			return
		}
	}
}

// without tries to do without some units.
func (s *shrinker) without(units []unit) bool {
	gone := make(map[int32]bool)
	relaxed := s.relaxed
	for _, u := range units {
		for _, c := range u.calls {
			gone[c] = true
			if !u.safe && !s.sourced() {
				if len(relaxed) == len(s.relaxed) {
					relaxed = make(map[int32]bool, len(s.relaxed)+1)
					for c := range s.relaxed {
						relaxed[c] = true
					}
				}
				relaxed[c] = true
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(s.keep), func(c int32) bool { return gone[c] })
	if len(rest) == len(s.keep) || len(rest) == 0 {
		return len(rest) == len(s.keep)
	}
	calls, bad := s.fails(rest, relaxed)
	if !bad {
		return false
	}
	if len(relaxed) > 0 {
		// By themselves they must fail at the same place, or they would say
		// something else.
		stop := s.stop
		if calls, bad = s.fails(calls, nil); !bad || s.stop != stop {
			return false
		}
	}
	s.keep, s.relaxed = calls, relaxed
	return true
}
