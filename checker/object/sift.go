package object

import (
	"fmt"
	"math"
	"reflect"

	"github.com/jepgo/jepgo/history"
)

// leftOut is the how of a call that nothing is made of: its values say nothing
// that the model could use, or it began after such a one.
const leftOut history.Type = math.MaxUint8

// oddity remembers an op that makes no sense.
func (r *recorder) oddity(at int, why string) {
	if r.odd == 0 || at < r.oddAt {
		r.oddAt, r.oddWhy = at, why
	}
	r.odd++
}

func (r *recorder) strange(e *history.Event, why string) { r.oddity(e.Position, why) }

// lose remembers that an operation f, of which nothing says what it was about,
// may have changed something since begin.
func (r *recorder) lose(f uint16, begin int32) {
	if at, ok := r.lost[f]; !ok || begin < at {
		r.lost[f] = begin
	}
}

// sift leaves out the calls that the model rejects. Without those that change
// nothing the others are judged as they are: what is not linearizable then is not
// with them either. One that may have changed something can explain everything
// after it, so of its object only what was known when it began is judged.
func (r *recorder) sift() {
	everywhere := int32(never)
	for f, at := range r.lost {
		if !r.changesNothing(Op{F: r.names[f], Type: infoType}) {
			everywhere = min(everywhere, at)
		}
	}
	cuts := make(map[int32]int32) // by key
	for i := range int32(r.count) {
		c := r.call(i)
		if r.spec.reject == nil || c.how == failType && !r.spec.fails {
			continue
		}
		op := r.sketch(c)
		why := r.spec.reject(op)
		if why == "" {
			continue
		}
		positions := r.positions(i)
		r.oddity(positions[len(positions)-1], fmt.Sprintf("%s: %s", r.op(c), why))
		if !r.changesNothing(op) {
			if cut, ok := cuts[c.key]; !ok || c.begin < cut {
				cuts[c.key] = c.begin
			}
		}
		c.how = leftOut
	}
	if everywhere == never && len(cuts) == 0 {
		return
	}
	for i := range int32(r.count) {
		c := r.call(i)
		cut, ok := cuts[c.key]
		if !ok || everywhere < cut {
			cut = everywhere
		}
		switch {
		case c.how == leftOut || c.how == failType && !r.spec.fails:
		case c.begin >= cut:
			c.how = leftOut
		case c.end > cut && c.end != never:
			c.how, c.end, c.res = infoType, never, 0
		}
	}
	r.cut = true
}

func (r *recorder) changesNothing(op Op) bool { return r.spec.pure != nil && r.spec.pure(op) }

// sketch is op without the elements of a whole collection, which take long to
// gather.
func (r *recorder) sketch(c *call) Op {
	if c.res >= 0 {
		return r.op(c)
	}
	return Op{F: r.names[c.f], Type: c.how, Arg: r.values.value(c.arg), Result: history.SetOf()}
}

// unfit says why nothing can be judged by m, whatever the history is.
func (m Model[S]) unfit() string {
	if m.traits.unfit != "" {
		return m.traits.unfit
	}
	if m.Step == nil && m.Branch == nil {
		return fmt.Sprintf("model %q has no Step: set Model.Step or Model.Branch", m.Name)
	}
	if m.Key != nil || m.equal != nil {
		return ""
	}
	state := reflect.TypeFor[S]()
	ok := state.Comparable()
	if v := reflect.ValueOf(m.Init); v.IsValid() && !v.Comparable() {
		ok, state = false, v.Type()
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("model %q: state type %s cannot be compared: set Model.Key", m.Name, state)
}

// notAcknowledged says what is wrong with the answer of an ok op that has nothing
// to tell but that it was done.
func notAcknowledged(op Op) string {
	if op.Type != history.OK || op.Result.IsNil() || op.Result.Equal(op.Arg) {
		return ""
	}
	if done, ok := op.Result.Flag(); ok && done {
		return ""
	}
	return fmt.Sprintf("it returned %s, want %s as in its invocation, or nil, or true", short(op.Result.String()), short(op.Arg.String()))
}

// notInteger says that what (the name of a value) is not an integer.
func notInteger(what string, v history.Value) string {
	if _, ok := v.Int(); ok {
		return ""
	}
	return fmt.Sprintf("%s %s, want an integer of 64 bits", what, short(v.String()))
}

// mostSum bounds what counters are at, so that no sum of theirs wraps.
const mostSum = 1 << 61

// initialInt returns the initial state of a model of numbers.
func initialInt(v history.Value, otherwise, least int64) (n int64, unfit string) {
	n, ok := v.Int()
	switch {
	case v.IsNil():
		return otherwise, ""
	case !ok || n < least || n > mostSum:
		return otherwise, fmt.Sprintf("initial value %s, want an integer from %d to %d", short(v.String()), least, int64(mostSum))
	}
	return n, ""
}
