package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/devnet/ask"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
)

// Height is the node's newest block, by its JSON-RPC.
func (n *Network) Height(ctx context.Context, name string) (uint64, error) {
	node, err := n.find(name)
	if err != nil {
		return 0, err
	}
	return ask.Height(ctx, node.HTTP)
}

// Proposer is the node whose turn it is to propose the block that is being
// agreed on, as the first node that answers sees it: another one's turn comes
// when a round fails.
func (n *Network) Proposer(ctx context.Context) (string, error) {
	var errs []error
	for _, node := range n.nodes {
		if _, up := n.group.Identity(node.Name); !up {
			continue
		}
		once, cancel := context.WithTimeout(ctx, askTimeout)
		address, err := ask.Proposer(once, node.Comet)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", node.Name, err))
			continue
		}
		for i, name := range n.state.Names {
			if validator.Address(n.state.Seed, i) == address {
				return name, nil
			}
		}
		return "", fmt.Errorf("node %s: proposer %q is none of %s", node.Name, address, strings.Join(n.state.Names, ", "))
	}
	return "", errors.Join(append(errs, errors.New("no node says who proposes"))...)
}

// Power is the voting power of every node: it is in the genesis, and nothing
// changes it.
func (n *Network) Power(context.Context) (map[string]int64, error) {
	power := make(map[string]int64, len(n.state.Names))
	for _, name := range n.state.Names {
		power[name] = validator.Power
	}
	return power, nil
}
