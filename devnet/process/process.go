// Package process runs a network of any client's nodes from one file: see Read,
// and docs/devnet-file.md for every field.
//
// Guarantees: Start returns when all nodes are ready and have served block 1, or
// with nothing left running. No node outlives the process that started it, not
// even its SIGKILL; what it started itself is found by child.Sweep. A restarted
// node comes back on its data with the same command and ports, in the same place;
// one whose data directory is empty is initialised anew, as its operator would do.
// What the file names as p2p is reached over the links, which package mechanism
// lists, RPC and metrics past them. Everything is filled in once, before the first
// node starts.
//
// Bounds: Linux only; nodes on this machine. In the host's network links are of TCP,
// and a peer that learns another's own address in another way than from the file
// goes past them: discovery must be off. In network namespaces nothing goes past
// them, and nothing else is reached. It knows proposers where all nodes are CometBFT's,
// and nothing of flags.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/devnet/rpc"
)

// Options say how a file is run. File and Dir are required.
type Options struct {
	File  *File
	Dir   string   // directory of the network, which must hold none yet
	Seed  string   // all keys and the links' draws follow from it
	Alloc []string // 0x addresses that must have funds
	// RPCProxies puts a proxy that can be made to lie before each node's JSON-RPC.
	RPCProxies bool
	Link       string // what the links are made of, "" for proxies: see package mechanism
}

// Network is a running network. Its methods are safe for concurrent use.
type Network struct {
	o       Options
	dir     string
	homes   *homes // nil when there was no place
	group   *child.Group
	plans   map[string]*plan
	nodes   []devnet.Node         // as everybody else reaches them
	proxies map[string]*rpc.Proxy // by node; none unless asked for

	mu         sync.Mutex
	validators map[string]string // address → node, of those that CometBFT told

	once   sync.Once
	closed error // what Close returned
}

var _ devnet.Network = (*Network)(nil)

const (
	dataDir = "data"
	logFile = "node.log"

	defaultStart = 2 * time.Minute
)

func nodeName(i int) string { return "n" + strconv.Itoa(i+1) }

// Start makes the network of a file in a directory, starts it and waits until
// every node is ready and has served block 1. On an error nothing is left running;
// the logs stay.
func Start(ctx context.Context, o Options) (*Network, error) {
	dir, err := filepath.Abs(o.Dir)
	if err == nil && o.Dir == "" {
		err = errors.New("empty, expected a path")
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("directory of the devnet: %w", err)
	}
	n := &Network{o: o, dir: dir, validators: make(map[string]string)}
	bounded, cancel := context.WithTimeout(ctx, o.File.startTimeout())
	defer cancel()
	if err := n.open(bounded); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), child.StopGrace)
		defer cancel()
		return nil, errors.Join(err, n.Close(stop))
	}
	return n, nil
}

func (f *File) startTimeout() time.Duration {
	if f.StartTimeout > 0 {
		return f.StartTimeout
	}
	return defaultStart
}

func (n *Network) open(ctx context.Context) error {
	f := n.o.File
	var err error
	made, seed := cmp.Or(n.o.Link, mechanism.Proxy), linkSeed(n.o.Seed)
	if n.homes, err = settle(f.names(), made, seed); err != nil {
		return err
	}
	draft, err := n.survey()
	if err != nil {
		return err
	}
	dial, err := n.homes.wire(draft, made, seed)
	if err != nil {
		return err
	}
	if n.plans, err = draft.fill(dial); err != nil {
		return err
	}
	if f.FaucetKey == "" && len(n.o.Alloc) > 0 && !*draft.asked {
		return fmt.Errorf("%s: no template has looked at .Accounts, so jepgo's accounts would have no funds: expected them in the genesis, or a faucet_key", f.path)
	}
	if err := n.lookUp(); err != nil {
		return err
	}
	for _, name := range n.homes.names {
		p := n.plans[name]
		if err := os.Mkdir(p.home, 0o755); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		n.nodes = append(n.nodes, p.node)
	}
	n.group = child.New(child.Options{
		Names:   n.homes.names,
		Dir:     n.dir,
		Log:     func(name string) string { return n.plans[name].node.Log },
		Command: n.command,
		Start:   n.homes.start,
	})
	if n.o.RPCProxies {
		if err := n.openProxies(); err != nil {
			return err
		}
	}
	for _, name := range n.homes.names {
		if _, err := n.Start(ctx, name); err != nil {
			return err
		}
	}
	return n.awaitBlocks(ctx)
}

func linkSeed(seed string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return h.Sum64()
}

// Nodes lists the nodes, n1 first.
func (n *Network) Nodes() []devnet.Node { return slices.Clone(n.nodes) }

// Links is the network between the nodes; Close closes it.
func (n *Network) Links() link.Link { return n.homes.links }

// Exits delivers the end of every process that Close did not ask to end: see
// child.Group.
func (n *Network) Exits() <-chan child.Exit { return n.group.Exits() }

// Disk is nil: the nodes' data is on no disk of jepgo's.
func (n *Network) Disk(string) *disk.Disk { return nil }

// Dir is the node's data directory, "" when there is no such node.
func (n *Network) Dir(name string) string {
	if p := n.plans[name]; p != nil {
		return p.data
	}
	return ""
}

// Proxy is the proxy before the node's JSON-RPC; nil when there is none.
func (n *Network) Proxy(name string) *rpc.Proxy { return n.proxies[name] }

func (n *Network) openProxies() error {
	n.proxies = make(map[string]*rpc.Proxy)
	for i := range n.nodes {
		node := &n.nodes[i]
		p, err := rpc.New(rpc.Options{Target: node.HTTP, TargetWS: node.WS, Seed: linkSeed(n.o.Seed + node.Name)})
		if err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
		n.proxies[node.Name] = p
		node.HTTP = "http://" + p.Addr()
		if node.WS != "" {
			node.WS = "ws://" + p.Addr()
		}
	}
	return nil
}

// Close stops all nodes in order, kills those that take longer than 12 seconds or
// than ctx allows, and closes the links. It is idempotent and returns, in the
// end always within 5 seconds after ctx, all that could not be stopped in order.
func (n *Network) Close(ctx context.Context) error {
	n.once.Do(func() {
		var errs *multierror.Error
		if n.group != nil {
			errs = multierror.Append(errs, n.group.Stop(ctx)...)
		}
		for _, p := range n.proxies {
			errs = multierror.Append(errs, p.Close())
		}
		if n.homes != nil {
			errs = multierror.Append(errs, n.homes.close())
		}
		n.closed = errs.ErrorOrNil()
	})
	return n.closed
}
