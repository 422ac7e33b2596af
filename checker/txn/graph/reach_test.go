package graph

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReachIsReachability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(2, 40).Draw(t, "n")
		b := random(n, rng.IntN(3*n), []Rel{WW, WR, RW}, rng)
		call, ret := make([]int32, n), make([]int32, n)
		for i := range n {
			call[i] = int32(rng.IntN(4 * n))
			ret[i] = call[i] + int32(rng.IntN(n))
		}
		b.Times(call, ret)
		g := b.Graph()
		v := g.view
		v.clock.set(g.call, g.ret)
		w := walk{d: relWW | relWR, rt: rapid.Bool().Draw(t, "rt")}
		var tj tarjan
		zone, _ := tj.components(&v, w, nil, nil)
		m := make([][]Rel, n)
		for i := range m {
			m[i] = make([]Rel, n)
			for j := range m {
				m[i][j] = v.edge(uint32(i), uint32(j)) & w.d
				if w.rt && g.before(uint32(i), uint32(j)) {
					m[i][j] |= Realtime
				}
			}
		}
		reaches := closure(m)
		// Some batches of questions with the answer no, and perhaps one with yes.
		var edges []Step
		var yes []Step
		for range 2000 {
			e := Step{From: uint32(rng.IntN(n)), To: uint32(rng.IntN(n)), Rel: RW}
			if zone[e.To] > zone[e.From] {
				continue
			} else if reaches[e.To][e.From] {
				yes = append(yes, e)
			} else {
				edges = append(edges, e)
			}
		}
		anyReaches := len(yes) > 0 && rapid.Bool().Draw(t, "yes")
		if anyReaches {
			edges = slices.Insert(edges, rng.IntN(len(edges)+1), yes[0])
		}
		var r reach
		for range 2 { // reused
			hit, found, decided := r.any(&v, &route{walk: w, zone: zone}, edges, 1<<40, context.Background())
			if !decided || found != anyReaches || found && !reaches[hit.To][hit.From] {
				t.Fatalf("got %v %v %v, want %v", hit, found, decided, anyReaches)
			}
		}
	})
}
