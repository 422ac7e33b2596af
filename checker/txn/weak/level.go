package weak

// Level is an isolation level; a greater one implies all smaller ones.
type Level uint8

// The levels. See the package's documentation for what they ask.
const (
	ReadCommitted Level = iota + 1
	ReadAtomic
	Causal
	Prefix
	SnapshotIsolation
	Serializable
)

var levelNames = [...]string{"no level", "read-committed", "read-atomic", "causal-cerone", "prefix", "snapshot-isolation", "serializable"}

// String returns the name of the level in Elle's lattice.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return levelNames[0]
}

// Ask is what a history is asked about: a level, and which orders of transactions
// it has to respect.
type Ask struct {
	Level Level
	// Sessions: transactions come after those before them in their session, and see
	// them from ReadAtomic on.
	Sessions bool
	// Realtime: transactions come after those that had ended when they began, and
	// see them. Only levels from Prefix on know it.
	Realtime bool
}

// Name returns what a violation of a is called. Names are Elle's where it has one:
// of whichever order the versions may have been in, each leads to a cycle of that
// class or one that rules out more. G1c is a cycle without one.
func (a Ask) Name() string {
	name := [...]string{"", NonMonotonicRead, FracturedRead, CausalCycle, NonPrefixRead, "G-nonadjacent-item", "G2-item"}[a.Level]
	switch {
	case a.Level < SnapshotIsolation:
		return name
	case a.Realtime:
		return name + "-realtime"
	case a.Sessions:
		return name + "-process"
	}
	return name
}

// Names of violations that Elle has no name for.
const (
	// NonMonotonicRead: after a transaction had read from another, it read something
	// that this one overwrote.
	NonMonotonicRead = "non-monotonic-read"
	// FracturedRead: a transaction saw a part of what another did, or not what came
	// before it in its session.
	FracturedRead = "fractured-read"
	// CausalCycle: a transaction missed what came before something that it saw.
	CausalCycle = "causal-cycle"
	// NonPrefixRead: no order of commits has a prefix for each transaction to have
	// read from.
	NonPrefixRead = "non-prefix-read"
)

// Why says what kind an Edge is of.
type Why uint8

const (
	// Session: both are of one session.
	Session Why = iota + 1
	// WroteRead: From wrote what To read of Key.
	WroteRead
	// Realtime: From had ended when To began.
	Realtime
	// Overwrote: From read of Key what Source wrote, or the initial state, and To's
	// write of it came after that.
	Overwrote
	// Before: From's write of Key came before To's, as Reader read To's and had to see
	// From's. With no Reader, which is SnapshotIsolation's, both wrote Key and From
	// ended before To began.
	Before
)

// Edge says that one transaction comes before another.
type Edge struct {
	From, To int32
	Why      Why
	Key      int32
	Source   int32 // of Overwrote: who wrote what From read, or Initial
	Reader   int32 // of Before, or -1
	// Path is what shows that Before or Overwrote holds, where more than the reads
	// and writes is needed: a chain of edges from From to Reader, or from Source to
	// To, or from To to From where there is no Reader.
	Path []Edge
}

// Violation is why a level does not hold.
type Violation struct {
	Ask  // the weakest that is broken
	Name string
	// Cycle is the contradiction: each edge's To is the next one's From. Empty where
	// Exhausted.
	Cycle []Edge
	// Derived are the edges that Cycle and the paths in it take for granted, each
	// after those that it needs itself.
	Derived []Edge
	// Core are transactions that break the level on their own, in order.
	Core []int32
	// Exhausted: there is no cycle of forced edges, but of all orders that Core can
	// have none is right.
	Exhausted bool
	// Checked: Core was found to break the level by a second procedure too.
	Checked bool
}

// Answer is what is known of a level.
type Answer struct {
	Holds  bool       // with proof
	Broken *Violation // with proof; nil when it is not
	Count  int        // of violations that were told apart, where Broken
	// Unfinished says which limit was reached where the level neither holds nor is
	// broken.
	Unfinished string
	Open       int   // where Unfinished: transactions that are not where they can be, one of a pair each
	Steps      int64 // work done by Search
}
