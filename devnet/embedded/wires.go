package embedded

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"

	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// wires are the links between the validators, and the ways that lead past them.
type wires interface {
	link.Link
	// listen returns where validator i binds its servers.
	listen(i int) validator.Listen
	// dial returns where one node reaches another's server for a protocol, over
	// the link.
	dial(e link.Edge, protocol string) string
	// reach connects to a node's server for a protocol past the links.
	reach(ctx context.Context, node, protocol string) (net.Conn, error)
	// starter returns what starts a node's process where the node lives.
	starter(node string) func(*exec.Cmd) error
	Close() error
}

// newWires opens the links of a network that has its addresses.
func newWires(made string, names []string, subnet Subnet, seed uint64, spawn *child.Spawner) (wires, error) {
	var w wires
	var err error
	switch made {
	case "", mechanism.Proxy:
		w, err = newStreets(quarter{names, subnet, spawn}, seed)
	case mechanism.Direct:
		w = &squares{link.NewDirect(names), quarter{names, subnet, spawn}}
	default:
		w, err = furnish(made, names, subnet, seed)
	}
	if err != nil {
		return nil, err // w holds a nil of its own type
	}
	return w, nil
}

// quarter is where nodes live that have the host's own network.
type quarter struct {
	names  []string
	subnet Subnet
	spawn  *child.Spawner
}

func (q quarter) listen(i int) validator.Listen            { return q.subnet.listen(i) }
func (q quarter) starter(string) func(cmd *exec.Cmd) error { return q.spawn.Start }
func (q quarter) reach(ctx context.Context, node, protocol string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", q.addr(node, protocol))
}

func (q quarter) addr(node, protocol string) string {
	return p2pOf(q.listen(slices.Index(q.names, node)), protocol)
}

// streets lead from node to node through proxies.
type streets struct {
	*link.Proxy
	quarter
}

func newStreets(q quarter, seed uint64) (*streets, error) {
	p, err := link.NewProxy(link.Options{
		Nodes: q.names, Protocols: protocols(), Host: q.subnet.linkHost(), Seed: seed, Target: q.addr,
	})
	if err != nil {
		return nil, err
	}
	return &streets{p, q}, nil
}

func (s *streets) dial(e link.Edge, protocol string) string { return s.Addr(e, protocol) }

// squares have nothing between the nodes.
type squares struct {
	*link.Direct
	quarter
}

func (s *squares) dial(e link.Edge, protocol string) string { return s.addr(e.To, protocol) }

// rooms are network namespaces. What is not peer-to-peer stays on the loopback
// device of the node's namespace, and is reached through forwarders that listen
// where the node itself would without namespaces.
type rooms struct {
	mechanism.Spaces
	names []string
}

func furnish(made string, names []string, subnet Subnet, seed uint64) (*rooms, error) {
	s, err := mechanism.Open(made, names, seed)
	if err != nil {
		return nil, err
	}
	r := &rooms{s, names}
	for i, name := range names {
		outside, inside := subnet.listen(i), r.listen(i)
		for from, to := range map[string]string{
			outside.HTTP: inside.HTTP, outside.WS: inside.WS, outside.GethMetrics: inside.GethMetrics,
			outside.CometMetrics: inside.CometMetrics, outside.CometRPC: inside.CometRPC,
		} {
			if _, err := s.Forward(name, from, to); err != nil {
				s.Close()
				return nil, err
			}
		}
	}
	return r, nil
}

func (r *rooms) listen(i int) validator.Listen {
	own := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	p2p := func(port int) string { return fmt.Sprintf("%s:%d", r.Addr(r.names[i]), port) }
	return validator.Listen{
		HTTP: own(portHTTP), WS: own(portWS), GethMetrics: own(portGethMetrics),
		CometMetrics: own(portCometMetrics), CometRPC: own(portCometRPC),
		DevP2P: p2p(portDevP2P), CometP2P: p2p(portCometP2P),
	}
}

func (r *rooms) dial(e link.Edge, protocol string) string {
	return p2pOf(r.listen(slices.Index(r.names, e.To)), protocol)
}

func (r *rooms) reach(ctx context.Context, node, protocol string) (net.Conn, error) {
	return r.Dial(ctx, node, p2pOf(r.listen(slices.Index(r.names, node)), protocol))
}

func (r *rooms) starter(node string) func(*exec.Cmd) error {
	return func(cmd *exec.Cmd) error { return r.Start(node, cmd) }
}

// protocols are those that go through links.
func protocols() []string { return []string{protoDevP2P, protoComet} }

func p2pOf(l validator.Listen, protocol string) string {
	if protocol == protoDevP2P {
		return l.DevP2P
	}
	return l.CometP2P
}
