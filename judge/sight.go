package judge

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// How many ops of a history are looked at to recognise its model: so many of all,
// then more while there are not so many of clients.
const (
	lookAtLeast   = 4096
	lookAtMost    = 1 << 20
	lookAtClients = 256
)

// sight is what the operations of a history look like.
type sight struct {
	keyed bool            // values are [key value], and only the second counts
	fs    map[string]bool // of client ops; "" is an op without :f
	micro map[string]bool // first elements of micro-operations, where all values are lists of those

	readsScalar, readsList, readsMap bool // what ok reads returned, nil aside
	reads                            int  // ok reads
	plain                            bool // some value is no list of micro-operations
	pairs, single                    bool // some value is a vector of two; some value is not
	pairArgs                         bool // some argument is a vector of two, that of a cas aside if it is one of values
	listArgs                         bool // some argument is a collection
	nestedArgs                       bool // some argument is a vector of two of which the second is no boolean

	begun bool        // there was an op of a client
	test  *history.Op // jepgo's own, before that
}

// look looks at the start of a history: at some operations of clients, if there
// are any within reason. What cannot be read ends the start; whoever reads on says
// what that is.
func look(in input, keyed bool) *sight {
	s := &sight{keyed: keyed, fs: make(map[string]bool), micro: make(map[string]bool)}
	ops, clients, enough := 0, 0, lookAtLeast
	// The time of a caller has no say in what a history is.
	_ = in.Each(context.Background(), func(e *history.Event) error {
		if s.take(e) {
			clients++
		}
		if ops++; ops < enough {
			return nil
		}
		if clients >= lookAtClients || ops >= lookAtMost {
			return io.EOF
		}
		enough *= 8
		return nil
	})
	return s
}

// take looks at one op, and reports whether it may be a client's.
func (s *sight) take(e *history.Event) bool {
	if !e.Process.IsClient() && !e.Process.IsZero() {
		if s.test == nil && !s.begun && e.F == "test" && e.Process == history.Runner() {
			s.test = &history.Op{Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()}
		}
		return false
	}
	s.begun = s.begun || e.Process.IsClient()
	if !s.fs[e.F] {
		s.fs[e.F] = true
	}
	v := e.Value
	if s.keyed && v.Len() == 2 {
		v = v.First().Next()
	}
	s.value(e, v)
	return true
}

func (s *sight) value(e *history.Event, v history.View) {
	kind := v.Kind()
	if kind == history.Nil {
		return
	}
	if kind == history.Vector && v.Len() == 2 {
		s.pairs = true
	} else {
		s.single = true
	}
	if e.F != "read" {
		s.argument(e.F, kind, v)
	}
	s.microOps(v)
	if e.F != "read" || e.Type != history.OK {
		return
	}
	s.reads++
	switch kind {
	case history.Map:
		s.readsMap = true
	case history.List, history.Vector, history.Set:
		s.readsList = true
	default:
		s.readsScalar = true
	}
}

func (s *sight) argument(f string, kind history.Kind, v history.View) {
	switch kind {
	case history.List, history.Set, history.Map:
		s.listArgs = true
	case history.Vector:
		s.listArgs = true
		if v.Len() != 2 {
			return
		}
		inner := v.First().Next().Kind()
		s.nestedArgs = s.nestedArgs || inner != history.Bool
		s.pairArgs = s.pairArgs || f != "cas" || inner == history.Vector || inner == history.List
	}
}

// microOps notes the first elements of the micro-operations that v is a list of,
// or that it is something else.
func (s *sight) microOps(v history.View) {
	if !v.IsSequence() {
		s.plain = true
		return
	}
	for m := range v.Elems() {
		if !m.IsSequence() || m.Len() < 2 {
			s.plain = true
			return
		}
		if k := m.First().Kind(); k != history.KeywordKind && k != history.String {
			s.plain = true
			return
		}
	}
	for m := range v.Elems() {
		if name := m.First().Bytes(); !s.micro[string(name)] {
			s.micro[string(name)] = true
		}
	}
}

// readTest returns what the history says of the test, if jepgo recorded it.
func (s *sight) readTest() (info checker.TestInfo, ours bool) {
	if s.test == nil {
		return info, false
	}
	return checker.ReadTest(&history.History{Ops: []history.Op{*s.test}})
}

// only reports whether the operations are some of fs, and at least one.
func (s *sight) only(fs ...string) bool { return within(s.fs, fs) }

// scalar reports whether values are no lists of micro-operations, and reads return
// neither collections nor maps.
func (s *sight) scalar() bool { return !s.readsList && !s.readsMap && (s.plain || len(s.micro) == 0) }

// transactions reports whether every value is a list of micro-operations of those
// names.
func (s *sight) transactions(names ...string) bool {
	return !s.plain && within(s.micro, names)
}

func within(set map[string]bool, names []string) bool {
	for name := range set {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return len(set) > 0
}

// String lists the operations for a message.
func (s *sight) String() string {
	list := func(set map[string]bool) string {
		names := slices.Sorted(maps.Keys(set))
		for i := range names {
			names[i] = ":" + names[i]
		}
		return strings.Join(names, " ")
	}
	text := "operations " + list(s.fs)
	if len(s.micro) > 0 && !s.plain {
		text += " of micro-operations " + list(s.micro)
	}
	return text
}

// hint tells what else the operations may be.
func (s *sight) hint() string {
	if s.pairs && !s.single {
		return "; every value is a pair: if they are [key value], add --independent"
	}
	return ""
}
