package nemesis

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet/link"
)

// noLinks are links that are only planned on.
type noLinks struct{ link.Link }

func (noLinks) Features() []link.Support { return link.ProxyFeatures() }

// grudgeOf is what an application of partition cuts.
func grudgeOf(app Application) Grudge {
	switch a := app.(type) {
	case *cut:
		return a.grudge
	case *flapping:
		return a.grudge
	case *swizzling:
		return a.grudge
	}
	return nil
}

func drawPowers(r *rand.Rand) scene {
	s := scene{nodes: nodeNames(fromTo(r, 2, 11)), power: map[string]int64{}}
	for _, n := range s.nodes {
		s.power[n] = fromTo[int64](r, 0, 1e12)
		if coin(r) { // equal powers are what splits hang on
			s.power[n] = fromTo[int64](r, 1, 4)
		}
	}
	return s
}

// subsets calls visit for every set of nodes that is neither empty nor all.
func subsets(nodes []string, visit func(side []string)) {
	for bits := 1; bits < 1<<len(nodes)-1; bits++ {
		var side []string
		for i, n := range nodes {
			if bits>>i&1 == 1 {
				side = append(side, n)
			}
		}
		visit(side)
	}
}

// TestPartitionByPower against every side that there is.
func TestPartitionByPower(t *testing.T) {
	t.Parallel()
	rules := map[string]struct {
		allows func(sum, total int64) bool
		most   bool
	}{
		"under-third":      {func(s, t int64) bool { return 3*s < t }, true},
		"over-third":       {func(s, t int64) bool { return 3*s >= t }, false},
		"under-half":       {func(s, t int64) bool { return 2*s < t }, true},
		"over-half":        {func(s, t int64) bool { return 2*s >= t }, false},
		"under-two-thirds": {func(s, t int64) bool { return 3*s <= 2*t }, true},
		"over-two-thirds":  {func(s, t int64) bool { return 3*s > 2*t }, false},
	}
	for _, kind := range grudgeKinds() {
		rule, ok := rules[kind.name]
		if !ok {
			continue
		}
		delete(rules, kind.name)
		property(t, func(t *testing.T, r *rand.Rand) {
			s := drawPowers(r)
			total := powerIn(s.nodes, s.power)
			best, possible := int64(-1), false
			subsets(s.nodes, func(side []string) {
				p := powerIn(side, s.power)
				if rule.allows(p, total) && (!possible || rule.most && p > best || !rule.most && p < best) {
					best, possible = p, true
				}
			})
			g, side, err := kind.draw(s, seeded(r.Uint64()))
			if (err == nil) != possible {
				t.Fatalf("%s of %v: possible %v, but %v", kind.name, s.power, possible, err)
			}
			if err != nil {
				return
			}
			if got := powerIn(side, s.power); got != best {
				t.Fatalf("%s of %v: %v has %d, the best is %d", kind.name, s.power, side, got, best)
			}
			for _, to := range s.nodes {
				for _, from := range s.nodes {
					apart := slices.Contains(side, to) != slices.Contains(side, from)
					if apart != slices.Contains(g[to], from) {
						t.Fatalf("%s: %v is not split at %v", kind.name, g, side)
					}
				}
			}
		})
	}
	if len(rules) > 0 {
		t.Errorf("no such kinds: %v", rules)
	}
}

// TestPowerOfMany: as many nodes as there may be.
func TestPowerOfMany(t *testing.T) {
	s := sceneOf(nodeNames(32))
	if side := nearest(s.nodes, s.power, underThirdOf); len(side) != 10 {
		t.Errorf("%v", side)
	}
	if side := nearest(s.nodes, s.power, overTwoThirdsOf); len(side) != 22 {
		t.Errorf("%v", side)
	}
}

