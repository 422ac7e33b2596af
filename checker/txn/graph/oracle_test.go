package graph

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// small is a random graph with everything that a graph may have.
type small struct {
	n       int
	rel     [][]Rel // without real time
	call    []int32
	ret     []int32
	process []int32
	timed   bool
}

func (s small) String() string {
	text := fmt.Sprintf("%d nodes, call %v, ret %v, timed %v:", s.n, s.call, s.ret, s.timed)
	for i := range s.n {
		for j := range s.n {
			if s.rel[i][j] != 0 {
				text += fmt.Sprintf(" %d-%s->%d", i, s.rel[i][j], j)
			}
		}
	}
	return text
}

func (s small) builder() *Builder {
	b := NewBuilder(s.n)
	for i := range s.n {
		for j := range s.n {
			for r := s.rel[i][j]; r != 0; r &= r - 1 {
				b.Add(uint32(i), uint32(j), r.first())
			}
		}
	}
	if s.timed {
		b.Times(s.call, s.ret)
	}
	return b
}

// drawSmall draws a graph. Rarer kinds of edges get rarer, so that weak classes
// are not always hidden by strong ones.
func drawSmall(t *rapid.T) small {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	s := small{n: n, rel: make([][]Rel, n), timed: rapid.Bool().Draw(t, "timed")}
	for i := range s.rel {
		s.rel[i] = make([]Rel, n)
	}
	kinds := rapid.SampledFrom([][]Rel{
		{WW, WWP, WR, WRP, RW, RWP},
		{WW, WR, RW},
		{WW, RW, RW, RW},
		{WR, RWP, RW, RWP},
		{RW, RWP},
		{WW, RW},
	}).Draw(t, "kinds")
	edges := rapid.IntRange(0, 2*n).Draw(t, "edges")
	forward := rapid.IntRange(0, 3).Draw(t, "forward")
	for range edges {
		i := rapid.IntRange(0, n-1).Draw(t, "from")
		j := rapid.IntRange(0, n-1).Draw(t, "to")
		r := rapid.SampledFrom(kinds).Draw(t, "rel")
		if i > j && r&(relWW|relWR) != 0 && rapid.IntRange(0, forward).Draw(t, "back") > 0 {
			i, j = j, i // most dependencies follow the order of numbers
		}
		if i != j {
			s.rel[i][j] |= r
		}
	}
	s.call, s.ret = make([]int32, n), make([]int32, n)
	for i := range n {
		s.call[i] = int32(3*i + rapid.IntRange(0, 9).Draw(t, "call"))
		s.ret[i] = s.call[i] + int32(rapid.IntRange(-1, 12).Draw(t, "length"))
		switch rapid.IntRange(0, 9).Draw(t, "odd") {
		case 0:
			s.call[i] = -1
		case 1:
			s.ret[i] = Never
		}
		if rapid.IntRange(0, 20).Draw(t, "far") == 0 { // positions need not be dense
			s.ret[i] = math.MaxInt32 - 1
		}
	}
	if n >= 4 && rapid.Bool().Draw(t, "ring") {
		drawRing(t, s)
	}
	s.process = make([]int32, n)
	for i := range n {
		s.process[i] = int32(rapid.IntRange(-1, 2).Draw(t, "process"))
	}
	if rapid.Bool().Draw(t, "processes") {
		last := map[int32]int{}
		for i, p := range s.process {
			if p < 0 {
				continue
			}
			if j, ok := last[p]; ok {
				s.rel[j][i] |= Process
			}
			last[p] = i
		}
	}
	return s
}

// drawRing plants a long cycle whose rw are mostly apart, and takes most other
// edges away: what random graphs hardly ever have. A gap in it is left to the
// orders of time and processes.
func drawRing(t *rapid.T, s small) {
	for i := range s.rel {
		for j := range s.rel[i] {
			if rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
				s.rel[i][j] = 0
			}
		}
	}
	length := rapid.IntRange(4, s.n).Draw(t, "ring length")
	anti := rapid.SampledFrom([]Rel{RW, RWP}).Draw(t, "anti")
	for i := range length {
		r := rapid.SampledFrom([]Rel{WW, WR, WW, WRP, 0, Process}).Draw(t, "link")
		if i%2 == 0 {
			r = RW
			if i == 0 {
				r = anti
			}
		}
		from, to := i, (i+1)%length
		s.rel[from][to] |= r
		if r == 0 { // real time leads there, if nothing moves them
			s.ret[from], s.call[to] = min(s.ret[from], 20), 21
			s.ret[to] = max(s.ret[to], 30)
		}
	}
}

