package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// Grudge says who hears nothing from whom: node → the nodes it hears nothing
// from, in the order of the network. A node that hears everybody has no entry,
// and no node holds a grudge against itself.
type Grudge map[string][]string

// edges lists the directed edges that the grudge cuts, in the order of nodes.
func (g Grudge) edges(nodes []string) []link.Edge {
	var es []link.Edge
	for _, to := range nodes {
		for _, from := range g[to] {
			es = append(es, link.Edge{From: from, To: to})
		}
	}
	return es
}

// value renders the grudge as the :cut of a nemesis op.
func (g Grudge) value(nodes []string) history.Value {
	var kvs []history.Value
	for _, n := range nodes {
		if len(g[n]) > 0 {
			kvs = append(kvs, history.Text(n), history.SetOf(texts(g[n])...))
		}
	}
	return history.MapOf(kvs...)
}

// describe is the grudge in a few words: the groups of nodes that hear exactly
// each other, as "n1 n2 | n3 n4", or how many links are cut where those are none.
func (g Grudge) describe(nodes []string) string {
	hears := func(to, from string) bool { return !slices.Contains(g[to], from) }
	var groups []string
	grouped := make(map[string]bool)
	for _, first := range nodes {
		if grouped[first] {
			continue
		}
		var group []string
		for _, n := range nodes {
			if hears(first, n) {
				group = append(group, n)
			}
		}
		for _, n := range group {
			grouped[n] = true
			for _, other := range nodes {
				if hears(n, other) != slices.Contains(group, other) {
					return fmt.Sprintf("links cut: %d", len(g.edges(nodes)))
				}
			}
		}
		groups = append(groups, strings.Join(group, " "))
	}
	return strings.Join(groups, " | ")
}

func texts(names []string) []history.Value {
	vs := make([]history.Value, len(names))
	for i, n := range names {
		vs[i] = history.Text(n)
	}
	return vs
}

// scene is what a grudge may be drawn from.
type scene struct {
	nodes    []string
	power    map[string]int64 // voting power
	proposer string           // of the next block; "" where the kind does not ask for it
	only     []string         // Net.Only
}

// grudgeKind is one way to split a network.
type grudgeKind struct {
	name   string
	doc    string
	min    int // fewest nodes with which it cuts anything
	weight int // share of the default draw; 0: only when asked for
	// role says that it asks the chain who proposes next.
	role bool
	// draw is pure: the same scene and the same state of rng give the same grudge.
	// It is called with at least min nodes. side is the nodes that it is about,
	// nil where none are special. An error says that the scene allows none.
	draw func(s scene, rng *rand.Rand) (g Grudge, side []string, err error)
	// move says that the cut changes while it is in force, and how; nil: it does
	// not.
	move func(c *cut, side []string, p partitionFault, rng *rand.Rand) Application
}

