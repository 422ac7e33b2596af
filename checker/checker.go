// Package checker judges histories. A checker is one small type that reads a
// history once and answers valid, invalid or unknown; Compose runs several at
// once and takes the worst answer. The zero value of every verdict is unknown,
// and a checker that compared nothing stays there.
//
// Nothing here knows about networks: the history is all there is. What only
// holds on some kinds of network is told to a checker when it is built.
//
// All checkers here are linear in the history but for sorting, in time and in
// memory; those that are a Stream hold what is live of it. Searches
// that are not live in checker/linear, chains and their rules in checker/chain.
package checker

import (
	"context"

	"github.com/jepgo/jepgo/history"
)

// Verdict is what a checker thinks of a history. The zero value is Unknown, so
// that whatever forgot to decide has not approved.
type Verdict uint8

const (
	// Unknown: no data, a limit reached, or a premise that did not hold.
	Unknown Verdict = iota
	// Valid: something was compared and all of it held.
	Valid
	// Invalid: an anomaly was found, and there is a witness for it.
	Invalid
)

// String returns valid, invalid or unknown.
func (v Verdict) String() string {
	switch v {
	case Valid:
		return "valid"
	case Invalid:
		return "invalid"
	}
	return "unknown"
}

// Worst returns the worse of two verdicts: invalid, then unknown, then valid.
func Worst(a, b Verdict) Verdict {
	if a == Invalid || b == Invalid {
		return Invalid
	}
	if a == Unknown || b == Unknown {
		return Unknown
	}
	return Valid
}

// Anomaly is one violation with the smallest piece of history that shows it.
type Anomaly struct {
	Name    string   // the field's own term: nonlinearizable, fork, finality-reverted, …
	Message string   // one or more full sentences for the person at the terminal
	Witness []Ref    // the ops that show it, in history order
	Nodes   []string // nodes involved

	// Steps is the cycle of an isolation anomaly: each Step's To is the next one's
	// From, and the last leads back to the first.
	Steps []Step
	// Order is the longest order of operations that works, State what the object
	// holds after it, and Blocked says of each operation that was open then why it
	// cannot be the next one: for an object that is not linearizable.
	Order   []Ref
	State   string
	Blocked []Blocked
}

// Step is one edge of a cycle of transactions: From comes before To.
type Step struct {
	From, To int    // positions of the transactions in the history: of the completion, or the invocation where there is none
	Rel      string // ww, wr, rw, process, realtime; wwp, wrp, rwp through a predicate
	Why      string // a sentence: "T1 observed T2's append of 3 to key 8"
}

// Blocked is an operation that cannot come next.
type Blocked struct {
	Ref
	Why string // "reads 3, but the register holds 4"
}

// Ref points at one op of the history.
type Ref struct {
	Index int    // position in History.Ops
	Op    string // the op as its EDN line, without the newline; of a :txs op what matters here
}

// Stat is one measured figure that is reported but not judged.
type Stat struct {
	Name  string
	Value string
}

// Result is the judgement of one checker.
type Result struct {
	Checker   string
	Verdict   Verdict
	Reason    string // one short sentence: why not valid, or what was compared
	Facts     int    // how many facts were compared; zero facts is never Valid
	Anomalies []Anomaly
	Warnings  []string // looks odd, but is allowed under the network's profile
	Stats     []Stat
	// LeftOut: the history has nothing that the checker judges, or too little, which
	// is nobody's fault. It has no say in the verdict on the run, and Reason says why.
	LeftOut bool
}

// Checker judges a history. Check must not change the history, must be safe to
// run beside other checkers on the same one, ends early (Unknown) when ctx
// does, and never panics on a malformed history.
type Checker interface {
	Name() string
	Check(ctx context.Context, h *history.History) Result
}
