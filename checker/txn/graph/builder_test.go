package graph

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBuilder(t *testing.T) {
	b := NewBuilder(3)
	b.Add(1, 1, WW)          // to itself
	b.Add(0, 3, WW)          // to a node that is not there
	b.Add(7, 0, WW)          // from one
	b.Add(0, 2, WW)          // twice, for
	b.Add(0, 2, RW)          // two reasons
	b.Add(0, 1, WR)          // later, to a smaller node
	b.Add(0, 1, Realtime)    // comes from Times alone
	b.Times(nil, []int32{1}) // not as many as nodes
	b.Processes([]int32{4, 4, 4, 4}, []uint32{2, 1, 9})
	g := b.Graph()
	want := map[[2]uint32]Rel{{0, 1}: WR, {0, 2}: WW | RW, {2, 1}: Process}
	got := map[[2]uint32]Rel{}
	for i := range uint32(4) {
		for j := range uint32(4) {
			if r := g.Rel(i, j); r != 0 {
				got[[2]uint32{i, j}] = r
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if report := NewBuilder(-1).Graph().Search(context.Background(), Options{}); report.Components != 0 || report.Unfinished != "" {
		t.Errorf("an empty graph gives %+v", report)
	}
}

// More edges than fit in a block, in rows long and short.
func TestBuilderHoldsWhatIsAdded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 300
	want := map[[2]uint32]Rel{}
	b := NewBuilder(n)
	for range 3 * chunk {
		from, to := uint32(rng.IntN(n)), uint32(rng.IntN(n))
		if rng.IntN(2) == 0 {
			from = from % 8 * (from % 7)
		}
		r := Rel(1) << rng.IntN(7)
		b.Add(from, to, r)
		if from != to {
			want[[2]uint32{from, to}] |= r
		}
	}
	g := b.Graph()
	edges := 0
	for v := range uint32(n) {
		row := g.to[g.off[v]:g.off[v+1]]
		edges += len(row)
		if !slices.IsSorted(row) {
			t.Fatalf("row %d is not sorted", v)
		}
		for i, to := range row {
			if r := g.rel[g.off[v]+uint32(i)]; r != want[[2]uint32{v, to}] {
				t.Fatalf("%d to %d is %s, want %s", v, to, r, want[[2]uint32{v, to}])
			}
		}
	}
	if edges != len(want) {
		t.Fatalf("%d edges, want %d", edges, len(want))
	}
}
