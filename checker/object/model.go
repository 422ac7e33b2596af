package object

import (
	"context"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Model is the sequential specification of an object whose states are S. Name,
// Step (or Branch) are required; the zero value of everything else is useful.
//
// All its functions must be pure, safe for use by several goroutines at once, and
// prepared for any operation in any state: the search asks about orders that
// never happened.
type Model[S any] struct {
	// Name is what messages call the object, "queue".
	Name string
	// Ops are the names (:f) of the operations that the model judges; clients may
	// do others. Nil is all.
	Ops []string
	// Init is the state before the first operation.
	Init S
	// Step says whether op may happen in a state, and what the state is then. Of
	// an op in doubt (Type Info) the result is not known: it says what happens if
	// it happens. It must not change the state that it is given.
	Step func(state S, op Op) (next S, ok bool)
	// Branch replaces Step where one operation may lead to several states, as an
	// in-doubt removal from a set; none means that op may not happen.
	Branch func(state S, op Op) []S
	// Key identifies a state: equal keys for equal states and for no others. Nil
	// compares states with ==, so S must be comparable then.
	Key func(state S) string
	// Pure reports that op never changes the state, whatever the state is, as no
	// read does. Without it everything works, slower. A claim that turns out wrong
	// makes the verdict Unknown.
	Pure func(op Op) bool
	// Partition names the part of the object that op is about: the object is
	// linearizable if and only if each part is, by itself, from Init. Nil is one part.
	Partition func(op Op) history.Value
	// Reject says what is wrong with the values of an op that the model cannot know
	// anything of, as "it returned "x", want an integer"; "" of every other. Such
	// an op is left out. The answer is then Unknown, unless the rest, as far as the op
	// cannot have changed it, is not linearizable. Nil rejects nothing.
	Reject func(op Op) string
	// Fails: :fail is an answer too, which Step judges (Type Fail). By default
	// operations that failed did not happen and are left out.
	Fails bool
	// Describe shows a state to people. Nil formats it with %v.
	Describe func(state S) string
	// Why says why op may not happen in a state, as "takes 2, but 1 is at the
	// head". Nil has only general words for it.
	Why func(state S, op Op) string

	traits traits
	// Porcupine's way to tell states apart.
	equal func(a, b S) bool
	hash  func(S) uint64
}

// Op is one operation as a model sees it. With keys, both values are without it.
type Op struct {
	F      string
	Type   history.Type  // OK; Info: in doubt, Result is nil; Fail only where the model asks for it
	Arg    history.Value // of the invocation; of the completion where there is no invocation
	Result history.Value // of the completion
}

// Options says how to read a history, and how far to go. The zero value is one
// object without keys.
type Options struct {
	// Keyed: every client :value is [key value], one object for each key.
	Keyed bool
	// Whole keeps an object in one part where it could be judged in several, as a kv
	// store by key: as right, and very much slower.
	Whole bool
	// NilAny: a read of nil agrees with every state of a register, as in Knossos.
	NilAny bool
	// Initial is the state before the first operation, for the models that say so.
	Initial history.Value
	// EmptyValid: a history in which none of the operations of this model completed
	// is Valid instead of Unknown, unless clients did nothing but others.
	EmptyValid bool
	// Work limits the steps of the search of one key; 0 is 200 million, some tens of
	// seconds.
	Work int64
	// Memory limits, in bytes, what all searches together keep; 0 is 1 GiB. Four
	// keys are searched at once, so each may have a quarter.
	Memory int64

	only  engine // tests choose one
	blind bool   // tests: do not find out which operations are pure
}

// engine is a choice of how to judge.
type engine uint8

const (
	anyEngine engine = iota
	depthOnly
	frontierOnly
	searchOnly // no monitor
)

func (o Options) withDefaults() Options {
	if o.Work <= 0 {
		o.Work = 200_000_000
	}
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	return o
}

// Stream returns the checker "object" of m. It takes some 100 ns an event, keeps
// some 30 bytes an operation, and what values there are. Check is simpler where the
// history is in memory.
func Stream[S any](m Model[S], o Options) checker.Stream {
	return newRecorder(m.erase(), o.withDefaults())
}

// Check judges h by m: Stream for a history that is in memory.
func Check[S any](ctx context.Context, m Model[S], h *history.History, o Options) checker.Result {
	return checker.Streamed(func() checker.Stream { return Stream(m, o) }).Check(ctx, h)
}

// traits are what only the models of this package know about themselves.
type traits struct {
	start    int64  // of a counter
	keyed    bool   // values are [key value] whatever the options say
	collects string // the operation whose result is a whole collection
	elements bool   // operation 0 puts and 1 takes an element, the others do not care
	monitor  func(*part) (finding, bool)
	split    func(*part) []*part     // into parts that do not see each other
	tailor   func(ops []Op) *machine // with no more states than those operations tell apart
	needless func(*part) []bool      // of each op in doubt whether it may be left out
	refuse   func(*part) string      // why a part cannot be judged
	unfit    string                  // why nothing can
}

// spec is a Model without its type of states.
type spec struct {
	name      string
	ops       []string
	fails     bool
	pure      func(Op) bool
	partition func(Op) history.Value
	reject    func(Op) string
	machine   func(ops []Op) *machine // as the model has it, for people
	traits
}

func (m Model[S]) erase() *spec {
	m.traits.unfit = m.unfit()
	return &spec{
		name: m.Name, ops: m.Ops, fails: m.Fails, pure: m.Pure, partition: m.Partition, reject: m.Reject,
		machine: func(ops []Op) *machine { return newMachine(m, ops) },
		traits:  m.traits,
	}
}
