package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/jepgo/jepgo/devnet/ask"
)

// askTimeout bounds one question to a node; a paused one accepts and never
// answers.
const askTimeout = 2 * time.Second

// pollPeriod is how often a condition is looked at.
const pollPeriod = 50 * time.Millisecond

// Ready waits until a running node answers RPC and has caught up, so that it
// votes again: CometBFT has left its catch-up mode and geth's head is the block
// that CometBFT has. It fails at once when the process ends. It needs a network
// that lets the node catch up; ctx is the bound.
func (n *Network) Ready(ctx context.Context, name string) error {
	node, err := n.find(name)
	if err != nil {
		return err
	}
	return n.group.Poll(ctx, name, "is not ready", func(ctx context.Context) error {
		comet, err := ask.Comet(ctx, node.Comet)
		if err != nil {
			return err
		}
		if comet.CatchingUp {
			return fmt.Errorf("catches up at height %d", comet.Height)
		}
		if _, err := ask.Height(ctx, node.HTTP); err != nil {
			return err
		}
		// A planted bug may lie over HTTP, never over WebSocket.
		height, err := ask.Height(ctx, node.WS)
		if err != nil {
			return err
		}
		if height < comet.Height {
			return fmt.Errorf("geth is at height %d, consensus at %d", height, comet.Height)
		}
		return nil
	})
}

// WaitBlock waits until every node has served the block of that height, and
// fails at once when a process ends.
func (n *Network) WaitBlock(ctx context.Context, height uint64) error {
	for _, node := range n.nodes {
		err := n.group.Poll(ctx, node.Name, fmt.Sprintf("has no block %d", height), func(ctx context.Context) error {
			have, err := ask.Height(ctx, node.HTTP)
			if err == nil && have < height {
				err = fmt.Errorf("is at height %d", have)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitBlocks waits until all nodes are ready and have made a block together:
// block 1, or on old data the next after what they had.
func (n *Network) awaitBlocks(ctx context.Context) error {
	var had uint64
	if n.old {
		for _, node := range n.nodes {
			err := n.group.Poll(ctx, node.Name, "does not answer", func(ctx context.Context) error {
				height, err := ask.Height(ctx, node.HTTP)
				had = max(had, height)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if err := n.WaitBlock(ctx, had+1); err != nil {
		return err
	}
	for _, node := range n.nodes {
		if err := n.Ready(ctx, node.Name); err != nil {
			return err
		}
	}
	return nil
}
