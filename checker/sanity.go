package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// SanityOptions say what a model relies on.
type SanityOptions struct {
	// Pairless: the model judges completions alone, as those of transactions do
	// without real time, so that two open invocations of a process are only a
	// warning.
	Pairless bool
	// Echoes names the operations whose ok completion must repeat the value of the
	// invocation; nil: write, add, enqueue, cas, insert, transfer, put, append.
	Echoes []string
}

// Sanity returns the checker sanity: whether a history is one that a model can
// judge at all. To be run beside every model, its verdict taken into the worst:
// it is never Invalid, so it changes nothing but a Valid that would mean nothing.
//
// Unknown make it
//
//   - double-invoke: a process invokes while it has something open, so that nobody
//     knows which of them a completion completes,
//   - changed-f: a completion with another :f than its invocation,
//   - changed-value: an ok write, add, … that completes with another value than
//     it was invoked with; in a transaction, a written key or value that is not
//     what was invoked, or micro-operations of another kind or number. A model
//     would have to take one of the two for what happened. A completion without a
//     value has not said anything else,
//     A boolean, alone or with the key, is an answer and no value, unless the
//     operation was of one,
//   - no-type: a line of a client, or of nobody, whose :type is none of the four, so
//     that what it reports is lost,
//   - no-process: an operation whose :process is neither a number nor a name, such as
//     "0" or [0], or is none where others have one, so that no model sees it.
//
// Warnings only are completions without an invocation (models take them for the
// whole operation, of unknown start) where there are invocations at all, processes
// that go on after an :info (which some clients do), and :time that runs backwards
// (the order of lines counts).
//
// O(n) time; it holds what is open, and a number for each crashed client.
func Sanity(o SanityOptions) Stream {
	if o.Echoes == nil {
		o.Echoes = []string{"write", "add", "enqueue", "cas", "insert", "transfer", "put", "append"}
	}
	return &sanity{options: o, crashed: make(map[int64]struct{})}
}

type sanity struct {
	options SanityOptions
	open    opened[*invocation]
	spare   []*invocation
	crashed map[int64]struct{}
	odd     [oddities]oddity
	seen    int
	clients int // lines of clients
	invokes int // invocations of clients
	nobody  oddity
	time    int64
}

// invocation is an open one, with its value.
type invocation struct {
	at    int
	f     string
	tape  history.Tape
	value history.View
}

const (
	doubleInvoke = iota
	changedF
	changedValue
	loneCompletion
	aliveAfterInfo
	noType
	noProcess
	timeBackwards
	oddities
)

// oddity counts lines of one kind, and keeps the first with its invocation, or
// nowhere.
type oddity struct {
	count int
	first [2]int
}

func (o *oddity) add(invoked, at int) {
	if o.count++; o.count == 1 {
		o.first = [2]int{invoked, at}
	}
}

func (*sanity) Name() string { return "sanity" }

func (s *sanity) Take(e *history.Event) {
	if e.Time >= 0 {
		if e.Time < s.time {
			s.odd[timeBackwards].add(nowhere, e.Position)
		}
		s.time = e.Time
	}
	n, client := e.Process.Client()
	if !client {
		s.takeOther(e)
		return
	}
	s.clients++
	if e.Type == 0 {
		s.odd[noType].add(nowhere, e.Position)
		return
	}
	s.seen++
	before, open := s.open.end(e.Process)
	if e.Type == history.Invoke {
		s.invokes++
		if open {
			s.odd[doubleInvoke].add(before.at, e.Position)
			s.spare = append(s.spare, before)
		}
		if _, dead := s.crashed[n]; dead {
			s.odd[aliveAfterInfo].add(nowhere, e.Position)
			delete(s.crashed, n)
		}
		s.open.begin(e.Process, s.invoked(e))
		return
	}
	if !open {
		s.odd[loneCompletion].add(nowhere, e.Position)
		return
	}
	if renamed(before.f, e.F) {
		s.odd[changedF].add(before.at, e.Position)
	} else if e.Type == history.OK && !e.Value.IsNil() && s.changed(before, e) {
		s.odd[changedValue].add(before.at, e.Position)
	}
	if e.Type == history.Info {
		s.crashed[n] = struct{}{}
	}
	s.spare = append(s.spare, before)
}

// takeOther looks at a line that no client has: nothing can be paired.
func (s *sanity) takeOther(e *history.Event) {
	nobody := e.Process.IsZero()
	if !nobody && isName(e.Process.Name()) {
		return // nemesis and others
	}
	switch {
	case e.F == "" && e.Type == 0:
	case e.Type == 0:
		s.odd[noType].add(nowhere, e.Position)
	case !nobody:
		s.odd[noProcess].add(nowhere, e.Position)
	default:
		s.seen++
		if e.F != "" {
			s.nobody.add(nowhere, e.Position) // odd among lines that have one
		}
	}
}

// isName reports whether a process may be called that: what begins as a number, a
// collection or a string does is a value that is no process.
func isName(text string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, "+-"))
	return text != "true" && text != "false" && (first == '_' || unicode.IsLetter(first))
}

// renamed reports whether a completion says that it is of another operation. One
// that says nothing does not, nor does what a cas becomes in a log that tells that
// it found another value.
func renamed(invoked, completed string) bool {
	return completed != invoked && completed != "" && !(invoked == "cas" && completed == "cas-miss")
}

// invoked keeps an invocation, in space that another one had.
func (s *sanity) invoked(e *history.Event) *invocation {
	var i *invocation
	if n := len(s.spare); n > 0 {
		i, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		i = new(invocation)
	}
	i.at, i.f = e.Position, e.F
	i.tape.Reset()
	i.value = e.Value.CopyTo(&i.tape)
	return i
}

