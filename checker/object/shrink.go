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
const explainWork = 4_000_000

// shrinker looks for few calls that are not linearizable by themselves, and that
// are so for the reason for which all of them are not. To leave out a call that
// changes nothing is harmless. To leave out one that changes the object may make
// others impossible for no good reason. So it may go only if the rest fails even
// where it and all that went before it may have happened or not, each in its own
// time; and if the rest by itself fails at the same place.
type shrinker struct {
	ctx   context.Context
	p     *part
	o     Options
	work  int64
	stop  int32          // what a search last stopped at
	first int32          // what it stopped at with all calls
	keep  []int32        // calls, sorted
	spare map[int32]bool // calls that went
}

// shrink returns few calls of p that are not linearizable by themselves.
func shrink(ctx context.Context, p *part, o Options, f finding) []int32 {
	s := &shrinker{ctx: ctx, p: p, o: o, work: explainWork, keep: f.calls, spare: make(map[int32]bool)}
	slices.Sort(s.keep)
	calls, bad := s.fails(s.keep, nil)
	if !bad {
		return s.keep // no work left for it
	}
	s.keep, s.first = calls, s.stop
	s.p = p.only(s.keep)
	if !p.r.spec.elements {
		s.dropFront()
	}
	for before := 0; before != len(s.keep) && s.work > 0; {
		before = len(s.keep)
		s.drop(s.units())
	}
	if !p.r.spec.elements {
		if s.work = min(s.work, 0) + explainWork/4; len(s.keep) > manyCalls {
			s.dropAlike()
		}
		s.addSources()
	}
	return s.keep
}

// before is how many calls before the ones that are kept are tried as spare ones
// when all that came before is left out.
const before = 48

// dropFront keeps the last calls alone, if they fail at the same place whatever
// became of those just before. Their beginnings find the object as it was at
// first, so it is not clear which ones work.
func (s *shrinker) dropFront() {
	pure := s.p.r.spec.pure
	for size := 2; size < len(s.keep) && s.work > explainWork/2; size += 1 + size/16 {
		at := len(s.keep) - size
		last := s.keep[at:]
		calls, bad := s.fails(last, nil)
		if !bad || s.stop != s.first {
			continue
		}
		spare := make(map[int32]bool)
		for _, c := range s.keep[max(0, at-before):at] {
			if pure == nil || !pure(s.p.r.op(s.p.r.call(c))) {
				spare[c] = true
			}
		}
		if _, bad = s.fails(last, spare); bad && s.stop == s.first {
			s.keep, s.spare = calls, spare
			return
		}
	}
}

// manyCalls is how many calls are too many for people to read.
const manyCalls = 16

// dropAlike leaves out calls without which the longest order still ends in the
// same state, with the same call that cannot come next: as an acquire and the
// release that undoes it.
func (s *shrinker) dropAlike() {
	stop, state, ok := s.standstill(s.keep)
	if !ok {
		return
	}
	for size := len(s.keep) / 2; size > 0; size /= 2 {
		step := size
		if size <= 4 {
			step = 1
		}
		for from := 0; from+size <= len(s.keep) && s.work > 0; {
			rest := slices.Delete(slices.Clone(s.keep), from, from+size)
			if at, as, ok := s.standstill(rest); ok && at == stop && as == state {
				s.keep = rest
			} else {
				from += step
			}
		}
	}
}

// standstill returns where the longest order of calls stops, and the state then.
func (s *shrinker) standstill(calls []int32) (stop int32, state string, ok bool) {
	o := s.o
	o.Work = min(max(s.work, 0), o.Work)
	b := newBudget(s.ctx, o)
	l := longest(s.p.only(calls), b)
	s.work -= b.steps + int64(len(s.p.events))
	if !l.done || l.stop < 0 {
		return 0, "", false
	}
	return l.stop, l.machine.describe(l.state), true
}

