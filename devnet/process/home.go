package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os/exec"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// homes are where the nodes live: in the host's network, each at an address of a
// subnet of jepgo's, or each in a network namespace of its own. Then the subnet is
// where the host finds what a node serves.
type homes struct {
	names   []string
	prefix  string       // of the subnet
	guard   net.Listener // keeps other networks off it
	spawner *child.Spawner
	spaces  mechanism.Spaces // nil in the host's network
	links   wires            // nil before wire, if they are not the spaces
	doors   map[door]string  // to forwarders of the host
}

// door is what a node serves in its namespace.
type door struct{ node, addr string }

const (
	// portGuard is held on the links' address for as long as the network lives: it
	// keeps other networks of jepgo, embedded ones too, off the subnet.
	portGuard = 26655
	linkByte  = ".254"
)

// settle finds the nodes a place to live.
func settle(names []string, made string, seed uint64) (*homes, error) {
	h := &homes{names: names, doors: make(map[door]string)}
	var err error
	if h.prefix, h.guard, err = takeSubnet(); err != nil {
		return nil, err
	}
	if h.spaces, err = mechanism.Open(made, names, seed); err != nil {
		h.guard.Close()
		return nil, err
	}
	if h.spaces != nil {
		h.links = h.spaces
	}
	h.spawner = child.NewSpawner()
	return h, nil
}

// takeSubnet takes a random subnet of 127.64.0.0/10 for a network. It does not
// follow the run's seed: two runs with the same seed at the same time must not
// meet.
func takeSubnet() (prefix string, guard net.Listener, err error) {
	for range 10 {
		prefix = fmt.Sprintf("127.%d.%d", 64+rand.IntN(64), rand.IntN(256))
		if guard, err = net.Listen("tcp4", prefix+linkByte+":"+strconv.Itoa(portGuard)); err == nil {
			return prefix, guard, nil
		}
	}
	return "", nil, fmt.Errorf("addresses: no free subnet in 127.64.0.0/10: %w", err)
}

// close ends the links; it is for when the nodes are gone.
func (h *homes) close() error {
	var err error
	if h.links != nil {
		err = h.links.Close()
	}
	h.spawner.Close()
	return errors.Join(err, h.guard.Close())
}

// outside is the address of node i in the subnet.
func (h *homes) outside(i int) string { return h.prefix + "." + strconv.Itoa(i+1) }

// host is the address that node i listens on, unless the file has another.
func (h *homes) host(i int) string {
	if h.spaces != nil {
		return h.spaces.Addr(h.names[i]).String()
	}
	return h.outside(i)
}

// start starts a command where the node lives.
func (h *homes) start(name string, cmd *exec.Cmd) error {
	if h.spaces != nil {
		return h.spaces.Start(name, cmd)
	}
	return h.spawner.Start(cmd)
}

// dial connects to an address as the node itself would, past all links.
func (h *homes) dial(ctx context.Context, name, addr string) (net.Conn, error) {
	if h.spaces != nil {
		return h.spaces.Dial(ctx, name, addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// url is how the host reaches what the node has at a URL, past all links: where
// the node lives in a namespace, and the URL leads into one, through a forwarder.
func (h *homes) url(name, raw string) (string, error) {
	if h.spaces == nil || raw == "" {
		return raw, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	host, port := u.Hostname(), u.Port()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]
	}
	to, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return raw, nil // a name is of the host's world
	}
	if !to.Addr().IsLoopback() && !to.Addr().IsUnspecified() {
		i := slices.IndexFunc(h.names, func(n string) bool { return h.spaces.Addr(n) == to.Addr() })
		if i < 0 {
			return raw, nil
		}
		name = h.names[i]
	}
	u.Host, err = h.open(door{name, to.String()})
	return u.String(), err
}

// open returns where the host finds a door: with the same port, if that is free.
func (h *homes) open(d door) (string, error) {
	if at, ok := h.doors[d]; ok {
		return at, nil
	}
	_, port, err := net.SplitHostPort(d.addr)
	if err != nil {
		return "", err
	}
	host := h.outside(slices.Index(h.names, d.node))
	at, err := h.spaces.Forward(d.node, net.JoinHostPort(host, port), d.addr)
	if err != nil {
		at, err = h.spaces.Forward(d.node, net.JoinHostPort(host, "0"), d.addr)
	}
	if err != nil {
		return "", err
	}
	h.doors[d] = at.String()
	return h.doors[d], nil
}

// free returns why a node could not listen at that address.
func (h *homes) free(host string, port int) error {
	if h.spaces != nil {
		return nil // nobody else lives there
	}
	return bindable(host, port)
}

// wires are the links between the nodes, whatever they are made of.
type wires interface {
	link.Link
	Close() error
}

// wire opens the links, and returns where one node reaches another's port for a
// protocol.
func (h *homes) wire(d *draft, made string, seed uint64) (dial func(e link.Edge, protocol string) string, err error) {
	dial = func(e link.Edge, protocol string) string { return d.target(e.To, protocol) }
	switch {
	case h.spaces != nil:
	case made == mechanism.Direct:
		h.links = link.NewDirect(h.names)
	default:
		p, err := link.NewProxy(link.Options{
			Nodes: h.names, Protocols: d.protocols(), Host: h.prefix + linkByte, Seed: seed, Target: d.target,
		})
		if err != nil {
			return nil, err
		}
		h.links, dial = p, p.Addr
	}
	return dial, nil
}