// changed reports whether an ok completion contradicts its invocation.
func (s *sanity) changed(before *invocation, e *history.Event) bool {
	if before.value.IsNil() {
		return false // nothing was said that could be contradicted
	}
	if slices.Contains(s.options.Echoes, e.F) {
		return !sameView(before.value, e.Value) && !answers(before.value, e.Value)
	}
	if e.F != "txn" && e.F != "" {
		return false
	}
	was, is := before.value, e.Value
	if _, v, pair := was.Pair(); pair && !first(was).IsSequence() {
		_, w, ok := is.Pair() // [key transaction]
		if !ok || !sameView(first(was), first(is)) {
			return true
		}
		was, is = v, w
	}
	if !was.IsSequence() || !is.IsSequence() {
		return false
	}
	if was.Len() != is.Len() {
		return true
	}
	a, b := was, is
	for i := range was.Len() {
		if i == 0 {
			a, b = was.First(), is.First()
		} else {
			a, b = a.Next(), b.Next()
		}
		f, key, value, ok := microOp(a)
		g, key2, value2, ok2 := microOp(b)
		if !ok || !ok2 {
			continue
		}
		if !sameView(f, g) || !sameView(key, key2) {
			return true
		}
		if writes := f.Is("append") || f.Is("w") || f.Is("write"); writes && !sameView(value, value2) {
			return true
		}
	}
	return false
}

// answers reports whether a completion says yes or no to what was invoked.
func answers(invoked, completed history.View) bool {
	for range 2 { // [element answer], [key answer], [key [element answer]]
		of, answer, pair := completed.Pair()
		if !pair {
			break
		}
		completed = answer
		if sameView(invoked, of) {
			break
		}
		key, value, keyed := invoked.Pair()
		if !keyed || !sameView(key, of) {
			return false
		}
		invoked = value
	}
	_, was := invoked.Flag()
	_, is := completed.Flag()
	return is && !was
}

// first is the first element of what is not empty.
func first(v history.View) history.View {
	if v.Len() == 0 {
		return history.View{}
	}
	return v.First()
}

// sameView reports whether two values are equal. What is usual, a value and a pair
// of values, is compared without being written out.
func sameView(a, b history.View) bool {
	if k, v, ok := a.Pair(); ok {
		if k2, v2, ok := b.Pair(); ok {
			return sameSimple(k, k2) && sameSimple(v, v2)
		}
	}
	return sameSimple(a, b)
}

func sameSimple(a, b history.View) bool {
	n, aInt := a.Int()
	m, bInt := b.Int()
	if aInt && bInt {
		return n == m
	}
	if aInt != bInt && (a.IsNil() || b.IsNil()) {
		return false
	}
	if a.Kind() == b.Kind() && (a.Kind() == history.KeywordKind || a.Kind() == history.String) {
		return string(a.Bytes()) == string(b.Bytes())
	}
	var space, other [64]byte
	return string(a.AppendKey(space[:0])) == string(b.AppendKey(other[:0]))
}

func (s *sanity) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: s.Name(), Facts: max(1, s.seen)}
	if ctx.Err() != nil {
		return Ended(ctx, s.Name())
	}
	kinds := [oddities]struct{ name, noun, what string }{
		doubleInvoke:   {"double-invoke", "invocation", "of a process that has another operation open"},
		changedF:       {"changed-f", "completion", "with another :f than the invocation"},
		changedValue:   {"changed-value", "ok completion", "with another value than was invoked"},
		loneCompletion: {"lone-completion", "completion", "without an invocation"},
		aliveAfterInfo: {"alive-after-info", "invocation", "of a process after an operation of it in doubt"},
		noProcess:      {"no-process", "line", "of an operation without a readable :process"},
		noType:         {"no-type", "line", "of an operation whose :type is none of invoke, ok, fail, info"},
		timeBackwards:  {"time-backwards", "line", "with an earlier :time than the line before"},
	}
	if s.clients > 0 && s.nobody.count > 0 {
		if s.odd[noProcess].count == 0 || s.nobody.first[1] < s.odd[noProcess].first[1] {
			s.odd[noProcess].first = s.nobody.first
		}
		s.odd[noProcess].count += s.nobody.count
	}
	if s.invokes == 0 {
		s.odd[loneCompletion].count = 0 // the kind of history that has completions only
	}
	for i, kind := range kinds {
		o := &s.odd[i]
		if o.count == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %s %s, such as op %d", kind.name, plural(o.count, kind.noun), kind.what, o.first[1])
		r.Stats = append(r.Stats, Stat{kind.name, fmt.Sprint(o.count)})
		shown := i == changedF || i == changedValue || i == noType || i == noProcess || i == doubleInvoke
		fatal := shown && (i != doubleInvoke || !s.options.Pairless)
		if fatal && r.Reason == "" {
			r.Reason = text
		}
		r.Warnings = append(r.Warnings, text)
		if shown {
			for _, ref := range RefsFrom(src, o.first[:]...) {
				r.Warnings = append(r.Warnings, fmt.Sprintf("op %d: %s", ref.Index, ref.Op))
			}
		}
	}
	switch {
	case r.Reason != "":
	case s.seen == 0:
		r.Verdict = Valid
		r.Reason = "there is no line of a client that could be odd"
	default:
		r.Verdict = Valid
		r.Reason = plural(s.seen, "line") + " of clients make sense"
	}
	return r
}
