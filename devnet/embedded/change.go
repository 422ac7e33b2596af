package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

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

// SeeChange asks the node, which must be ready, how it runs, and returns what it
// said; an error says that this is not how it was to run.
func (n *Network) SeeChange(ctx context.Context, name, change string) (seen string, err error) {
	node, err := n.find(name)
	if err != nil {
		return "", err
	}
	client, err := rpc.DialContext(ctx, node.HTTP)
	if err != nil {
		return "", err
	}
	defer client.Close()
	var modules map[string]string
	if err := client.CallContext(ctx, &modules, "rpc_modules"); err != nil {
		return "", fmt.Errorf("node %s: rpc_modules: %w", name, err)
	}
	var peers hexutil.Uint64
	if err := client.CallContext(ctx, &peers, "net_peerCount"); err != nil {
		return "", fmt.Errorf("node %s: net_peerCount: %w", name, err)
	}
	_, debug := modules["debug"]
	others := len(n.state.Names) - 1
	seen = fmt.Sprintf("peers %d of %d, debug API %t", peers, others, debug)
	switch {
	case (change == validator.FewerAPIs) == debug:
		return "", fmt.Errorf("node %s: %s", name, seen)
	case change == validator.FewPeers && (peers > 1 || others < 2):
		return "", fmt.Errorf("node %s: %s", name, seen)
	}
	return seen, nil
}
