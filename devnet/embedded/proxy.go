package embedded

import (
	"errors"
	"fmt"

	"github.com/jepgo/jepgo/devnet/rpc"
)

// openProxies puts a proxy before every node's JSON-RPC, which is where everybody
// else then finds it; what this package asks of nodes goes past it.
func (n *Network) openProxies() error {
	n.proxies = make(map[string]*rpc.Proxy)
	for i, name := range n.state.Names {
		node := &n.state.Nodes[i]
		p, err := rpc.New(rpc.Options{
			Listen: n.state.Subnet.at(i+1, portProxy), Target: node.HTTP, TargetWS: node.WS, Seed: linkSeed(n.state.Seed + name),
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		n.proxies[name] = p
		node.HTTP, node.WS = "http://"+p.Addr(), "ws://"+p.Addr()
	}
	return nil
}

func (n *Network) closeProxies() error {
	var errs []error
	for _, p := range n.proxies {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Proxy is the proxy before the node's JSON-RPC; nil when there is none.
func (n *Network) Proxy(name string) *rpc.Proxy { return n.proxies[name] }
