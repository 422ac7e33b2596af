package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// lookAhead is how many ops of a history are looked at to recognise its model.
const lookAhead = 4096

// sight is what the operations of a history look like.
type sight struct {
	fs    map[string]bool // of client ops; "" is an op without :f
	micro map[string]bool // first elements of micro-operations, where all values are lists of those

	readsScalar, readsList, readsMap bool // what ok reads returned, nil aside
	reads                            int  // ok reads
	plain                            bool // some value is no list of micro-operations
	pairs, single                    bool // some value is a vector of two; some value is not
	pairArgs                         bool // some argument is a vector of two, that of a cas aside if it is one of values
	listArgs                         bool // some argument is a collection
	nestedArgs                       bool // some argument is a vector of two of which the second is no boolean
	chain                            bool // the history is jepgo's own
}

// look looks at the first ops of a history.
func look(h *history.History, keyed bool) *sight {
	s := &sight{fs: make(map[string]bool), micro: make(map[string]bool)}
	for i := range h.Ops {
		op := &h.Ops[i]
		if !op.Process.IsClient() && !op.Process.IsZero() {
			s.chain = s.chain || op.F == "test" && op.Process == history.Runner()
			continue
		}
		s.fs[op.F] = true
		v := op.Value
		if keyed && len(v.Elems()) == 2 {
			v = v.Elems()[1]
		}
		s.value(op, v)
	}
	return s
}

func (s *sight) value(op *history.Op, v history.Value) {
	if v.IsNil() {
		return
	}
	if v.Kind() == history.Vector && len(v.Elems()) == 2 {
		s.pairs = true
	} else {
		s.single = true
	}
	if op.F != "read" {
		s.argument(op.F, v)
	}
	if names, ok := microNames(v); ok {
		for _, name := range names {
			s.micro[name] = true
		}
	} else {
		s.plain = true
	}
	if op.F != "read" || op.Type != history.OK {
		return
	}
	s.reads++
	switch v.Kind() {
	case history.Map:
		s.readsMap = true
	case history.List, history.Vector, history.Set:
		s.readsList = true
	default:
		s.readsScalar = true
	}
}

func (s *sight) argument(f string, v history.Value) {
	switch v.Kind() {
	case history.List, history.Set, history.Map:
		s.listArgs = true
	case history.Vector:
		s.listArgs = true
		elems := v.Elems()
		if len(elems) != 2 {
			return
		}
		inner := elems[1].Kind()
		s.nestedArgs = s.nestedArgs || inner != history.Bool
		s.pairArgs = s.pairArgs || f != "cas" || inner == history.Vector || inner == history.List
	}
}

// microNames returns the first elements of the micro-operations that v is a list
// of; ok is false when v is something else.
func microNames(v history.Value) (names []string, ok bool) {
	if v.Kind() != history.Vector && v.Kind() != history.List {
		return nil, false
	}
	for _, m := range v.Elems() {
		e := m.Elems()
		if len(e) < 2 || m.Kind() != history.Vector && m.Kind() != history.List {
			return nil, false
		}
		if k := e[0].Kind(); k != history.KeywordKind && k != history.String {
			return nil, false
		}
		names = append(names, e[0].Text())
	}
	return names, true
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