// grudgeKinds lists the ways to split a network. To add one, add a line.
func grudgeKinds() []grudgeKind {
	return []grudgeKind{
		{name: "halves", doc: "two random halves that do not hear each other", min: 2, weight: 2, draw: plain(halves)},
		{name: "one", doc: "one random node alone", min: 2, weight: 2, draw: oneAlone},
		{name: "majority", doc: "the largest minority (under half) apart from the majority", min: 3, weight: 2, draw: plain(isolate(minorityOf))},
		{name: "minority-third", doc: "the most nodes that are under a third, apart from the rest: what BFT tolerates", min: 4, weight: 2, draw: plain(isolate(underThird))},
		{name: "majorities-ring", doc: "every node hears a majority, no two hear the same one", min: 3, weight: 2, draw: plain(majoritiesRing)},
		{name: "bridge", doc: "two halves that share only one node, which hears and is heard by all", min: 3, weight: 2, draw: plain(bridge)},
		{name: "one-way", doc: "a random side does not hear the other, which hears it", min: 2, weight: 2, draw: plain(oneWay)},
		{name: "flapping", doc: "a random side apart from the rest, cut and healed again and again", min: 2, weight: 2, draw: plain(anySide), move: flap},
		{name: "swizzle", doc: "a random subset, its nodes clogged one by one and unclogged in another order", min: 3, weight: 2, draw: subset, move: swizzle},
		{name: "under-third", doc: "as much voting power as there is under a third, apart from the rest", min: 2, weight: 1, draw: byPower(underThirdOf)},
		{name: "over-third", doc: "the least voting power that is a third or more, so that the rest has no quorum of over two thirds", min: 2, weight: 1, draw: byPower(overThirdOf)},
		{name: "under-half", doc: "as much voting power as there is under a half, apart from the rest", min: 2, weight: 1, draw: byPower(underHalfOf)},
		{name: "over-half", doc: "the least voting power that is a half or more, apart from the rest", min: 2, weight: 1, draw: byPower(overHalfOf)},
		{name: "under-two-thirds", doc: "as much voting power as there is up to two thirds: no quorum; seen from the other side it is over-third", min: 2, draw: byPower(underTwoThirdsOf)},
		{name: "over-two-thirds", doc: "the least voting power over two thirds: a quorum; seen from the other side it is under-third", min: 2, draw: byPower(overTwoThirdsOf)},
		{name: "proposer", doc: "the node that proposes the next block, alone", min: 2, weight: 1, role: true, draw: proposerAlone},
		{name: "non-proposers", doc: "a random node that does not propose the next block, alone", min: 2, role: true, draw: nonProposerAlone},
	}
}

// plain is the draw of a kind that looks at the nodes alone.
func plain(draw func(nodes []string, rng *rand.Rand) Grudge) func(scene, *rand.Rand) (Grudge, []string, error) {
	return func(s scene, rng *rand.Rand) (Grudge, []string, error) { return draw(s.nodes, rng), nil, nil }
}

// majorityOf is the least number of nodes that is more than half.
func majorityOf(n int) int { return n/2 + 1 }

// minorityOf is the largest number of nodes that is under half.
func minorityOf(n int) int { return (n - 1) / 2 }

// underThird is the largest number of nodes that is under a third.
func underThird(n int) int { return (n - 1) / 3 }

