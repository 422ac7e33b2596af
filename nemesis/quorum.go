package nemesis

import (
	"context"
	"fmt"
)

// underThirdOfPower drops nodes from the end until the rest have less than a
// third of the voting power: what a BFT chain must survive.
func underThirdOfPower(ctx context.Context, net Net, nodes []string) ([]string, error) {
	power, err := powerOf(ctx, net)
	if err != nil {
		return nil, err
	}
	var total, hit int64
	for _, p := range power {
		total += p
	}
	var kept []string
	for _, n := range nodes {
		if 3*(hit+power[n]) < total {
			hit += power[n]
			kept = append(kept, n)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("quorum safe: each of %s alone has a third of the voting power or more", list(nodes))
	}
	return kept, nil
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
