// Package validator is one validator of the embedded devnet: a go-ethereum
// execution node and CometBFT consensus in one operating system process, joined
// by the Engine API as plain Go calls.
//
// Guarantees. CometBFT's height is the EVM block number, and every CometBFT
// block holds exactly one EVM block. Finality is instant: latest, safe and
// finalized are the same block, which never changes once served, and a node
// never serves two heads out of order, not even across a SIGKILL: what it had
// committed is on disk, and JSON-RPC opens only after the crash replay. All keys
// and both genesis documents derive from the Config, so every node computes the
// same ones. Peers are dialled at the addresses of the Config and nowhere else.
//
// Bounds. One validator per process: the metric registries and the loggers of
// both clients are global. About 140 MiB of memory and a tenth of a core when idle,
// blocks every second or slower (EVM time has whole seconds). Fewer than a third
// of the validators may be away; else the chain halts until they are back.
//
// Not for: real networks (keys are derived from a string, RPC is open), blob
// transactions (they are never included: nobody keeps the sidecars), changing
// the validator set, pruning.
package validator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
)

// stopTimeout bounds how long CometBFT may take to stop; after it the databases
// are closed anyway, which is no worse than a kill.
const stopTimeout = 10 * time.Second

// Run runs the validator until ctx ends and then stops it in order: consensus,
// RPC, databases. It needs a directory prepared by Init. It returns nil after an
// ordered end, and an error when the node cannot start or consensus fails while
// it runs. Whatever the last incarnation had committed is replayed before
// JSON-RPC opens, so a refused connection means "not ready yet". Call it once
// per process, and end the process when it returns.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if err := checkMark(cfg); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", cfg.Name)
	log.Info("validator starts", "dir", cfg.Dir, "bug", cfg.Bug)
	started := time.Now()
	quietGeth()

	exec, err := openExecution(cfg)
	if err != nil {
		return err
	}
	app := newApp(exec, log)
	// Commits one replayed block at a time; RPC is still closed.
	comet, err := openComet(cfg, app)
	if err != nil {
		return errors.Join(err, exec.close())
	}
	replayed := exec.head()

	// What is started from here on ends with this context, also on an error.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := serveNode(ctx, cfg, exec, comet, log); err != nil {
		return errors.Join(err, stopComet(comet), exec.close())
	}
	log.Info("validator ready", "head", replayed.Number, "hash", replayed.Hash(), "took", time.Since(started).Round(time.Millisecond))

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-app.failed:
	}
	cancel()
	head := exec.head()
	err = errors.Join(failure, stopComet(comet), exec.close())
	log.Info("validator stopped", "head", head.Number, "hash", head.Hash(), "err", err)
	return err
}

// serveNode opens the ports: JSON-RPC and devp2p, metrics, then consensus.
func serveNode(ctx context.Context, cfg Config, exec *execution, comet *cmtnode.Node, log *slog.Logger) error {
	if err := serveMetrics(ctx, cfg.Listen); err != nil {
		return err
	}
	if err := exec.stack.Start(); err != nil {
		return fmt.Errorf("geth start: %w", err)
	}
	if err := serveBug(ctx, cfg, exec, comet, log); err != nil {
		return err
	}
	if err := comet.Start(); err != nil {
		return fmt.Errorf("cometbft start: %w", err)
	}
	return dialPeers(ctx, cfg, exec.stack.Server(), comet.Switch())
}

// stopComet stops consensus and waits until it is down, within stopTimeout.
func stopComet(comet *cmtnode.Node) error {
	if !comet.IsRunning() {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := comet.Stop()
		comet.Wait()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("cometbft did not stop within %v", stopTimeout)
	}
}

func cometDir(cfg Config) string { return filepath.Join(cfg.Dir, "comet") }
