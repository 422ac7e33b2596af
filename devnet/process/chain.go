package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jepgo/jepgo/devnet/ask"
)

// Height is the node's newest block, by its JSON-RPC.
func (n *Network) Height(ctx context.Context, name string) (uint64, error) {
	p := n.plans[name]
	if p == nil {
		return 0, fmt.Errorf("node %q: no such node", name)
	}
	return ask.Height(ctx, p.node.HTTP)
}

// Power is the voting power of every node as the file has it, 1 where it says
// nothing.
func (n *Network) Power(context.Context) (map[string]int64, error) {
	power := make(map[string]int64, len(n.plans))
	for name, p := range n.plans {
		power[name] = p.power
	}
	return power, nil
}

// askBound is for one question to one node: a paused one accepts and never answers.
const askBound = 2 * time.Second

// Proposer is the node whose turn it is to propose the block that is being agreed
// on, as the first node that answers sees it: another one's turn comes when the
// round ends. It is for networks of which every node has the RPC of a CometBFT: see
// File.Serves.
func (n *Network) Proposer(ctx context.Context) (string, error) {
	errs := []error{errors.New("no node says who proposes")}
	for _, node := range n.nodes {
		if _, up := n.group.Identity(node.Name); !up || node.Comet == "" {
			continue
		}
		once, cancel := context.WithTimeout(ctx, askBound)
		address, err := ask.Proposer(once, node.Comet)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", node.Name, err))
			continue
		}
		n.mu.Lock()
		name, known := n.validators[address]
		n.mu.Unlock()
		if !known {
			return "", fmt.Errorf("node %s: proposer %q is the validator of no node here", node.Name, address)
		}
		return name, nil
	}
	return "", errors.Join(errs...)
}