func shuffled(nodes []string, rng *rand.Rand) []string {
	s := slices.Clone(nodes)
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// grudgeWhere is the grudge of every node against the others that it does not
// hear.
func grudgeWhere(nodes []string, hears func(to, from string) bool) Grudge {
	g := Grudge{}
	for _, to := range nodes {
		for _, from := range nodes {
			if from != to && !hears(to, from) {
				g[to] = append(g[to], from)
			}
		}
	}
	return g
}

// split keeps side apart from all other nodes.
func split(nodes, side []string) Grudge {
	return grudgeWhere(nodes, func(to, from string) bool {
		return slices.Contains(side, to) == slices.Contains(side, from)
	})
}

func halves(nodes []string, rng *rand.Rand) Grudge {
	return split(nodes, shuffled(nodes, rng)[:len(nodes)/2])
}

func isolate(size func(n int) int) func([]string, *rand.Rand) Grudge {
	return func(nodes []string, rng *rand.Rand) Grudge {
		return split(nodes, shuffled(nodes, rng)[:size(len(nodes))])
	}
}

// anySide keeps a side of random size, at most half, apart from the rest.
func anySide(nodes []string, rng *rand.Rand) Grudge {
	s := shuffled(nodes, rng)
	return split(nodes, s[:1+rng.IntN(len(nodes)/2)])
}

// oneWay cuts one direction of a split.
func oneWay(nodes []string, rng *rand.Rand) Grudge {
	s := shuffled(nodes, rng)
	side := s[:1+rng.IntN(len(nodes)/2)]
	deaf := rng.IntN(2) == 0 // the side, or else the rest
	return grudgeWhere(nodes, func(to, from string) bool {
		within := slices.Contains(side, to)
		return within == slices.Contains(side, from) || within != deaf
	})
}

// oneAlone cuts one node off the rest, or those that it is told to.
func oneAlone(s scene, rng *rand.Rand) (Grudge, []string, error) {
	side := shuffled(s.nodes, rng)[:1]
	if len(s.only) > 0 {
		side = s.only
	}
	return split(s.nodes, side), side, nil
}

// subset cuts each node of a random subset, in a random order, off everybody.
func subset(s scene, rng *rand.Rand) (Grudge, []string, error) {
	side := shuffled(s.nodes, rng)[:2+rng.IntN(len(s.nodes)-2)]
	if len(s.only) > 0 {
		side = s.only // in the order of then
	}
	return grudgeWhere(s.nodes, func(to, from string) bool {
		return !slices.Contains(side, to) && !slices.Contains(side, from)
	}), side, nil
}

func proposerAlone(s scene, _ *rand.Rand) (Grudge, []string, error) {
	side := []string{s.proposer}
	if len(s.only) > 0 {
		side = s.only
	}
	return split(s.nodes, side), side, nil
}

func nonProposerAlone(s scene, rng *rand.Rand) (Grudge, []string, error) {
	others := slices.DeleteFunc(slices.Clone(s.nodes), func(n string) bool { return n == s.proposer })
	side := []string{others[rng.IntN(len(others))]}
	if len(s.only) > 0 {
		side = s.only
	}
	return split(s.nodes, side), side, nil
}

func bridge(nodes []string, rng *rand.Rand) Grudge {
	s := shuffled(nodes, rng)
	middle, rest := s[0], s[1:]
	side := rest[:len(rest)/2]
	return grudgeWhere(nodes, func(to, from string) bool {
		return to == middle || from == middle || slices.Contains(side, to) == slices.Contains(side, from)
	})
}

// ringTries bounds the search for a random ring in which no two nodes hear the
// same majority; failing is rare, and then the exact ring serves.
const ringTries = 32

func majoritiesRing(nodes []string, rng *rand.Rand) Grudge {
	order := shuffled(nodes, rng)
	if len(nodes) > 5 {
		for range ringTries {
			if g, ok := randomRing(nodes, rng); ok {
				return g
			}
		}
	}
	return exactRing(nodes, order)
}

// exactRing seats the nodes in a circle. Each hears the majority of consecutive
// seats in whose middle it sits, and as the windows start at different seats no
// two are the same.
func exactRing(nodes, order []string) Grudge {
	n, m := len(order), majorityOf(len(order))
	seat := make(map[string]int, n)
	for i, name := range order {
		seat[name] = i
	}
	return grudgeWhere(nodes, func(to, from string) bool {
		first := seat[to] - m/2
		return ((seat[from]-first)%n+n)%n < m
	})
}

// randomRing connects the node with the fewest connections to another of the
// fewest until each hears a majority. ok is false when two nodes came to hear
// the same nodes.
func randomRing(nodes []string, rng *rand.Rand) (g Grudge, ok bool) {
	n := len(nodes)
	hears := make([][]bool, n)
	degree := make([]int, n)
	for i := range hears {
		hears[i] = make([]bool, n)
		hears[i][i] = true
		degree[i] = 1
	}
	fewest := func(allowed func(int) bool) int {
		best := -1
		for _, i := range rng.Perm(n) {
			if allowed(i) && (best < 0 || degree[i] < degree[best]) {
				best = i
			}
		}
		return best
	}
	for {
		a := fewest(func(int) bool { return true })
		if degree[a] >= majorityOf(n) {
			break
		}
		b := fewest(func(i int) bool { return !hears[a][i] })
		hears[a][b], hears[b][a] = true, true
		degree[a]++
		degree[b]++
	}
	for i := range n {
		for j := range i {
			if slices.Equal(hears[i], hears[j]) {
				return nil, false
			}
		}
	}
	at := make(map[string]int, n)
	for i, name := range nodes {
		at[name] = i
	}
	return grudgeWhere(nodes, func(to, from string) bool { return hears[at[to]][at[from]] }), true
}

func grudgeNames() []string {
	var ns []string
	for _, k := range grudgeKinds() {
		ns = append(ns, k.name)
	}
	return ns
}
