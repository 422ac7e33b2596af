package graph

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// store simulates transactions on a few keys, each of which reads two keys and
// writes one, in the order of their numbers, with some clients at once.
type store struct {
	n, clients int
	// stale is how often a read sees an older version, and lag how many versions
	// older at most.
	stale float64
	lag   int
	// skew is how often two neighbours each miss the other's write.
	skew float64
	// ago makes the last transaction read what the first overwrote.
	ago bool
}

func (s store) builder(rng *rand.Rand) *Builder {
	b := NewBuilder(s.n)
	call, ret := make([]int32, s.n), make([]int32, s.n)
	proc := make([]int32, s.n)
	// Client i%clients runs transaction i: it begins up to a round before, and
	// ends before its next one begins.
	for i := range s.n {
		at := int32(4 * i)
		call[i] = max(0, at-int32(rng.IntN(2*s.clients)))
		ret[i] = at + 1 + int32(rng.IntN(2*s.clients))
		proc[i] = int32(i % s.clients)
	}
	b.Times(call, ret)
	b.Processes(proc, nil)
	const keys = 16
	versions := make([][]uint32, keys)  // writers
	readers := make([][][]uint32, keys) // of each version
	for i := range uint32(s.n) {
		for range 2 {
			k := rng.IntN(keys)
			v := len(versions[k]) - 1
			if v > 0 && rng.Float64() < s.stale {
				v = max(0, v-1-rng.IntN(s.lag))
			}
			if v < 0 {
				continue
			}
			b.Add(versions[k][v], i, WR)
			if v+1 < len(versions[k]) {
				b.Add(i, versions[k][v+1], RW)
			} else {
				readers[k][v] = append(readers[k][v], i)
			}
		}
		k := rng.IntN(keys)
		if v := len(versions[k]) - 1; v >= 0 {
			b.Add(versions[k][v], i, WW)
			for _, r := range readers[k][v] {
				b.Add(r, i, RW)
			}
			readers[k][v] = nil
		}
		versions[k] = append(versions[k], i)
		readers[k] = append(readers[k], nil)
		if i > 0 && rng.Float64() < s.skew {
			b.Add(i, i-1, RW)
			b.Add(i-1, i, RW)
		}
	}
	if s.ago {
		b.Add(uint32(s.n-1), 0, RW)
	}
	return b
}

func random(n, edges int, rels []Rel, rng *rand.Rand) *Builder {
	b := NewBuilder(n)
	for range edges {
		b.Add(uint32(rng.IntN(n)), uint32(rng.IntN(n)), rels[rng.IntN(len(rels))])
	}
	return b
}

// ordered is a graph whose ww and wr follow the numbers, so that each cycle needs
// a rw; a rw leads back by no more than reach.
func ordered(n, edges, back int, rng *rand.Rand) *Builder {
	b := NewBuilder(n)
	for range edges {
		i, j := uint32(rng.IntN(n)), uint32(rng.IntN(n))
		if i > j {
			i, j = j, i
		}
		switch rng.IntN(4) {
		case 0, 1:
			b.Add(i, j, WW)
		case 2:
			b.Add(i, j, WR)
		default:
			b.Add(uint32(min(n-1, int(i)+rng.IntN(back))), i, RW)
		}
	}
	return b
}

// separate is a graph of two halves with rw between them, from the end of either
// to the start of the other, and everything else within: each cycle has two rw.
func separate(n, edges int, rng *rand.Rand) *Builder {
	b := NewBuilder(n)
	half := n / 2
	for range edges {
		i, j := rng.IntN(half), rng.IntN(half)
		if i > j {
			i, j = j, i
		}
		switch rng.IntN(3) {
		case 0: // forward in the first half
			b.Add(uint32(i), uint32(j), WW)
		case 1:
			b.Add(uint32(half+i), uint32(half+j), WR)
		default: // from the end of one half to the start of the other
			if rng.IntN(2) == 0 {
				b.Add(uint32(j), uint32(half+i), RW)
			} else {
				b.Add(uint32(half+j), uint32(i), RW)
			}
		}
	}
	return b
}

type benchCase struct {
	name string
	make func(rng *rand.Rand) *Builder
}

var benchCases = []benchCase{
	{"serial-1M", func(r *rand.Rand) *Builder { return store{n: 1_000_000, clients: 20}.builder(r) }},
	{"random-1M-5M", func(r *rand.Rand) *Builder {
		return random(1_000_000, 5_000_000, []Rel{WW, WR, RW}, r)
	}},
	{"serial-100k-long-ago", func(r *rand.Rand) *Builder { return store{n: 100_000, clients: 20, ago: true}.builder(r) }},
	{"stale-100k", func(r *rand.Rand) *Builder { return store{n: 100_000, clients: 20, stale: 0.5, lag: 20}.builder(r) }},
	{"far-stale-100k", func(r *rand.Rand) *Builder { return store{n: 100_000, clients: 20, stale: 0.01, lag: 5000}.builder(r) }},
	{"skew-100k", func(r *rand.Rand) *Builder { return store{n: 100_000, clients: 20, skew: 1}.builder(r) }},
	{"random-100k", func(r *rand.Rand) *Builder {
		return random(100_000, 500_000, []Rel{WW, WR, RW}, r)
	}},
	{"random-rw-100k", func(r *rand.Rand) *Builder { return random(100_000, 500_000, []Rel{RW}, r) }},
	{"random-rwp-100k", func(r *rand.Rand) *Builder { return random(100_000, 500_000, []Rel{RWP}, r) }},
	{"ordered-100k", func(r *rand.Rand) *Builder { return ordered(100_000, 500_000, 1000, r) }},
	{"ordered-far-100k", func(r *rand.Rand) *Builder { return ordered(100_000, 500_000, 100_000, r) }},
	{"separate-100k", func(r *rand.Rand) *Builder { return separate(100_000, 500_000, r) }},
}

func BenchmarkGraph(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var report Report
			var nodes, edges int
			for b.Loop() {
				b.StopTimer()
				builder := c.make(rand.New(rand.NewPCG(1, 2)))
				runtime.GC()
				b.StartTimer()
				g := builder.Graph()
				report = g.Search(context.Background(), Options{})
				nodes, edges = g.n, len(g.to)
			}
			b.ReportMetric(float64(nodes)*float64(b.N)/b.Elapsed().Seconds(), "txns/s")
			b.ReportMetric(float64(edges), "edges")
			b.ReportMetric(float64(report.Largest), "largest")
			b.Logf("%d components, %v %s", report.Components, report.Counts, report.Unfinished)
			if testing.Verbose() {
				for _, c := range report.Cycles {
					fmt.Println(c.Class, len(c.Steps))
				}
			}
		})
	}
}
