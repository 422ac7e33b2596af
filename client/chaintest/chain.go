// Package chaintest runs a real go-ethereum node in the test's own process: its
// EVM, its transaction pool and its JSON-RPC over HTTP, with blocks made on
// demand instead of by consensus. It is for tests of what talks to a node, not
// of networks: there is one node, without peers, and its data is in memory.
package chaintest

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// Options are the properties of a chain. The zero value is a chain whose
// finalized block is the last multiple of 32, as in geth --dev.
type Options struct {
	Funded []string // addresses that the genesis gives a billion ETH each
	// Final makes every block final at once, as on a BFT chain.
	Final bool
}

// epoch is how many blocks become final together.
const epoch = 32

// Chain is a running node. A block that cannot be made is a broken test, so its
// methods panic.
type Chain struct {
	// URL is where it answers JSON-RPC, WS where it does over WebSocket.
	URL, WS string

	options Options
	backend *eth.Ethereum
	mu      sync.Mutex // one block at a time
	salt    int        // reorganisations so far
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
		HTTPModules:          []string{"eth", "txpool"},
		WSHost:               "127.0.0.1",
		WSPort:               0,
		WSModules:            []string{"eth"},
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
	logs := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(logs)}})
	if err := stack.Start(); err != nil {
		t.Fatalf("node: %v", err)
	}
	backend.SetSynced()
	return &Chain{URL: stack.HTTPEndpoint(), WS: stack.WSEndpoint(), options: o, backend: backend}
}

// Commit makes one block of what is in the pool, tells the node and returns its
// number.
func (c *Chain) Commit() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backend.TxPool().Sync() // the pool has seen the block before this one
	head := c.build(c.backend.BlockChain().CurrentBlock(), false)
	c.choose(head)
	return head.Number.Uint64()
}

// build makes and executes a block on a parent.
func (c *Chain) build(parent *types.Header, empty bool) *types.Header {
	block, _, err := c.backend.Miner().BuildTestingPayload(&miner.BuildPayloadArgs{
		Parent: parent.Hash(), Timestamp: parent.Time + 1, Random: common.Hash{byte(c.salt)},
		Withdrawals: types.Withdrawals{}, BeaconRoot: &common.Hash{},
	}, nil, empty, nil)
	if err != nil {
		panic(fmt.Sprintf("block on %d: %v", parent.Number, err))
	}
	if _, err := c.backend.BlockChain().InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		panic(fmt.Sprintf("block on %d: %v", parent.Number, err))
	}
	return block.Header()
}

// choose makes a block the head and moves the final tags.
func (c *Chain) choose(head *types.Header) {
	chain := c.backend.BlockChain()
	n := head.Number.Uint64()
	if _, err := chain.SetCanonical(chain.GetBlock(head.Hash(), n)); err != nil {
		panic(fmt.Sprintf("head %d: %v", n, err))
	}
	final := head
	if !c.options.Final {
		final = chain.GetHeaderByNumber(n - n%epoch)
	}
	chain.SetFinalized(final)
	chain.SetSafe(final)
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
func (c *Chain) Reorg(above uint64, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.salt++ // else the same empty block would come out again
	head := c.backend.BlockChain().GetHeaderByNumber(above)
	for range n {
		head = c.build(head, true)
	}
	c.choose(head)
}
