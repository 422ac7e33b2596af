// Package embedded is a devnet of real nodes that needs nothing but this program:
// every validator is a process of its own, this same binary executed again, and
// the links between them are proxies in the process that started them, or one of
// the other mechanisms of package mechanism.
//
// Guarantees: Start returns when all nodes have served block 1. No validator
// outlives the process that started it, not even its SIGKILL. A restarted node
// comes back under the same endpoints on the same data. Two networks at the same
// time never share an address. RPC, metrics and CometBFT's RPC are reached
// directly, never through a link.
//
// Bounds: Linux only (elsewhere everything answers with an error); 127.64.0.0/10
// must be a loopback network, as it is by default; at most 253 validators, though
// each costs about 130 MiB and a tenth of a core.
//
// A program that uses it must run RunValidator when its first argument is
// "validator", and Supervise when it is "devnet-supervisor".
package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// Options describe a network to be made. Only Dir has no default.
type Options struct {
	Dir       string        // directory of the network; each node has its own in it
	Nodes     int           // validators; 0 is 4
	Seed      string        // all keys derive from it; "" is "jepgo"
	ChainID   uint64        // 0 is DefaultChainID
	Alloc     []string      // 0x addresses that start with funds, beside the faucet
	BlockTime time.Duration // 0 is a second, the least there is
	Bug       string        // planted bug, "" for honest nodes
	Disks     bool          // the data on disks that can be made faulty
	// RPCProxies puts a proxy that can be made to lie before each node's JSON-RPC.
	RPCProxies bool
	Link       string // what the links are made of, "" for proxies: see package mechanism
}

// Defaults and bounds of Options.
const (
	DefaultChainID = 7357
	defaultNodes   = 4
	defaultSeed    = "jepgo"
	maxNodes       = 253 // in a /24; .254 is for the links
)

var errNoDir = errors.New("directory of the devnet: empty, expected a path")

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errNoDir
	}
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return o, fmt.Errorf("number of nodes %d: expected 1 to %d", o.Nodes, maxNodes)
	}
	if o.Seed == "" {
		o.Seed = defaultSeed
	}
	if o.ChainID == 0 {
		o.ChainID = DefaultChainID
	}
	if o.Link != "" && !slices.Contains(mechanism.Names(), o.Link) {
		return o, mechanism.Unknown(o.Link)
	}
	if o.Bug != "" && !slices.ContainsFunc(validator.Bugs(), func(b validator.Bug) bool { return b.Name == o.Bug }) {
		var names []string
		for _, b := range validator.Bugs() {
			names = append(names, b.Name)
		}
		return o, fmt.Errorf("bug %q: no such bug, expected one of %s", o.Bug, strings.Join(names, ", "))
	}
	return o, nil
}

// bugOf is the bug of that name as planted in validator i of n: "" where it does
// not belong.
func bugOf(name string, i, n int) string {
	for _, b := range validator.Bugs() {
		if b.Name == name && b.Hits(i, n) {
			return name
		}
	}
	return ""
}

// The protocols that go through links.
const (
	protoDevP2P = "devp2p"
	protoComet  = "cometbft"
)

// Exit tells that a node's process ended while the network was open.
type Exit = child.Exit

// Orphan is a validator that Sweep found without the process that started it.
type Orphan struct {
	Node    string
	Config  string // its configuration file
	Process devnet.Identity
}

// String renders the orphan as its node, process and configuration file.
func (o Orphan) String() string {
	return fmt.Sprintf("%s, process %s, %s", o.Node, o.Process, o.Config)
}

// Names of the files in the directory of a network and of a node.
const (
	stateFile      = "devnet.json"
	lockFile       = "devnet.lock"
	supervisorFile = "supervisor.log"
	configFile     = "config.json"
	logFile        = "node.log"
	dataDir        = "data"
	diskDir        = "disk" // where the data is seen through a disk of ours
)

// Hidden subcommands of the program.
const (
	validatorCommand  = "validator"
	supervisorCommand = "devnet-supervisor"
)

func configPath(dir, node string) string { return filepath.Join(dir, node, configFile) }
func dataPath(dir, node string) string   { return filepath.Join(dir, node, dataDir) }
func diskPath(dir, node string) string   { return filepath.Join(dir, node, diskDir) }
func logPath(dir, node string) string    { return filepath.Join(dir, node, logFile) }

// RunValidator is the hidden subcommand "validator --config PATH": it runs one
// validator in this process until ctx ends. One whose data directory is empty,
// because a fault has wiped it, begins from the genesis, as its operator would
// have it do.
func RunValidator(ctx context.Context, config string) error {
	if err := supported(); err != nil {
		return err
	}
	cfg, err := validator.ReadConfig(config)
	if err != nil {
		return err
	}
	if left, err := os.ReadDir(cfg.Dir); err == nil && len(left) == 0 {
		if err := validator.Init(cfg); err != nil {
			return err
		}
	}
	return validator.Run(ctx, cfg)
}
