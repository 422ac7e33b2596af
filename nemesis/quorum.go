package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// underThirdOfPower drops nodes from the end until the rest, together with the
// nodes that do not run anyway, have less than a third of the voting power: what
// a BFT chain must survive.
func underThirdOfPower(ctx context.Context, net Net, nodes []string) ([]string, error) {
	power, err := powerOf(ctx, net)
	if err != nil {
		return nil, err
	}
	away := away(net)
	hit, total := powerIn(away, power), powerIn(net.Nodes, power)
	var kept []string
	for _, n := range nodes {
		p := power[n]
		if slices.Contains(away, n) {
			p = 0 // counted already
		}
		if 3*(hit+p) < total {
			hit += p
			kept = append(kept, n)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("quorum safe: with any of %s a third of the voting power or more would be away (%s not running)", list(nodes), orNobody(away))
	}
	return kept, nil
}

// away lists the nodes that do not run, by whatever cause: they count against
// what may be hit.
func away(net Net) []string {
	if net.Processes == nil {
		return nil
	}
	up := names(running(net))
	return slices.DeleteFunc(slices.Clone(net.Nodes), func(n string) bool { return slices.Contains(up, n) })
}

func orNobody(nodes []string) string {
	if len(nodes) == 0 {
		return "nobody"
	}
	return list(nodes)
}

func powerIn(nodes []string, power map[string]int64) (sum int64) {
	for _, n := range nodes {
		sum += power[n]
	}
	return sum
}

// powerOf is the voting power of each node; 1 each where the chain has no other.
func powerOf(ctx context.Context, net Net) (map[string]int64, error) {
	if net.Chain != nil {
		power, err := net.Chain.Power(ctx)
		if err != nil {
			return nil, fmt.Errorf("voting power: %w", err)
		}
		return power, nil
	}
	power := make(map[string]int64, len(net.Nodes))
	for _, n := range net.Nodes {
		power[n] = 1
	}
	return power, nil
}

// sparesQuorum says why a grudge leaves no quorum: it does when some nodes with
// over two thirds of the voting power still hear each other, all of them and both
// ways. Those that have to be left out for that, the ones away among them, hold
// less than a third.
func sparesQuorum(g Grudge, nodes, away []string, power map[string]int64) error {
	there := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(away, n) })
	total := powerIn(nodes, power)
	if out := powerIn(away, power) + cutOff(g, there, power); 3*out >= total {
		return fmt.Errorf("quorum safe: the cut leaves out %d of %d of the voting power, a third or more", out, total)
	}
	return nil
}

// cutOff is the least voting power that has to be left out so that the rest hear
// each other: the weight of the least vertex cover of the cut links. Exponential
// in the number of cut nodes in the worst case, by a factor of 1.4 each, which is
// nothing for the tens of nodes that links can have.
func cutOff(g Grudge, nodes []string, power map[string]int64) int64 {
	cut := make(map[string][]string) // both ways
	for _, e := range g.edges(nodes) {
		if !slices.Contains(nodes, e.From) {
			continue
		}
		if !slices.Contains(cut[e.From], e.To) {
			cut[e.From] = append(cut[e.From], e.To)
			cut[e.To] = append(cut[e.To], e.From)
		}
	}
	out := make(map[string]bool)
	var least func() int64
	least = func() int64 {
		// The node with the most cut links that are still there: either it is out,
		// or all at the other ends are.
		worst, most := "", 0
		var left []string
		for _, n := range nodes {
			if out[n] {
				continue
			}
			open := slices.DeleteFunc(slices.Clone(cut[n]), func(o string) bool { return out[o] })
			if len(open) > most {
				worst, most, left = n, len(open), open
			}
		}
		if most == 0 {
			return 0
		}
		out[worst] = true
		with := power[worst] + least()
		out[worst] = false
		var without int64
		for _, o := range left {
			out[o] = true
			without += power[o]
		}
		without += least()
		for _, o := range left {
			out[o] = false
		}
		return min(with, without)
	}
	return least()
}

// maySpareQuorum reports whether any of many draws spares the quorum of n nodes
// of equal power, which is all that is known before there is a network.
func (k grudgeKind) maySpareQuorum(n int) bool {
	s := scene{power: make(map[string]int64)}
	for i := range n {
		name := "n" + strconv.Itoa(i+1)
		s.nodes, s.power[name] = append(s.nodes, name), 1
	}
	s.proposer = s.nodes[0]
	for seed := range uint64(planTries) {
		g, _, err := k.draw(s, rand.New(rand.NewPCG(seed, 0)))
		if err == nil && sparesQuorum(g, s.nodes, nil, s.power) == nil {
			return true
		}
	}
	return false
}

// Quorums describes what --quorum takes, for help.
func Quorums() string {
	return "--quorum any (the default) sets no limit to whom a fault hits: it may stop the chain, which is worth testing.\n" +
		"--quorum safe hits less than a third of the voting power at a time, nodes that are cut off or do not run anyway included, so that a BFT chain must go on. " +
		"A fault whose targets are fixed and more than that is refused."
}
