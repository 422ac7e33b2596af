package embedded

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
)

// newGroup is the validators' processes, none of them started.
func (n *Network) newGroup() *child.Group {
	return child.New(child.Options{
		Names: n.state.Names,
		Dir:   n.dir,
		Log:   func(name string) string { return logPath(n.dir, name) },
		Command: func(_ context.Context, name string, log *os.File) (*exec.Cmd, error) {
			return tied(log, validatorCommand, "--config", configPath(n.dir, name)), nil
		},
		Start: func(name string, cmd *exec.Cmd) error { return n.links.starter(name)(cmd) },
	})
}

func (n *Network) find(name string) (*devnet.Node, error) {
	for i := range n.nodes {
		if n.nodes[i].Name == name {
			return &n.nodes[i], nil
		}
	}
	return nil, fmt.Errorf("node %q: no such node, expected one of %q", name, n.state.Names)
}

// Identity returns the node's present incarnation; ok is false when it is not
// running or there is no such node.
func (n *Network) Identity(name string) (id devnet.Identity, ok bool) {
	return n.group.Identity(name)
}

// Start starts a node that is not running on its old data directory, before it
// is ready: see Ready. A node that was killed just now is waited for.
func (n *Network) Start(ctx context.Context, name string) (devnet.Identity, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.disks[name]; d != nil && !d.Mounted() {
		return devnet.Identity{}, fmt.Errorf("node %s: its disk %q is not mounted", name, d.Dir())
	}
	id, err := n.group.Start(ctx, name)
	if err != nil {
		return devnet.Identity{}, err
	}
	n.state.Processes[name] = id
	return id, n.state.write(n.dir)
}

// Ended says how that incarnation of the node ended; ok is false while it runs,
// and when it is not the newest.
func (n *Network) Ended(name string, id devnet.Identity) (state string, ok bool) {
	return n.group.Ended(name, id)
}

// Signal sends sig to the node's present incarnation.
func (n *Network) Signal(name string, sig syscall.Signal) error { return n.group.Signal(name, sig) }

// Kill ends the node's present incarnation with SIGKILL and waits until it is
// gone; a node that is not running stays so.
func (n *Network) Kill(ctx context.Context, name string) error { return n.group.Kill(ctx, name) }
