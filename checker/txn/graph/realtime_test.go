package graph

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestClockIsRealTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		far := rapid.SampledFrom([]int32{30, Never}).Draw(t, "far") // dense or not
		at := rapid.OneOf(rapid.Int32Range(-2, 30), rapid.Int32Range(-2, far))
		call, ret := make([]int32, n), make([]int32, n)
		for i := range n {
			call[i], ret[i] = at.Draw(t, "call"), at.Draw(t, "ret")
			if rapid.IntRange(0, 5).Draw(t, "doubt") == 0 {
				ret[i] = Never
			}
		}
		c := clock{rank: make([]uint32, 3), place: []uint32{9}} // reused
		c.set(call, ret)
		c.index()
		for a := range n {
			for b := range n {
				before := call[b] >= 0 && call[b] <= ret[b] && ret[a] < call[b] && a != b
				if got := c.precedes(uint32(a), uint32(b)); got != before {
					t.Fatalf("%d precedes %d: %v, want %v, with %v and %v", a, b, got, before, call, ret)
				}
				behind := slices.Contains(c.order[c.rank[a]:], uint32(b))
				if behind != before {
					t.Fatalf("%d is behind the barrier of %d: %v, want %v", b, a, behind, before)
				}
			}
		}
	})
}

// Real time alone is never a cycle, however odd the times.
func TestRealTimeHasNoCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		times := rapid.SliceOfN(rapid.Int32Range(-2, 20), n, n)
		b := NewBuilder(n)
		b.Times(times.Draw(t, "call"), times.Draw(t, "ret"))
		report := b.Graph().Search(context.Background(), Options{})
		if report.Components != 0 {
			t.Fatalf("%d components without an edge", report.Components)
		}
	})
}
