package graph

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// far is a distance that no path has.
const far = 1 << 20

// distances returns the length of the shortest paths between all states of the
// walk, the slow and sure way (Floyd and Warshall).
func distances(m [][]Rel, w walk) [][]int {
	shift := int(w.shift())
	n := len(m) << shift
	d := make([][]int, n)
	for i := range d {
		d[i] = make([]int, n)
		for j := range d[i] {
			r := m[i>>shift][j>>shift]
			allowed := r&(w.d|Realtime) != 0
			if w.apart && j&1 == 1 {
				allowed = i&1 == 0 && r&w.r != 0
			}
			switch {
			case i == j:
			case allowed:
				d[i][j] = 1
			default:
				d[i][j] = far
			}
		}
	}
	for k := range n {
		for i := range n {
			if d[i][k] == far {
				continue
			}
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// lengths returns, by component and class, the length of the shortest cycle that
// the class allows, cycles of classes that imply it included. Where ww and wr
// alone give a cycle, those without two rw in a row are only closed walks.
func lengths(s small) (byComponent map[int]map[class]int, plainWalks map[int]bool) {
	m := s.full(true, true)
	component := matrixComponents(m)
	byComponent, plainWalks = map[int]map[class]int{}, map[int]bool{}
	for l := plain; l < levels; l++ {
		order := Rel(0)
		if l >= process {
			order = Process
		}
		restricted := s.full(l >= process, l == realtime)
		for b := g0; b < bases; b++ {
			w := walk{d: relWW | order}
			must := relWW
			if b > g0 {
				w.d |= relWR
				must = relWR
			}
			switch b {
			case gSingleItem, gNonadjacentItem, g2Item:
				must, w.r = RW, RW
			case gSingle, gNonadjacent, g2:
				must, w.r = relRW, relRW
			}
			switch b {
			case g1c:
				must |= relWW
			case gNonadjacent, gNonadjacentItem:
				w.apart = true
			case g2, g2Item:
				w.d |= w.r
			}
			d := distances(restricted, w)
			for u := range restricted {
				for v := range restricted {
					if restricted[u][v]&must == 0 {
						continue
					}
					way := d[v<<w.shift()|int(w.shift())][u<<w.shift()]
					if way >= far {
						continue
					}
					at := component[u]
					if byComponent[at] == nil {
						byComponent[at] = map[class]int{}
					}
					c := classOf(l, b)
					if was, ok := byComponent[at][c]; !ok || way+1 < was {
						byComponent[at][c] = way + 1
					}
					if b == g1c {
						plainWalks[at] = true
					}
				}
			}
		}
	}
	return byComponent, plainWalks
}

func TestSearchAgreesWithDistances(t *testing.T) {
	for range 3 {
		rapid.Check(t, func(t *rapid.T) {
			s := medium(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 9)))
			report := s.builder().Graph().Search(context.Background(), Options{})
			if report.Unfinished != "" {
				t.Fatalf("%s", report.Unfinished)
			}
			m := s.full(true, true)
			component := matrixComponents(m)
			got := map[int]map[string]int{}
			for _, c := range report.Cycles {
				checkCycle(t, m, c)
				at := component[c.Steps[0].From]
				if got[at] == nil {
					got[at] = map[string]int{}
				}
				got[at][c.Class] = len(c.Steps)
			}
			exists, cyclic := lengths(s)
			for at, classes := range exists {
				for c, length := range classes {
					alone := true
					for other := range classes {
						alone = alone && (other == c || !other.implies().has(c))
					}
					if b := c.base(); !alone || cyclic[at] && b > gSingle {
						continue
					}
					if got[at][c.String()] != length {
						t.Fatalf("%s of length %d exists at %d, got %v, in %v", c, length, at, got[at], s)
					}
				}
			}
		})
	}
}

// medium is a graph of some tens of transactions in which most follows time.
func medium(rng *rand.Rand) small {
	n := 8 + rng.IntN(20)
	s := small{n: n, timed: rng.IntN(2) == 0, rel: make([][]Rel, n), call: make([]int32, n), ret: make([]int32, n)}
	length := 1 + rng.IntN(20)
	for i := range n {
		s.rel[i] = make([]Rel, n)
		s.call[i] = int32(2 * i)
		s.ret[i] = int32(2*i + 1 + rng.IntN(length))
	}
	back := rng.IntN(40) // one in so many leads back
	edges := rng.IntN(4 * n)
	for range edges {
		i, j := rng.IntN(n), rng.IntN(n)
		if i == j {
			continue
		}
		r := []Rel{WW, WR, WW, WRP, WWP, RW, RW, RWP, Process}[rng.IntN(9)]
		switch {
		case r&relRW != 0 && rng.IntN(3) > 0:
		case r == Process && i > j, i > j && rng.IntN(back+1) > 0:
			i, j = j, i
		}
		s.rel[i][j] |= r
	}
	return s
}
