package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/devnet"
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
	return node.poll(ctx, n.dir, "is not ready", func(ctx context.Context) error {
		comet, err := askComet(ctx, node.Node)
		if err != nil {
			return err
		}
		if comet.catchingUp {
			return fmt.Errorf("catches up at height %d", comet.height)
		}
		if _, err := askHeight(ctx, node.HTTP); err != nil {
			return err
		}
		// A planted bug may lie over HTTP, never over WebSocket.
		height, err := askHeight(ctx, node.WS)
		if err != nil {
			return err
		}
		if height < comet.height {
			return fmt.Errorf("geth is at height %d, consensus at %d", height, comet.height)
		}
		return nil
	})
}

// WaitBlock waits until every node has served the block of that height, and
// fails at once when a process ends.
func (n *Network) WaitBlock(ctx context.Context, height uint64) error {
	for _, node := range n.nodes {
		err := node.poll(ctx, n.dir, fmt.Sprintf("has no block %d", height), func(ctx context.Context) error {
			have, err := askHeight(ctx, node.HTTP)
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
			err := node.poll(ctx, n.dir, "does not answer", func(ctx context.Context) error {
				height, err := askHeight(ctx, node.HTTP)
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

// poll asks until there is no error, as long as the node's process lives and the
// file system of dir, the network's, has room. fault says what is wrong when ctx
// ends.
func (n *node) poll(ctx context.Context, dir, fault string, ask func(context.Context) error) error {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		p := n.process.Load()
		if p == nil {
			return fmt.Errorf("node %s: not running", n.Name)
		}
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(once)
		cancel()
		if err == nil {
			return nil
		}
		if full := n.spent(dir, p); full != nil {
			return fmt.Errorf("%w; last: %w", full, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s: %s: %w; last: %w", n.Name, fault, ctx.Err(), err)
		case <-p.done:
			return n.crashed(p)
		case <-tick.C:
		}
	}
}

// askHeight is the height of the newest block that a node serves at a URL.
func askHeight(ctx context.Context, url string) (uint64, error) {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var height hexutil.Uint64
	if err := client.CallContext(ctx, &height, "eth_blockNumber"); err != nil {
		return 0, err
	}
	return uint64(height), nil
}

// comet is what CometBFT says of itself.
type comet struct {
	height     uint64 // of the newest block in its store
	catchingUp bool
}

func askComet(ctx context.Context, node devnet.Node) (comet, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, node.Comet+"/status", nil)
	if err != nil {
		return comet{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return comet{}, err
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			Sync struct {
				Height     uint64 `json:"latest_block_height,string"`
				CatchingUp *bool  `json:"catching_up"`
			} `json:"sync_info"`
		} `json:"result"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return comet{}, fmt.Errorf("cometbft status: %w", err)
	}
	sync := answer.Result.Sync
	if resp.StatusCode != http.StatusOK || sync.CatchingUp == nil {
		return comet{}, fmt.Errorf("cometbft status: %s without catching_up", resp.Status)
	}
	return comet{height: sync.Height, catchingUp: *sync.CatchingUp}, nil
}
