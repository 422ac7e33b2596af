// Package chaintest runs a real go-ethereum node in the test's own process: its
// EVM, its transaction pool and its JSON-RPC over HTTP, with blocks made on
// demand instead of by consensus. It is for tests of what talks to a node, not
// of networks: there is one node, without peers, and its data is in memory.
package chaintest

import (
	"context"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
)

// Options are the properties of a chain. The zero value is a chain whose
// finalized block lags behind, as in geth --dev.
type Options struct {
	Funded []string // addresses that the genesis gives a billion ETH each
	// Final makes every block final at once, as on a BFT chain.
	Final bool
}

// Chain is a running node.
type Chain struct {
	// URL is where it answers JSON-RPC.
	URL string

	options Options
	backend *eth.Ethereum
	beacon  *catalyst.SimulatedBeacon
	mu      sync.Mutex // one block at a time
}

// Start runs a node until the test ends.
func Start(t testing.TB, o Options) *Chain {
	t.Helper()
	alloc := core.SystemContractAllocs()
	rich := new(big.Int).Exp(big.NewInt(10), big.NewInt(27), nil)
	for _, a := range o.Funded {
		alloc[common.HexToAddress(a)] = types.Account{Balance: rich}
	}
	conf := ethconfig.Defaults
	conf.Genesis = &core.Genesis{
		Config:   params.AllDevChainProtocolChanges,
		GasLimit: 30_000_000,
		BaseFee:  big.NewInt(params.InitialBaseFee),
		Alloc:    alloc,
	}
	conf.SyncMode = ethconfig.FullSync
	conf.TxPool.NoLocals = true

	stack, err := node.New(&node.Config{
		P2P:                  p2p.Config{NoDiscovery: true, NoDial: true},
		HTTPHost:             "127.0.0.1",
		HTTPPort:             0,
		HTTPModules:          []string{"eth"},
		BatchRequestLimit:    1000,
		BatchResponseMaxSize: 25 << 20,
	})
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	t.Cleanup(func() { stack.Close() })
	backend, err := eth.New(stack, &conf)
	if err != nil {
		t.Fatalf("eth: %v", err)
	}
	if err := stack.Start(); err != nil {
		t.Fatalf("node: %v", err)
	}
	beacon, err := catalyst.NewSimulatedBeacon(0, common.Address{}, backend)
	if err != nil {
		t.Fatalf("beacon: %v", err)
	}
	if err := beacon.Fork(backend.BlockChain().GetCanonicalHash(0)); err != nil {
		t.Fatalf("beacon: %v", err)
	}
	backend.SetSynced()
	return &Chain{URL: stack.HTTPEndpoint(), options: o, backend: backend, beacon: beacon}
}

// Commit makes one block of what is in the pool and returns its number.
func (c *Chain) Commit() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beacon.Commit()
	head := c.backend.BlockChain().CurrentBlock()
	if c.options.Final {
		c.backend.BlockChain().SetFinalized(head)
		c.backend.BlockChain().SetSafe(head)
	}
	return head.Number.Uint64()
}

// Mine makes a block each interval until ctx or the test ends.
func (c *Chain) Mine(ctx context.Context, t testing.TB, interval time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.Commit()
			}
		}
	}()
}

// Reorg replaces everything above a height by n empty blocks.
func (c *Chain) Reorg(t testing.TB, above uint64, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.beacon.Fork(c.backend.BlockChain().GetCanonicalHash(above)); err != nil {
		t.Fatalf("reorg above %d: %v", above, err)
	}
	for range n {
		c.beacon.Commit()
	}
}
