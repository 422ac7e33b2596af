package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/ask"
)

// Health is how the devnet of a directory is now, by observation.
type Health struct {
	Running    bool         `json:"running"`    // a process owns it: a supervisor or a test
	Supervised bool         `json:"supervised"` // that process is a supervisor
	Nodes      []NodeHealth `json:"nodes"`
}

// NodeHealth is how one node is now.
type NodeHealth struct {
	devnet.Node
	Process    devnet.Identity `json:"process,omitzero"`
	Alive      bool            `json:"alive"`
	Height     uint64          `json:"height"`
	CatchingUp bool            `json:"catching_up"`
	Problem    string          `json:"problem,omitempty"` // why it does not answer
}

// Healthy reports whether the devnet runs and every node of it answers and has
// caught up.
func (h *Health) Healthy() bool {
	for _, n := range h.Nodes {
		if !n.Alive || n.CatchingUp || n.Problem != "" {
			return false
		}
	}
	return h.Running
}

// String renders the node as a line.
func (n NodeHealth) String() string {
	switch {
	case !n.Alive:
		return fmt.Sprintf("%s\tdown", n.Name)
	case n.Problem != "":
		return fmt.Sprintf("%s\tpid %d\t%s\t%s", n.Name, n.Process.PID, n.HTTP, n.Problem)
	case n.CatchingUp:
		return fmt.Sprintf("%s\tpid %d\theight %d, catching up\t%s\t%s", n.Name, n.Process.PID, n.Height, n.HTTP, n.WS)
	}
	return fmt.Sprintf("%s\tpid %d\theight %d\t%s\t%s", n.Name, n.Process.PID, n.Height, n.HTTP, n.WS)
}

// Status looks at the devnet of a directory: its processes, and what its nodes
// answer within two seconds. A devnet that is down is no error, a directory
// without one is.
func Status(ctx context.Context, dir string) (*Health, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	state, err := readState(dir)
	if err != nil {
		return nil, err
	}
	h := &Health{Running: state.running(), Nodes: make([]NodeHealth, len(state.Nodes))}
	h.Supervised = h.Running && state.Supervised
	var wg sync.WaitGroup
	for i, node := range state.Nodes {
		wg.Go(func() { h.Nodes[i] = nodeStatus(ctx, node, state.Processes[node.Name]) })
	}
	wg.Wait()
	return h, nil
}

func nodeStatus(ctx context.Context, node devnet.Node, process devnet.Identity) NodeHealth {
	h := NodeHealth{Node: node, Process: process}
	if process.PID == 0 || !devnet.Alive(process) {
		h.Problem = os.ErrProcessDone.Error()
		return h
	}
	h.Alive = true
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	height, heightErr := ask.Height(ctx, node.HTTP)
	comet, cometErr := ask.Comet(ctx, node.Comet)
	if err := errors.Join(heightErr, cometErr); err != nil {
		h.Problem = err.Error()
	}
	h.Height, h.CatchingUp = height, comet.CatchingUp
	return h
}