// TestCutOff against every set of nodes that could be left out.
func TestCutOff(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, r *rand.Rand) {
		s := drawPowers(r)
		g := grudgeWhere(s.nodes, func(_, _ string) bool { return coin(r) })
		heal := func(out []string) bool {
			return !slices.ContainsFunc(g.edges(s.nodes), func(e link.Edge) bool { return !slices.Contains(out, e.From) && !slices.Contains(out, e.To) })
		}
		least := powerIn(s.nodes, s.power)
		if heal(nil) {
			least = 0
		}
		subsets(s.nodes, func(out []string) {
			if heal(out) {
				least = min(least, powerIn(out, s.power))
			}
		})
		if got := cutOff(g, s.nodes, s.power); got != least {
			t.Fatalf("%v of %v leaves out %d, want %d", g, s.power, got, least)
		}
	})
}

// TestQuorumSafePartitions: whatever is drawn, over two thirds of the voting power
// still hear each other.
func TestQuorumSafePartitions(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		s := drawPowers(r)
		net := Net{Nodes: s.nodes, Links: noLinks{}, Quorum: QuorumSafe, Chain: &clockwork{nodes: s.nodes, power: s.power, block: 1e9}, Proposers: &clockwork{nodes: s.nodes, power: s.power, block: 1e9}}
		app, err := partitionFault{}.Plan(t.Context(), net, seeded(r.Uint64()))
		if err != nil {
			if !strings.Contains(err.Error(), "quorum safe") && !strings.Contains(err.Error(), "voting power") {
				t.Fatal(err)
			}
			return
		}
		g := grudgeOf(app)
		if len(g.edges(s.nodes)) == 0 {
			t.Fatalf("cuts nothing: %s", app.Value())
		}
		spared := false
		total := powerIn(s.nodes, s.power)
		subsets(s.nodes, func(rest []string) {
			for _, to := range rest {
				for _, from := range rest {
					if slices.Contains(g[to], from) {
						return
					}
				}
			}
			spared = spared || 3*powerIn(rest, s.power) > 2*total
		})
		if !spared {
			t.Fatalf("no quorum of %v hears each other: %s", s.power, app.Value())
		}
	})
}

// TestQuorumSafeTargets: whatever rule, those hit have less than a third.
func TestQuorumSafeTargets(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		s := drawPowers(r)
		kind := pick(r, targetKinds())
		if kind.min > len(s.nodes) {
			return
		}
		net := Net{Nodes: s.nodes, Quorum: QuorumSafe, Chain: &clockwork{nodes: s.nodes, power: s.power, block: 1e9}, Proposers: &clockwork{nodes: s.nodes, power: s.power, block: 1e9}}
		chosen, err := targets{kind: &kind}.draw(t.Context(), net, s.nodes, seeded(r.Uint64()))
		if err == nil && 3*powerIn(chosen, s.power) >= powerIn(s.nodes, s.power) {
			t.Fatalf("%s chose %v of %v", kind.name, chosen, s.power)
		}
	})
}

func TestQuorumSafeRefuses(t *testing.T) {
	for text, want := range map[string]struct {
		nodes int
		safe  bool
	}{
		"kill:one": {4, true}, "kill": {4, true}, "kill:subset": {4, true}, "kill:proposer": {4, true}, "kill:n2": {4, true},
		"kill:minority-third": {7, true}, "partition": {4, true}, "partition:one": {4, true}, "partition:flapping": {4, true},
		"partition:under-third": {4, true}, "partition:proposer": {4, true}, "partition:swizzle": {7, true}, "partition:one-way": {4, true},
		"partition:over-two-thirds": {4, true},
		"kill:all":                  {4, false}, "kill:majority": {7, false}, "kill:minority": {5, false}, "kill:non-proposers": {4, false},
		"kill:one@height=5": {3, false}, "partition:halves": {4, false}, "partition:majority": {5, false}, "partition:bridge": {5, false},
		"partition:over-third": {4, false}, "partition:under-half": {6, false}, "partition:one+5s": {3, false}, "partition:swizzle+5s": {4, false},
		"partition:majorities-ring": {4, false},
	} {
		r := reach(want.nodes)
		r.Quorum = QuorumSafe
		_, err := Parse(text, r)
		if want.safe && err != nil || !want.safe && (err == nil || !strings.Contains(err.Error(), "quorum safe: with equal voting power")) {
			t.Errorf("%s of %d: %v", text, want.nodes, err)
		}
	}
}
