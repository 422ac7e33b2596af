package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func nodeNames(n int) []string {
	var nodes []string
	for i := range n {
		nodes = append(nodes, fmt.Sprintf("n%d", i+1))
	}
	return nodes
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// drawn is a network, a grudge on it, and which kind it is.
type drawn struct {
	nodes []string
	kind  grudgeKind
	seed  uint64
	g     Grudge
	side  []string
}

func drawGrudge(t *testing.T, r *rand.Rand) drawn {
	// Whether a side of some voting power exists depends on the powers: those kinds
	// have tests of their own.
	kinds := slices.DeleteFunc(grudgeKinds(), func(k grudgeKind) bool {
		return strings.Contains(k.name, "under-") || strings.Contains(k.name, "over-")
	})
	return drawGrudgeOf(t, r, pick(r, kinds))
}

// sceneOf is a network of equal powers.
func sceneOf(nodes []string) scene {
	s := scene{nodes: nodes, power: map[string]int64{}, proposer: nodes[len(nodes)/2]}
	for _, n := range nodes {
		s.power[n] = 1
	}
	return s
}

func grudgeNamed(name string) (grudgeKind, error) {
	for _, k := range grudgeKinds() {
		if k.name == name {
			return k, nil
		}
	}
	return grudgeKind{}, fmt.Errorf("no grudge %q", name)
}

func drawGrudgeOf(t *testing.T, r *rand.Rand, kind grudgeKind) drawn {
	d := drawn{
		nodes: nodeNames(fromTo(r, kind.min, 25)),
		kind:  kind,
		seed:  r.Uint64(),
	}
	var err error
	if d.g, d.side, err = kind.draw(sceneOf(d.nodes), seeded(d.seed)); err != nil {
		t.Fatal(err)
	}
	return d
}

// hears lists whom a node hears, itself included, in the order of the nodes.
func (d drawn) hears(to string) []string {
	return slices.DeleteFunc(slices.Clone(d.nodes), func(from string) bool { return slices.Contains(d.g[to], from) })
}

func TestGrudgeIsWellFormed(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		d := drawGrudge(t, r)
		for to, from := range d.g {
			if !slices.Contains(d.nodes, to) || len(from) == 0 {
				t.Fatalf("entry %s → %v: unknown node or nobody cut", to, from)
			}
			if slices.Contains(from, to) {
				t.Fatalf("%s does not hear itself", to)
			}
			if !slices.IsSortedFunc(from, func(a, b string) int { return slices.Index(d.nodes, a) - slices.Index(d.nodes, b) }) {
				t.Fatalf("%s: %v is not in the order of the nodes", to, from)
			}
			for _, f := range from {
				if !slices.Contains(d.nodes, f) {
					t.Fatalf("%s is no node", f)
				}
			}
		}
		edges := d.g.edges(d.nodes)
		if len(edges) == 0 {
			t.Fatal("cuts nothing")
		}
		sum := 0
		for _, from := range d.g {
			sum += len(from)
		}
		if len(edges) != sum {
			t.Fatalf("%d edges for %d entries", len(edges), sum)
		}
		for _, e := range edges {
			if !slices.Contains(d.g[e.To], e.From) {
				t.Fatalf("edge %s is not in the grudge", e)
			}
		}
	})
}

func TestGrudgeFollowsFromTheSeed(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		d := drawGrudge(t, r)
		if again, _, _ := d.kind.draw(sceneOf(d.nodes), seeded(d.seed)); !reflect.DeepEqual(d.g, again) {
			t.Fatalf("%v, then %v", d.g, again)
		}
	})
	// The seed must matter, too.
	for _, kind := range grudgeKinds() {
		different := map[string]bool{}
		for seed := range uint64(50) {
			g, _, _ := kind.draw(sceneOf(nodeNames(7)), seeded(seed))
			different[fmt.Sprint(g)] = true
		}
		if len(different) < 3 && kind.name != "proposer" {
			t.Errorf("%s: %d different grudges from 50 seeds", kind.name, len(different))
		}
	}
}

// TestSplits holds the kinds that make two sides: who is on which side, and how
// large the smaller one is.
func TestSplits(t *testing.T) {
	smaller := map[string]func(n int) int{
		"halves":         func(n int) int { return n / 2 },
		"one":            func(int) int { return 1 },
		"majority":       minorityOf,
		"minority-third": underThird,
	}
	for name, size := range smaller {
		kind, err := grudgeNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		property(t, func(t *testing.T, r *rand.Rand) {
			d := drawGrudgeOf(t, r, kind)
			side := d.hears(d.nodes[0])
			for _, n := range d.nodes {
				same := slices.Equal(d.hears(n), side)
				if same != slices.Contains(side, n) {
					t.Fatalf("%s hears %v, but %s hears %v", d.nodes[0], side, n, d.hears(n))
				}
				if !same && len(d.hears(n)) != len(d.nodes)-len(side) {
					t.Fatalf("%s hears %v", n, d.hears(n))
				}
			}
			want := size(len(d.nodes))
			if got := min(len(side), len(d.nodes)-len(side)); got != want || want == 0 {
				t.Fatalf("%s of %d nodes: smaller side has %d, want %d", name, len(d.nodes), got, want)
			}
		})
	}
}

