package embedded

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/hashicorp/go-multierror"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/rpc"
)

// Network is a running embedded devnet. Its methods are safe for concurrent use.
type Network struct {
	dir     string
	state   *State // Processes, Owner and Ready change under mu
	links   wires
	guard   net.Listener
	lock    *os.File
	spawner *child.Spawner
	group   *child.Group          // nil until the state is read
	disks   map[string]*disk.Disk // by node; none unless asked for
	proxies map[string]*rpc.Proxy // likewise
	nodes   []devnet.Node         // as they are reached past the proxies
	old     bool                  // the data was there before

	mu     sync.Mutex // held while processes are started and when all are stopped
	once   sync.Once
	closed error // what Close returned
}

var _ devnet.Network = (*Network)(nil)

// startSpace is what a node writes in its first minute, with room to spare.
const startSpace = 8 << 20

// Bounds of closing: what an orderly stop may take, and the kernel for a kill.
const (
	stopGrace = child.StopGrace
	killGrace = child.KillGrace
)

// Start makes a network in a directory that holds none yet, starts it and waits
// until every node has served block 1: about two seconds for four nodes. Where the
// file system has no room it fails at once. On an error nothing is left running; the logs stay.
func Start(ctx context.Context, opts Options) (*Network, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	dir, err := create(opts)
	if err != nil {
		return nil, err
	}
	return launch(ctx, dir, false)
}

// launch runs the network whose state is in dir, a new one or an old one.
func launch(ctx context.Context, dir string, supervised bool) (*Network, error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	n := &Network{dir: dir, lock: lock, spawner: child.NewSpawner()}
	if err := n.open(ctx, supervised); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return nil, errors.Join(err, n.Close(stop))
	}
	return n, nil
}

func (n *Network) open(ctx context.Context, supervised bool) error {
	state, err := readState(n.dir)
	if err != nil {
		return err
	}
	n.state, n.old = state, state.Subnet.Prefix != ""
	n.group = n.newGroup()
	if err := enoughFiles(len(state.Names)); err != nil {
		return err
	}
	if err := child.EnoughSpace(n.dir, startSpace*uint64(len(state.Names))); err != nil {
		return err
	}
	if state.Owner, err = devnet.Lookup(os.Getpid()); err != nil {
		return err
	}
	state.Supervised, state.Ready = supervised, false
	state.Processes = make(map[string]devnet.Identity)
	if state.Subnet, n.guard, err = reserve(state.Subnet, len(state.Names)); err != nil {
		return err
	}
	if n.links, err = newWires(state.Link, state.Names, state.Subnet, linkSeed(state.Seed), n.spawner); err != nil {
		return err
	}
	if err := n.prepare(); err != nil {
		return err
	}
	// The owner is known before it has a node: see Sweep.
	if err := state.write(n.dir); err != nil {
		return err
	}
	for _, name := range state.Names {
		if _, err := n.Start(ctx, name); err != nil {
			return err
		}
	}
	if err := n.awaitBlocks(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	state.Ready = true
	return state.write(n.dir)
}

// prepare writes every node's configuration and, the first time, its databases.
func (n *Network) prepare() error {
	s := n.state
	s.Nodes = nil
	var group multierror.Group
	for i, name := range s.Names {
		cfg := n.config(i)
		if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		if err := writeJSON(configPath(n.dir, name), cfg); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		public := s.Subnet.node(i, name, cfg.Dir, logPath(n.dir, name))
		public.P2P = map[string]string{protoDevP2P: cfg.Listen.DevP2P, protoComet: cfg.Listen.CometP2P}
		s.Nodes = append(s.Nodes, public)
		n.nodes = append(n.nodes, public)
		onDisk := cfg
		onDisk.Dir = dataPath(n.dir, name) // whatever it is seen through later
		group.Go(func() error { return initialise(onDisk) })
	}
	if err := group.Wait().ErrorOrNil(); err != nil {
		return err
	}
	if s.RPCProxies {
		if err := n.openProxies(); err != nil {
			return err
		}
	}
	if s.Disks {
		return n.mountDisks()
	}
	return nil
}

// initialise makes a node's databases. They panic where the system refuses them
// something, open files for one, and here that would end everybody.
func initialise(cfg validator.Config) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("node %s: %v", cfg.Name, p)
		}
	}()
	if err := validator.Init(cfg); err != nil {
		return fmt.Errorf("node %s: %w", cfg.Name, err)
	}
	return nil
}

// linkSeed is the number that the links draw by.
func linkSeed(seed string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return h.Sum64()
}

func (n *Network) config(i int) validator.Config {
	s := n.state
	name := s.Names[i]
	cfg := validator.Config{
		Name:        name,
		Index:       i,
		Names:       s.Names,
		Dir:         n.nodeDir(name),
		Seed:        s.Seed,
		ChainID:     s.ChainID,
		GenesisTime: s.GenesisTime,
		Alloc:       s.Alloc,
		BlockTime:   s.BlockTime,
		Listen:      n.links.listen(i),
		Bug:         bugOf(s.Bug, i, len(s.Names)),
	}
	for j, peer := range s.Names {
		if j == i {
			continue
		}
		e := link.Edge{From: name, To: peer}
		cfg.Peers = append(cfg.Peers, validator.Peer{
			Index: j, DevP2P: n.links.dial(e, protoDevP2P), CometP2P: n.links.dial(e, protoComet),
		})
	}
	return cfg
}

// Nodes lists the validators, n1 first.
func (n *Network) Nodes() []devnet.Node { return slices.Clone(n.state.Nodes) }

// Links is the network between the validators; Close closes it.
func (n *Network) Links() link.Link { return n.links }

// State is a copy of what devnet.json says of the network.
func (n *Network) State() State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.copyState()
}

func (n *Network) copyState() State {
	s := *n.state
	s.Processes = n.group.Processes()
	return s
}

// Exits delivers the end of every process that Close did not ask to end, also of
// those that a nemesis killed; Exit.Signal tells them apart. It is never closed.
// When 256 of them wait to be received, further ones are dropped.
func (n *Network) Exits() <-chan Exit { return n.group.Exits() }

// Close stops all nodes in order, kills those that take longer than 12 seconds or
// than ctx allows, and closes the links. It is idempotent and returns, in the
// end always within 5 seconds after ctx, all that could not be stopped in order.
func (n *Network) Close(ctx context.Context) error {
	n.once.Do(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.closed = n.shutDown(ctx)
	})
	return n.closed
}

func (n *Network) shutDown(ctx context.Context) error {
	var errs *multierror.Error
	if n.group != nil {
		errs = multierror.Append(errs, n.group.Stop(ctx)...)
	}
	errs = multierror.Append(errs, n.closeDisks(), n.closeProxies())
	if n.links != nil {
		errs = multierror.Append(errs, n.links.Close())
	}
	if n.guard != nil {
		errs = multierror.Append(errs, n.guard.Close())
	}
	n.spawner.Close()
	if n.state != nil {
		last := n.copyState()
		last.Owner, last.Supervised, last.Ready = devnet.Identity{}, false, false
		errs = multierror.Append(errs, last.write(n.dir))
	}
	errs = multierror.Append(errs, n.lock.Close())
	return errs.ErrorOrNil()
}