// full is the graph as a matrix, real time spelled out pair by pair.
func (s small) full(proc, rt bool) [][]Rel {
	m := make([][]Rel, s.n)
	for i := range m {
		m[i] = slices.Clone(s.rel[i])
		for j := range m[i] {
			if !proc {
				m[i][j] &^= Process
			}
			if rt && s.timed && i != j && s.call[j] >= 0 && s.call[j] <= s.ret[j] && s.ret[i] < s.call[j] {
				m[i][j] |= Realtime
			}
		}
	}
	return m
}

// shape is what matters of a path's edges for its class.
type shape struct {
	wr, proc, rt, rwp, data, adjacent bool
	rw                                int // 0, 1 or 2 for more
	first, last                       bool
}

func (s shape) add(r Rel, start bool) shape {
	is := r&relRW != 0
	if is {
		s.rw = min(s.rw+1, 2)
		s.adjacent = s.adjacent || !start && s.last
	}
	s.last = is
	if start {
		s.first = is
	}
	s.wr = s.wr || r&relWR != 0
	s.rwp = s.rwp || r == RWP
	s.proc = s.proc || r == Process
	s.rt = s.rt || r == Realtime
	s.data = s.data || r&relData != 0
	return s
}

func (s shape) class() (string, bool) {
	name := ""
	adjacent := s.adjacent || s.first && s.last
	switch {
	case !s.data:
		return "", false
	case s.rw == 0 && !s.wr:
		name = "G0"
	case s.rw == 0:
		name = "G1c"
	case s.rw == 1:
		name = "G-single"
	case !adjacent:
		name = "G-nonadjacent"
	default:
		name = "G2"
	}
	if s.rw > 0 && !s.rwp {
		name += "-item"
	}
	if s.rt {
		name += "-realtime"
	} else if s.proc {
		name += "-process"
	}
	return name, true
}

// cycles returns, by the smallest component member, the length of the shortest
// simple cycle of each class, found by enumeration of all of them.
func cycles(m [][]Rel) map[int]map[string]int {
	n := len(m)
	component := matrixComponents(m)
	found := map[int]map[string]int{}
	var path []int
	used := make([]bool, n)
	var extend func(shapes map[shape]bool)
	extend = func(shapes map[shape]bool) {
		start, end := path[0], path[len(path)-1]
		step := func(to int) map[shape]bool {
			next := map[shape]bool{}
			for s := range shapes {
				for r := m[end][to]; r != 0; r &= r - 1 {
					next[s.add(r.first(), len(path) == 1)] = true
				}
			}
			return next
		}
		if len(path) > 1 && m[end][start] != 0 {
			for s := range step(start) {
				if c, ok := s.class(); ok {
					at := component[start]
					if found[at] == nil {
						found[at] = map[string]int{}
					}
					if was, ok := found[at][c]; !ok || len(path) < was {
						found[at][c] = len(path)
					}
				}
			}
		}
		for to := start + 1; to < n; to++ {
			if used[to] || m[end][to] == 0 {
				continue
			}
			next := step(to)
			used[to] = true
			path = append(path, to)
			extend(next)
			path = path[:len(path)-1]
			used[to] = false
		}
	}
	for start := range n {
		path = append(path[:0], start)
		extend(map[shape]bool{{}: true})
	}
	return found
}

// closure tells which nodes reach which, themselves included.
func closure(m [][]Rel) [][]bool {
	n := len(m)
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
		for j := range reach[i] {
			reach[i][j] = i == j || m[i][j] != 0
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	return reach
}

// matrixComponents gives each node the smallest member of its component.
func matrixComponents(m [][]Rel) []int {
	reach := closure(m)
	component := make([]int, len(m))
	for i := range component {
		for j := range m {
			if reach[i][j] && reach[j][i] {
				component[i] = j
				break
			}
		}
	}
	return component
}

// rounds is how many times as many graphs as rapid's default are tried.
const rounds = 20

func TestSearchAgreesWithEnumeration(t *testing.T) {
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			s := drawSmall(t)
			proc := rapid.Bool().Draw(t, "want process")
			rt := rapid.Bool().Draw(t, "want realtime")
			checkAgainstEnumeration(t, s, proc, rt)
		})
	}
}