func TestMajoritiesRing(t *testing.T) {
	kind, err := grudgeNamed("majorities-ring")
	if err != nil {
		t.Fatal(err)
	}
	property(t, func(t *testing.T, r *rand.Rand) {
		d := drawGrudgeOf(t, r, kind)
		seen := map[string]string{}
		for _, n := range d.nodes {
			hears := d.hears(n)
			if 2*len(hears) <= len(d.nodes) {
				t.Fatalf("%s hears only %v", n, hears)
			}
			if len(d.nodes) <= 5 && len(hears) != majorityOf(len(d.nodes)) {
				t.Fatalf("%s hears %v: not exactly a majority", n, hears)
			}
			key := fmt.Sprint(hears)
			if other, taken := seen[key]; taken {
				t.Fatalf("%s and %s hear the same: %v", n, other, hears)
			}
			seen[key] = n
		}
	})
	// With five nodes at most it is a ring of links that work both ways where a
	// majority is odd; beyond, links drawn at random that always do.
	for _, n := range []int{4, 5, 7, 10} {
		for seed := range uint64(20) {
			g, _, _ := kind.draw(sceneOf(nodeNames(n)), seeded(seed))
			for _, e := range g.edges(nodeNames(n)) {
				if !slices.Contains(g[e.From], e.To) {
					t.Fatalf("%d nodes, seed %d: %s is cut, but not the way back", n, seed, e)
				}
			}
		}
	}
}

func TestBridge(t *testing.T) {
	kind, err := grudgeNamed("bridge")
	if err != nil {
		t.Fatal(err)
	}
	property(t, func(t *testing.T, r *rand.Rand) {
		d := drawGrudgeOf(t, r, kind)
		var bridges []string
		for _, n := range d.nodes {
			heardByAll := !slices.ContainsFunc(d.nodes, func(to string) bool { return slices.Contains(d.g[to], n) })
			if len(d.g[n]) == 0 && heardByAll {
				bridges = append(bridges, n)
			}
		}
		if len(bridges) != 1 {
			t.Fatalf("bridges: %v", bridges)
		}
		var sizes []int
		for _, n := range d.nodes {
			if n != bridges[0] {
				sizes = append(sizes, len(d.hears(n))-1) // its own half without the bridge
			}
		}
		rest := len(d.nodes) - 1
		for _, s := range sizes {
			if s != rest/2 && s != rest-rest/2 {
				t.Fatalf("a half of %d among %d", s, rest)
			}
		}
	})
}

func TestTargets(t *testing.T) {
	for _, kind := range targetKinds() {
		if kind.role != nil {
			continue
		}
		property(t, func(t *testing.T, r *rand.Rand) {
			nodes := nodeNames(fromTo(r, kind.min, 20))
			seed := r.Uint64()
			chosen, err := targets{kind: &kind}.draw(context.Background(), Net{}, nodes, seeded(seed))
			if err != nil {
				t.Fatal(err)
			}
			again, _ := targets{kind: &kind}.draw(context.Background(), Net{}, nodes, seeded(seed))
			if !slices.Equal(chosen, again) {
				t.Fatalf("%v, then %v", chosen, again)
			}
			n, k := len(nodes), len(chosen)
			ok := map[string]bool{
				"one":            k == 1,
				"minority-third": 3*k < n && 3*(k+1) >= n,
				"minority":       2*k < n && 2*(k+1) >= n,
				"majority":       2*k > n && 2*(k-1) <= n,
				"all":            k == n,
				"subset":         k <= n,
			}[kind.name]
			if !ok || k == 0 {
				t.Fatalf("%s chose %d of %d", kind.name, k, n)
			}
		})
	}
}

// TestDefaultTargetsAreMostlyFew holds what the weights are for.
func TestDefaultTargetsAreMostlyFew(t *testing.T) {
	counts := map[int]int{}
	for seed := range uint64(2000) {
		chosen, err := targets{}.draw(context.Background(), Net{}, nodeNames(4), seeded(seed))
		if err != nil {
			t.Fatal(err)
		}
		counts[len(chosen)]++
	}
	for k := 1; k <= 4; k++ {
		if counts[k] == 0 {
			t.Errorf("never %d of 4", k)
		}
	}
	if counts[1] < 1200 {
		t.Errorf("one of 4 only %d times of 2000", counts[1])
	}
}

func TestGrudgeInWords(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4"}
	for want, g := range map[string]Grudge{
		"n1 n2 | n3 n4": split(nodes, []string{"n3", "n4"}),
		"n1 | n2 n3 n4": split(nodes, []string{"n1"}),
		"n1 n2 n3 n4":   {},
		"links cut: 1":  {"n1": {"n2"}},
	} {
		if got := g.describe(nodes); got != want {
			t.Errorf("%v is %q, want %q", g, got, want)
		}
	}
	// Each of four hears three and is deaf to one, so no groups can be named.
	ring := exactRing(nodes, nodes)
	if got, want := ring.describe(nodes), fmt.Sprintf("links cut: %d", len(ring.edges(nodes))); got != want {
		t.Errorf("the ring is %q, want %q", got, want)
	}
}