// fails reports whether calls are not linearizable, whatever became of the spare
// ones, and which of them suffice.
func (s *shrinker) fails(calls []int32, spare map[int32]bool) (those []int32, bad bool) {
	p := s.p.choose(func(c int32) bool {
		_, ok := slices.BinarySearch(calls, c)
		return ok || spare[c]
	})
	if s.work -= int64(len(p.events)); s.work < 0 {
		return nil, false
	}
	if p.r.spec.elements {
		if f, ok := p.r.spec.monitor(p); ok {
			if f.verdict != checker.Invalid {
				return nil, false
			}
			// What a monitor names must fail by itself, or else all of it is kept.
			if again, ok := p.r.spec.monitor(p.only(f.calls)); ok && again.verdict == checker.Invalid {
				return f.calls, true
			}
			return calls, true
		}
	}
	o := s.o
	o.Work = min(s.work, o.Work)
	if len(spare) > 0 {
		o.only = frontierOnly
	}
	f := solve(s.ctx, p, compile(p, spare), o)
	s.work -= f.steps
	if f.verdict != checker.Invalid {
		return nil, false
	}
	s.stop = f.stop
	f.calls = slices.DeleteFunc(f.calls, func(c int32) bool { return spare[c] })
	slices.Sort(f.calls)
	return f.calls, true
}

// unit is some calls that can be left out together, and whether that is harmless.
type unit struct {
	calls []int32
	safe  bool
}

// units returns what can be tried, the earliest first.
func (s *shrinker) units() []unit {
	r := s.p.r
	var out []unit
	if !r.spec.elements {
		for _, id := range s.keep {
			safe := r.spec.pure != nil && r.spec.pure(r.op(r.call(id)))
			out = append(out, unit{[]int32{id}, safe})
		}
		return out
	}
	// A queue without an element is a queue of the others.
	by := make(map[int32]int)
	for _, id := range s.keep {
		c := r.call(id)
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
	}
}

// without tries to do without some units.
func (s *shrinker) without(units []unit) bool {
	gone := make(map[int32]bool)
	spare := make(map[int32]bool, len(s.spare))
	for c := range s.spare {
		spare[c] = true
	}
	for _, u := range units {
		for _, c := range u.calls {
			gone[c] = true
			if !u.safe {
				spare[c] = true
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(s.keep), func(c int32) bool { return gone[c] })
	if len(rest) == len(s.keep) {
		return true // an earlier step left them out
	}
	if len(rest) == 0 {
		return false
	}
	calls, bad := s.fails(rest, spare)
	if !bad {
		return false
	}
	if s.stop != s.first {
		return false
	}
	if len(spare) > 0 {
		if calls, bad = s.fails(calls, nil); !bad || s.stop != s.first {
			return false
		}
	}
	s.keep, s.spare = calls, spare
	return true
}

// mostSources is how many calls addSources adds.
const mostSources = 24

// addSources adds, for what the calls saw, the last call that brought it, so that
// nobody wonders where it came from.
func (s *shrinker) addSources() {
	r := s.p.r
	var seen []string
	for _, id := range s.keep {
		if c := r.call(id); c.how == history.OK {
			op := r.op(c)
			seen = append(seen, op.Arg.String(), op.Result.String())
		}
	}
	end := r.call(s.first).end
	latest := make(map[string]int32) // by what was brought, if no call that is kept did
	for _, ev := range s.p.events {
		id := int32(ev >> 1)
		if ev&1 == 1 || r.call(id).begin > end || r.spec.pure != nil && r.spec.pure(r.op(r.call(id))) {
			continue
		}
		for _, text := range brought(r.op(r.call(id))) {
			latest[text] = id
		}
	}
	for _, id := range s.keep {
		for _, text := range brought(r.op(r.call(id))) {
			delete(latest, text)
		}
	}
	with := slices.Clone(s.keep)
	for text, id := range latest {
		if text != "" && text != "nil" && slices.ContainsFunc(seen, func(got string) bool { return mentions(got, text) }) {
			with = append(with, id)
		}
	}
	slices.Sort(with)
	with = slices.Compact(with)
	if len(with) > len(s.keep)+mostSources {
		return
	}
	if calls, bad := s.fails(with, nil); bad && s.stop == s.first && len(calls) == len(with) {
		s.keep = with
	}
}

// mentions reports whether a text has another one that is not part of a longer
// number.
func mentions(got, text string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(got) && got[i] >= '0' && got[i] <= '9' }
	for from := 0; ; from++ {
		at := strings.Index(got[from:], text)
		if at < 0 {
			return false
		}
		from += at
		end := from + len(text)
		if !(digit(from) && digit(from-1)) && !(digit(end-1) && digit(end)) {
			return true
		}
	}
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