// With too little work a report may be unfinished and its cycles long, but what
// it says is right, and what it does not say it calls open.
func TestSearchWithLittleWork(t *testing.T) {
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			s := drawSmall(t)
			work := rapid.Int64Range(1, 60).Draw(t, "work")
			report := s.builder().Graph().Search(context.Background(), Options{Work: work})
			m := s.full(true, true)
			component := matrixComponents(m)
			exists := cycles(m)
			got := map[int]map[string]int{}
			for _, c := range report.Cycles {
				checkCycle(t, m, c)
				at := component[c.Steps[0].From]
				if got[at] == nil {
					got[at] = map[string]int{}
				}
				got[at][c.Class] = len(c.Steps)
			}
			if report.Unfinished != "" {
				return
			}
			for at, classes := range exists {
				for name := range expected(classes) {
					if _, ok := got[at][name]; !ok {
						t.Fatalf("finished without the %s at %d in %v", name, at, s)
					}
				}
			}
		})
	}
}

func checkAgainstEnumeration(t *rapid.T, s small, proc, rt bool) {
	want := func(c string) bool {
		k := class(slices.Index(Classes(), c))
		return k.level() == plain || k.level() == process && proc || k.level() == realtime && rt
	}
	g := s.builder().Graph()
	report := g.Search(context.Background(), Options{Want: want})
	m := s.full(proc, rt)
	component := matrixComponents(m)
	for i := range s.n {
		for j := range s.n {
			if i == j {
				continue
			}
			if got, exp := g.Rel(uint32(i), uint32(j)), s.full(true, true)[i][j]; got != exp {
				t.Fatalf("Rel(%d, %d) is %s, not %s, in %v", i, j, got, exp, s)
			}
		}
	}
	exists := cycles(m)
	got := map[int]map[string]int{}
	for _, c := range report.Cycles {
		at := component[c.Steps[0].From]
		if got[at] == nil {
			got[at] = map[string]int{}
		}
		if _, twice := got[at][c.Class]; twice {
			t.Fatalf("two cycles of %s in one component of %v", c.Class, s)
		}
		got[at][c.Class] = len(c.Steps)
		checkCycle(t, m, c)
	}
	counts := map[string]int{}
	for at, classes := range exists {
		for name, length := range expected(classes) {
			counts[name]++
			if has, ok := got[at][name]; !ok || has != length {
				t.Fatalf("%s of length %d exists in the component of %d, got %v of %v in %v; %q", name, length, at, got[at], classes, s, report.Unfinished)
			}
		}
		if len(got[at]) != len(expected(classes)) {
			t.Fatalf("got %v, which %v does not have, in %v", got[at], expected(classes), s)
		}
	}
	if len(got) != len(exists) {
		t.Fatalf("got cycles in %v, they are in %v, of %v", got, exists, s)
	}
	if report.Unfinished != "" {
		t.Fatalf("%s, in %v", report.Unfinished, s)
	}
	for c, n := range report.Counts {
		if counts[c] != n {
			t.Fatalf("counted %d %s, expected %d, in %v", n, c, counts[c], s)
		}
	}
}

// expected keeps the classes that no other one implies.
func expected(classes map[string]int) map[string]int {
	kept := map[string]int{}
	for name, length := range classes {
		alone := true
		for other := range classes {
			if other != name && slices.Contains(Implies(other), name) {
				alone = false
			}
		}
		if alone {
			kept[name] = length
		}
	}
	return kept
}

func checkCycle(t *rapid.T, m [][]Rel, c Cycle) {
	var s shape
	met := map[uint32]bool{}
	for i, step := range c.Steps {
		if step.To != c.Steps[(i+1)%len(c.Steps)].From || m[step.From][step.To]&step.Rel == 0 || step.Rel.first() != step.Rel || met[step.From] {
			t.Fatalf("step %d of %v does not hold", i, c)
		}
		met[step.From] = true
		s = s.add(step.Rel, i == 0)
	}
	if name, ok := s.class(); !ok || name != c.Class {
		t.Fatalf("%v is a %s", c, name)
	}
}
