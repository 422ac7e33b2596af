package embedded

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/peer"
)

// Attack sets a hostile devp2p peer on the node until it is closed: see package
// devnet/peer. It goes straight to the node, past the links.
func (n *Network) Attack(name, kind string, seed uint64) (*peer.Attack, error) {
	node, err := n.find(name)
	if err != nil {
		return nil, err
	}
	target, err := validator.Enode(n.state.Seed, slices.Index(n.state.Names, name), node.P2P[protoDevP2P])
	if err != nil {
		return nil, err
	}
	return peer.Start(peer.Options{
		Target: target, Kind: kind, Seed: seed,
		Dial: func(ctx context.Context) (net.Conn, error) { return n.links.reach(ctx, name, protoDevP2P) },
	})
}

// Strangers is how many devp2p peers the node has that are no nodes of the
// network.
func (n *Network) Strangers(ctx context.Context, name string) (int, error) {
	node, err := n.find(name)
	if err != nil {
		return 0, err
	}
	client, err := rpc.DialContext(ctx, node.HTTP)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var peers []*p2p.PeerInfo
	if err := client.CallContext(ctx, &peers, "admin_peers"); err != nil {
		return 0, fmt.Errorf("node %s: admin_peers: %w", name, err)
	}
	known := make(map[string]bool)
	for i := range n.state.Names {
		known[validator.NodeID(n.state.Seed, i)] = true
	}
	strangers := 0
	for _, p := range peers {
		if !known[p.ID] {
			strangers++
		}
	}
	return strangers, nil
}
