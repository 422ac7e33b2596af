// Package mechanism knows what links can be made of, by the names that users give
// it, and opens those that bring a network namespace for each node.
package mechanism

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/kernel"
)

// The mechanisms, as --link takes them.
const (
	Proxy    = "proxy"    // TCP proxies in this process
	Emulator = "emulator" // a network namespace a node, frames switched in this process
	Kernel   = "kernel"   // the same, packets carried by the kernel
	Direct   = "direct"   // nothing: nodes dial each other on the loopback device
)

// Names lists the mechanisms.
func Names() []string { return []string{Proxy, Emulator, Kernel, Direct} }

// Unknown is the error for a mechanism that there is not.
func Unknown(name string) error {
	return fmt.Errorf("links %q: unknown, expected one of %s", name, strings.Join(Names(), ", "))
}

// Features returns what the links of a mechanism will be able to do.
func Features(name string) ([]link.Support, error) {
	switch name {
	case Proxy:
		return link.ProxyFeatures(), nil
	case Emulator:
		return emulator.Features(), nil
	case Kernel:
		return kernel.Features(), nil
	case Direct:
		return link.DirectFeatures(), nil
	}
	return nil, Unknown(name)
}

// Probe returns nil when links of that mechanism can be made here, else what is
// missing and how to get it.
func Probe(name string) error {
	switch name {
	case Emulator:
		return emulator.Probe()
	case Kernel:
		return kernel.Probe()
	}
	return nil
}

// Spaces are links between network namespaces, one a node: see netns.Inside for
// the ways into them.
type Spaces interface {
	link.Link
	Addr(node string) netip.Addr
	Start(node string, cmd *exec.Cmd) error
	Dial(ctx context.Context, node, addr string) (net.Conn, error)
	Forward(node, hostListen, addr string) (net.Addr, error)
	Close() error
}

// Open makes the namespaces of the nodes, nothing cut; nil where the mechanism has
// none, so that nodes live in the host's network. Draws follow from the seed, where
// they are not the kernel's.
func Open(name string, nodes []string, seed uint64) (Spaces, error) {
	switch name {
	case Proxy, Direct:
		return nil, nil
	case Emulator:
		e, err := emulator.New(emulator.Options{Nodes: nodes, Seed: seed})
		if err != nil {
			return nil, err // e is a nil of its own type
		}
		return e, nil
	case Kernel:
		l, err := kernel.New(kernel.Options{Nodes: nodes})
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	return nil, Unknown(name)
}
