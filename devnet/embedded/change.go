package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
)

// Changes names the ways in which a node's flags can be set wrong.
func (n *Network) Changes() []string {
	var names []string
	for _, c := range validator.Changes() {
		names = append(names, c.Name)
	}
	return names
}

// Change makes the node start with changed flags from its next start on; ""
// makes them the usual ones again.
func (n *Network) Change(name, change string) error {
	node, err := n.find(name)
	if err != nil {
		return err
	}
	if change != "" && !slices.Contains(n.Changes(), change) {
		return fmt.Errorf("change %q: unknown, expected one of %s", change, strings.Join(n.Changes(), ", "))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	cfg := n.config(slices.Index(n.state.Names, node.Name))
	cfg.Change = change
	return writeJSON(configPath(n.dir, name), cfg)
}

// fewPeersWatch is how long a node must be seen with one peer at most: it and
// the others dial every half second, and all others are its peers well within
// that time where its flags allow it.
const fewPeersWatch = 3 * time.Second

// SeeChange asks the node over RPC how it runs and returns what it showed; an
// error says that this is not how it was to run. A limit of peers cannot be asked
// for, so it is watched for 3 seconds.
func (n *Network) SeeChange(ctx context.Context, name, change string) (devnet.Running, error) {
	seen := devnet.Running{Others: n.othersOf(name)}
	node, err := n.find(name)
	if err != nil {
		return seen, err
	}
	client, err := rpc.DialContext(ctx, node.HTTP)
	if err != nil {
		return seen, err
	}
	defer client.Close()
	var modules map[string]string
	if err := client.CallContext(ctx, &modules, "rpc_modules"); err != nil {
		return seen, fmt.Errorf("node %s: rpc_modules: %w", name, err)
	}
	seen.APIs = slices.Sorted(maps.Keys(modules))
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for begun := time.Now(); ; {
		var peers hexutil.Uint64
		if err := client.CallContext(ctx, &peers, "net_peerCount"); err != nil {
			return seen, fmt.Errorf("node %s: net_peerCount: %w", name, err)
		}
		seen.Peers, seen.MostPeers, seen.Watched = int(peers), max(seen.MostPeers, int(peers)), time.Since(begun)
		if err := differs(seen, change); err != nil {
			return seen, fmt.Errorf("node %s: %w", name, err)
		}
		if change != validator.FewPeers || seen.Watched >= fewPeersWatch {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return seen, fmt.Errorf("node %s: watched its peers for %v only: %w", name, seen.Watched.Round(time.Millisecond), ctx.Err())
		case <-tick.C:
		}
	}
}

// differs says why this is not what the change makes of a node.
func differs(seen devnet.Running, change string) error {
	switch debug := slices.Contains(seen.APIs, "debug"); {
	case (change == validator.FewerAPIs) == debug:
		return fmt.Errorf("serves the namespaces %s", strings.Join(seen.APIs, ", "))
	case change == validator.FewPeers && seen.Others < 2:
		return fmt.Errorf("a limit of one peer cannot be seen with %d other nodes", seen.Others)
	case change == validator.FewPeers && seen.MostPeers > 1:
		return fmt.Errorf("has had %d peers, expected one at most", seen.MostPeers)
	case change == "" && seen.Others > 1 && seen.Peers < 2:
		return fmt.Errorf("has %d peers, and %d other nodes run", seen.Peers, seen.Others)
	}
	return nil
}

// othersOf counts the nodes that run beside that one.
func (n *Network) othersOf(name string) (others int) {
	for _, node := range n.nodes {
		if _, up := n.group.Identity(node.Name); up && node.Name != name {
			others++
		}
	}
	return others
}
