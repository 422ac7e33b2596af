package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// startEnded starts a node if it does not run.
func startEnded(ctx context.Context, net Net, v victim) error {
	var up bool
	err := await(ctx, look, func() (string, error) {
		var id devnet.Identity
		if id, up = net.Processes.Identity(v.node); up && !devnet.Alive(id) {
			return fmt.Sprintf("%s: its end was not noticed", v), nil
		}
		return "", nil
	})
	if err != nil || up {
		return err
	}
	if _, err := net.Processes.Start(ctx, v.node); err != nil {
		return fmt.Errorf("node %q: start: %w", v.node, err)
	}
	return nil
}

// comeback waits until a node is ready after its disk failed, and tells how that
// went. restart allows to restart it once. That a node does not come back is a
// finding about the node, so it is evidence and no error.
func comeback(ctx context.Context, net Net, v victim, restart bool) []history.Value {
	began := time.Now()
	share := 0.9
	if restart {
		share = 0.45
	}
	last, _ := net.Processes.Identity(v.node) // how it ends, if it does
	err := ready(ctx, net, v.node, share)
	restarted := false
	if err != nil && restart {
		restarted = true
		if err = restartNode(ctx, net, v.node); err == nil {
			last, _ = net.Processes.Identity(v.node)
			err = ready(ctx, net, v.node, 0.9)
		}
	}
	var kvs []history.Value
	if id, up := net.Processes.Identity(v.node); up {
		kvs = identity(id)
		if id != v.id {
			kvs = append(kvs, history.Keyword("was"), history.MapOf(identity(v.id)...))
		}
	}
	if restarted {
		kvs = append(kvs, history.Keyword("restarted"), history.Flag(true))
	}
	kvs = append(kvs, history.Keyword("ready"), history.Flag(err == nil),
		history.Keyword("took-ms"), history.Int(time.Since(began).Milliseconds()))
	if err != nil {
		if e, ok := net.Processes.(Ender); ok && last != (devnet.Identity{}) {
			if state, ok := e.Ended(v.node, last); ok {
				err = fmt.Errorf("%w: %s", err, state)
			}
		}
		kvs = append(kvs, history.Keyword("finding"), history.Text(fmt.Sprintf("node %s did not come back: %v", v.node, err)))
	}
	return kvs
}

// advances waits until the node has a block more. CometBFT for one keeps a write
// error of its log for good: it answers, is not behind, and never votes again.
func advances(ctx context.Context, net Net, node string) error {
	if net.Chain == nil {
		return nil
	}
	had, asked := uint64(0), false
	return await(ctx, look, func() (string, error) {
		now, err := net.Chain.Height(ctx, node)
		switch {
		case err != nil:
			return err.Error(), nil
		case !asked:
			had, asked = now, true
		case now > had:
			return "", nil
		}
		return fmt.Sprintf("stays at block %d, although it is ready", now), nil
	})
}

// ready waits for a part of the time that is left.
func ready(ctx context.Context, net Net, node string, share float64) error {
	limit := 30 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(share*float64(limit)))
	defer cancel()
	return whileUp(ctx, net, node, func(ctx context.Context) error {
		if err := net.Processes.Ready(ctx, node); err != nil {
			return err
		}
		return advances(ctx, net, node)
	})
}

// whileUp waits for something of a node as long as its process lives: one that has
// ended will never do it.
func whileUp(ctx context.Context, net Net, node string, wait func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = await(ctx, look, func() (string, error) {
			if id, up := net.Processes.Identity(node); up && devnet.Alive(id) {
				return "it runs", nil
			}
			close(gone)
			cancel()
			return "", nil
		})
	}()
	err := wait(ctx)
	cancel()
	<-watched
	select {
	case <-gone:
		return errors.New("its process ended")
	default:
		return err
	}
}

// restartNode kills a node and starts it.
func restartNode(ctx context.Context, net Net, node string) error {
	if id, up := net.Processes.Identity(node); up {
		if err := devnet.Signal(id, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		err := await(ctx, look, func() (string, error) {
			if now, up := net.Processes.Identity(node); up && now == id {
				return fmt.Sprintf("node %q: still runs after SIGKILL", node), nil
			}
			return "", nil
		})
		if err != nil {
			return err
		}
	}
	_, err := net.Processes.Start(ctx, node)
	return err
}
