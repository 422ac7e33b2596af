package validator

import (
	"fmt"
	"os"
	"strings"
	"time"

	cmtconfig "github.com/cometbft/cometbft/config"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	cmtlog "github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/proxy"
	cmttypes "github.com/cometbft/cometbft/types"
)

// overhead is what a block takes beside the pause between two of them.
const overhead = 35 * time.Millisecond

// openComet assembles consensus on its own stores and replays into the
// application what it had decided before a crash. It listens nowhere yet.
func openComet(cfg Config, app *app) (*cmtnode.Node, error) {
	signer, err := openSigner(cfg)
	if err != nil {
		return nil, err
	}
	cc := cometConfig(cfg)
	doc, err := cometGenesis(cfg)
	if err != nil {
		return nil, err
	}
	genesis := func() (*cmttypes.GenesisDoc, error) { return doc, nil }
	// The metrics are served by serveMetrics, so the node itself must not.
	instrumentation := cmtconfig.DefaultInstrumentationConfig()
	instrumentation.Prometheus = true
	logger := cmtlog.NewFilter(cmtlog.NewTMLogger(cmtlog.NewSyncWriter(os.Stderr)), cmtlog.AllowError())
	comet, err := cmtnode.NewNode(cc, signer, cometNodeKey(cfg.Seed, cfg.Index),
		proxy.NewLocalClientCreator(app), genesis, cmtconfig.DefaultDBProvider,
		cmtnode.DefaultMetricsProvider(instrumentation), watchdog{logger, app})
	if err != nil {
		return nil, fmt.Errorf("cometbft: %w", err)
	}
	return comet, nil
}

func cometConfig(cfg Config) *cmtconfig.Config {
	cc := cmtconfig.DefaultConfig()
	cc.SetRoot(cometDir(cfg))
	cc.Moniker = cfg.Name
	cc.DBBackend = "goleveldb"
	cc.Mempool.Type = "nop" // devp2p gossips the transactions
	cc.TxIndex.Indexer = "null"
	cc.Storage.DiscardABCIResponses = true
	cc.RPC.ListenAddress = "tcp://" + cfg.Listen.CometRPC
	if cfg.bug().comet != nil {
		cc.RPC.ListenAddress = "" // served by the bug
	}

	cc.P2P.ListenAddress = "tcp://" + cfg.Listen.CometP2P
	cc.P2P.PexReactor = false
	cc.P2P.AddrBookStrict = false
	cc.P2P.AllowDuplicateIP = true
	cc.P2P.MaxNumInboundPeers = 2*len(cfg.Names) + 8
	cc.P2P.FlushThrottleTimeout = 10 * time.Millisecond
	// No persistent peers: without peer exchange the bound on their dial period
	// does not apply, and CometBFT dials every 5 s, after two minutes ever more
	// rarely, and at last never again. dialPeers does it.

	cc.Consensus.TimeoutCommit = cfg.blockTime() - overhead
	cc.Consensus.TimeoutPropose = time.Second
	cc.Consensus.TimeoutPrevote = 500 * time.Millisecond
	cc.Consensus.TimeoutPrecommit = 500 * time.Millisecond
	cc.Consensus.PeerGossipSleepDuration = 10 * time.Millisecond
	return cc
}

// openSigner joins the derived key with the sign state on disk, which keeps a
// restarted validator from signing twice. A missing state is an error, never an
// invitation to start over.
func openSigner(cfg Config) (*privval.FilePV, error) {
	data, err := os.ReadFile(statePath(cfg))
	if err != nil {
		return nil, fmt.Errorf("sign state: %w", err)
	}
	var state privval.FilePVLastSignState
	if err := cmtjson.Unmarshal(data, &state); err != nil {
		return nil, fmt.Errorf("sign state %q: %w", statePath(cfg), err)
	}
	// The first path is never written: the key is not kept on disk.
	signer := privval.NewFilePV(validatorKey(cfg.Seed, cfg.Index), statePath(cfg)+".key", statePath(cfg))
	last := &signer.LastSignState
	last.Height, last.Round, last.Step = state.Height, state.Round, state.Step
	last.Signature, last.SignBytes = state.Signature, state.SignBytes
	return signer, nil
}

// watchdog is CometBFT's logger. When consensus panics CometBFT logs it and
// lives on with a halted chain; the watchdog turns that line into the end of Run.
type watchdog struct {
	cmtlog.Logger
	app *app
}

func (w watchdog) Error(msg string, keyvals ...any) {
	w.Logger.Error(msg, keyvals...)
	if strings.HasPrefix(msg, "CONSENSUS FAILURE") {
		_ = w.app.fail(fmt.Errorf("consensus failed: %v", keyvals))
	}
}

func (w watchdog) With(keyvals ...any) cmtlog.Logger {
	return watchdog{w.Logger.With(keyvals...), w.app}
}
