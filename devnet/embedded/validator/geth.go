package validator

import (
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/eth/tracers"
	gethlog "github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/metrics"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	gethName        = "geth" // also the directory below Config.Dir
	databaseCache   = 16     // MB; geth's default reserves gigabytes
	databaseHandles = 256
	poolSlots       = 16384 // transactions, in the pool and per account
)

// quietGeth sends geth's warnings to standard error.
func quietGeth() {
	handler := gethlog.NewGlogHandler(gethlog.NewTerminalHandler(os.Stderr, false))
	handler.Verbosity(slog.LevelWarn)
	gethlog.SetDefault(gethlog.NewLogger(handler))
}

// openExecution assembles the execution node on its database. No port is open
// and no peer is dialled until stack.Start.
func openExecution(cfg Config) (*execution, error) {
	metrics.Enable() // before eth.New, which asks
	go metrics.CollectProcessMetrics(3 * time.Second)
	stackConfig, err := stackConfig(cfg)
	if err != nil {
		return nil, err
	}
	stack, err := node.New(stackConfig)
	if err != nil {
		return nil, fmt.Errorf("geth node: %w", err)
	}
	ec := ethConfig(cfg)
	backend, err := eth.New(stack, ec)
	if err != nil {
		return nil, fmt.Errorf("geth database: %w", err)
	}
	// eth.New leaves these two out.
	system := filters.NewFilterSystem(backend.APIBackend, filters.Config{LogCacheSize: ec.FilterLogCacheSize})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(system)}})
	stack.RegisterAPIs(tracers.APIs(backend.APIBackend))
	receipts, err := receiptAPI(backend)
	if err != nil {
		return nil, err
	}
	stack.RegisterAPIs([]rpc.API{receipts})

	exec := &execution{stack: stack, eth: backend, engine: catalyst.NewConsensusAPI(backend), feeTo: feeRecipient(cfg.Seed, cfg.Index)}
	// Marks the node as synced; else transactions of peers are dropped and a
	// later forkchoice update to an older block is ignored without a word.
	if err := exec.setHead(exec.head().Hash()); err != nil {
		return nil, err
	}
	return exec, nil
}

func stackConfig(cfg Config) (*node.Config, error) {
	bug := cfg.bug()
	modules := cfg.modules()
	sc := &node.Config{
		Name:        gethName,
		DataDir:     cfg.Dir,
		DBEngine:    "pebble",
		HTTPModules: modules, HTTPVirtualHosts: []string{"*"}, HTTPTimeouts: rpc.DefaultHTTPTimeouts,
		WSModules: modules, WSOrigins: []string{"*"},
		BatchRequestLimit:    node.DefaultConfig.BatchRequestLimit,
		BatchResponseMaxSize: node.DefaultConfig.BatchResponseMaxSize,
		P2P: p2p.Config{
			PrivateKey:  devp2pKey(cfg.Seed, cfg.Index),
			ListenAddr:  cfg.Listen.DevP2P,
			NoDiscovery: true,
			// Both ends dial, so a node can have two connections per peer for a moment.
			MaxPeers: 2*len(cfg.Names) + 8,
		},
	}
	// Trusted peers are never refused. They are not static peers of geth: its
	// dialler would wait 35 s before a second attempt; dialPeers does it.
	if cfg.Change == FewPeers {
		sc.P2P.MaxPeers = 1
	}
	for _, p := range cfg.Peers {
		if cfg.Change == FewPeers {
			break
		}
		n, err := peerEnode(cfg, p)
		if err != nil {
			return nil, err
		}
		sc.P2P.TrustedNodes = append(sc.P2P.TrustedNodes, n)
	}
	// What a planted bug lies about is served by the bug.
	var err error
	if bug.plant == nil {
		if sc.HTTPHost, sc.HTTPPort, err = splitAddr(cfg.Listen.HTTP); err != nil {
			return nil, err
		}
	}
	if bug.announce == nil {
		if sc.WSHost, sc.WSPort, err = splitAddr(cfg.Listen.WS); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// peerEnode is the identity of a peer at the address of the link to it.
func peerEnode(cfg Config, p Peer) (*enode.Node, error) {
	return Enode(cfg.Seed, p.Index, p.DevP2P)
}

func ethConfig(cfg Config) *ethconfig.Config {
	ec := ethconfig.Defaults
	ec.Genesis = evmGenesis(cfg)
	ec.NetworkId = cfg.ChainID
	ec.SyncMode = ethconfig.FullSync // snap sync refuses every payload beyond block 1
	// An archive with the hash scheme writes each block's state as it is
	// executed: after a kill nothing has to be executed anew.
	ec.StateScheme = rawdb.HashScheme
	ec.NoPruning = true
	ec.DatabaseCache = databaseCache
	ec.DatabaseHandles = databaseHandles
	ec.TrieCleanCache, ec.TrieDirtyCache = 16, 16
	ec.SnapshotCache = 0                        // no snapshots: chains are short, and a crash spoils them
	ec.TransactionHistory, ec.LogHistory = 0, 0 // keep all
	ec.RPCTxFeeCap = 0                          // no cap
	ec.Miner.GasCeil = gasLimit
	ec.Miner.GasPrice = big.NewInt(1)
	ec.Miner.Recommit = 10 * time.Second // once per proposal is enough
	ec.TxPool.NoLocals = true
	ec.TxPool.Journal = ""
	ec.TxPool.AccountSlots, ec.TxPool.AccountQueue = poolSlots, poolSlots
	ec.TxPool.GlobalSlots, ec.TxPool.GlobalQueue = poolSlots, poolSlots
	ec.BlobPool.Datadir = "" // in memory: blob transactions are never included
	return &ec
}

func splitAddr(addr string) (string, int, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.Atoi(port)
	return host, n, err
}
