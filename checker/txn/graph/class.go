package graph

// base is a class of cycle by its data edges alone, level what other orders it
// leans on. A class is a pair of both: level*bases + base.
type (
	base  uint8
	level uint8
	class uint8
	set   uint32 // of classes
)

const (
	g0 base = iota
	g1c
	gSingleItem
	gSingle
	gNonadjacentItem
	gNonadjacent
	g2Item
	g2
	bases
)

const (
	plain level = iota
	process
	realtime
	levels
)

var baseNames = [bases]string{
	"G0", "G1c", "G-single-item", "G-single",
	"G-nonadjacent-item", "G-nonadjacent", "G2-item", "G2",
}

var levelNames = [levels]string{"", "-process", "-realtime"}

// implied holds, of each base, the bases whose anomaly it is a special case of,
// itself included (Elle, consistency_model.clj; transitively closed).
var implied = [bases]set{
	g0:               bit(g0) | bit(g1c),
	g1c:              bit(g1c),
	gSingleItem:      bit(gSingleItem) | bit(gSingle) | bit(gNonadjacentItem) | bit(gNonadjacent) | bit(g2Item) | bit(g2),
	gSingle:          bit(gSingle) | bit(gNonadjacent) | bit(g2),
	gNonadjacentItem: bit(gNonadjacentItem) | bit(gNonadjacent) | bit(g2Item) | bit(g2),
	gNonadjacent:     bit(gNonadjacent) | bit(g2),
	g2Item:           bit(g2Item) | bit(g2),
	g2:               bit(g2),
}

func bit(b base) set { return 1 << b }

func classOf(l level, b base) class { return class(l)*class(bases) + class(b) }

func (c class) level() level   { return level(c / class(bases)) }
func (c class) base() base     { return base(c % class(bases)) }
func (c class) String() string { return baseNames[c.base()] + levelNames[c.level()] }

// implies returns the classes that a cycle of class c is also a case of, itself
// included: those of its base, with its suffix and with every weaker one.
func (c class) implies() set {
	var s set
	for l := c.level(); l < levels; l++ {
		s |= implied[c.base()] << (uint(l) * uint(bases))
	}
	return s
}

func (s set) has(c class) bool { return s&(1<<c) != 0 }

const allClasses = class(levels) * class(bases)

// Classes returns the names of all classes of cycles, the most severe first:
// G0, G1c, G-single-item, G-single, G-nonadjacent-item, G-nonadjacent, G2-item
// and G2, then the same with -process and with -realtime.
//
// By their data edges: G0 has only ww, G1c a wr as well, G-single exactly one rw,
// G-nonadjacent several rw but no two in a row, and G2 two in a row. "-item" says
// that no rw goes through a predicate; ww and wr may. A suffix says that the
// cycle needs an edge of that order, -realtime where it needs both.
func Classes() []string {
	names := make([]string, allClasses)
	for c := range names {
		names[c] = class(c).String()
	}
	return names
}

// Implies returns the classes that a cycle of this class is a case of too, itself
// first, and nil for a name that is not a class. So G0 implies G1c and
// G0-process; G-single-item implies G-single, G-nonadjacent-item and G2-item.
func Implies(name string) []string {
	for c := class(0); c < allClasses; c++ {
		if c.String() != name {
			continue
		}
		names := []string{name}
		for other := class(0); other < allClasses; other++ {
			if other != c && c.implies().has(other) {
				names = append(names, other.String())
			}
		}
		return names
	}
	return nil
}

// wanted returns the classes to search for: those that want names and every
// class that implies one of them, as that is evidence for it too. But process
// classes are left out when want names none: where real time is looked at they
// would only be a detour, since a process does one thing after another.
func wanted(want func(string) bool) set {
	var asked, s set
	for c := class(0); c < allClasses; c++ {
		if want == nil || want(c.String()) {
			asked |= 1 << c
		}
	}
	for c := class(0); c < allClasses; c++ {
		if c.implies()&asked != 0 {
			s |= 1 << c
		}
	}
	if !asked.ofLevel(process) {
		s &^= (1<<bases - 1) << bases
	}
	return s
}

// ofLevel tells whether the set has a class of that level.
func (s set) ofLevel(l level) bool {
	return s>>(uint(l)*uint(bases))&(1<<bases-1) != 0
}

// classify names a cycle by its steps. It is false when no data edge is in it.
func classify(steps []Step) (class, bool) {
	var all Rel
	rw, adjacent := 0, false
	for i, s := range steps {
		all |= s.Rel
		if s.Rel&relRW == 0 {
			continue
		}
		rw++
		adjacent = adjacent || steps[(i+1)%len(steps)].Rel&relRW != 0
	}
	var b base
	switch {
	case all&relData == 0:
		return 0, false
	case rw == 0 && all&relWR == 0:
		b = g0
	case rw == 0:
		b = g1c
	case rw == 1:
		b = gSingle
	case !adjacent:
		b = gNonadjacent
	default:
		b = g2
	}
	if rw > 0 && all&RWP == 0 {
		b-- // an item class stands just before its general one
	}
	l := plain
	if all&Realtime != 0 {
		l = realtime
	} else if all&Process != 0 {
		l = process
	}
	return classOf(l, b), true
}
