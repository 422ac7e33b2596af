package runner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/attach"
	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/embedded"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/process"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

// network is the test's network: one that jepgo started, or an attached one whose
// processes and links are out of reach.
type network struct {
	devnet.Network
	own       started           // nil when attached
	embedded  *embedded.Network // own, where its nodes are jepgo's; else nil
	proposers nemesis.Proposers // own, where it tells who proposes; else nil
}

// started is a network whose nodes jepgo has started, whatever they are.
type started interface {
	devnet.Network
	nemesis.Processes
	nemesis.Chain
	nemesis.RPC
	nemesis.Disks
	Links() link.Link
	Exits() <-chan child.Exit
}

// power is what the nemesis may do to it.
func (n *network) power(quorum nemesis.Quorum) nemesis.Net {
	power := nemesis.Net{Quorum: quorum, Metrics: make(map[string][]string)}
	for _, node := range n.Nodes() {
		power.Nodes = append(power.Nodes, node.Name)
		for _, url := range node.Metrics {
			power.Metrics[node.Name] = append(power.Metrics[node.Name], url)
		}
		slices.Sort(power.Metrics[node.Name])
	}
	if n.own != nil {
		power.Processes, power.Links, power.Chain, power.RPC, power.Disks = n.own, n.own.Links(), n.own, n.own, n.own
	}
	if n.embedded != nil {
		power.Configs, power.Peers = n.embedded, hostile{n.embedded}
	}
	power.Proposers = n.proposers
	return power
}

// hostile lets the nemesis see a devnet's hostile peers by its own interface.
type hostile struct{ *embedded.Network }

func (h hostile) Attack(node, kind string, seed uint64) (nemesis.Attack, error) {
	attack, err := h.Network.Attack(node, kind, seed)
	if err != nil {
		return nil, err
	}
	return attack, nil
}

// Bounds of the network's own steps.
const (
	startBound = 2 * time.Minute  // a slow, busy machine included
	closeBound = 30 * time.Second // SIGTERM first, SIGKILL at the end
)

// attach joins the network behind --rpc; nil where there is none.
func (o *Options) attach(ctx context.Context) (*attach.Network, error) {
	if len(o.RPC) == 0 {
		return nil, nil
	}
	n, err := attach.Attach(ctx, o.endpoints())
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	return n, nil
}

func (t *test) startNetwork(ctx context.Context, accounts *client.Accounts) (*network, error) {
	start := time.Now()
	needs := nemesis.NeedsOf(t.o.faults)
	if t.o.file != nil {
		n, err := process.Start(ctx, process.Options{
			File: t.o.file, Dir: t.run.Path(store.NodesDir), Seed: fmt.Sprint(t.o.Seed),
			Alloc: accounts.Addresses(t.senders()), RPCProxies: needs.RPC, Link: t.o.Link,
		})
		switch {
		case err != nil && ctx.Err() == nil && !errors.Is(err, syscall.ENOSPC):
			// A program that is not there, or does not like its arguments.
			return nil, usage.Errorf("--devnet %q: %w", t.o.Devnet, err)
		case err != nil:
			return nil, err
		}
		t.log.Info("devnet makes blocks", "file", t.o.Devnet, "nodes", t.o.Nodes, "took", time.Since(start).Round(time.Millisecond))
		net := &network{Network: n, own: n}
		if _, comet := t.o.file.Serves(); comet {
			net.proposers = n
		}
		return net, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	if t.attached != nil {
		return &network{Network: t.attached}, nil
	}
	n, err := embedded.Start(ctx, embedded.Options{
		Dir: t.run.Path(store.NodesDir), Nodes: t.o.Nodes, Seed: fmt.Sprint(t.o.Seed),
		Alloc: accounts.Addresses(t.senders()), Bug: t.o.Bug, Link: t.o.Link, Disks: needs.Disks, RPCProxies: needs.RPC,
	})
	if err != nil {
		return nil, err
	}
	t.log.Info("devnet makes blocks", "nodes", t.o.Nodes, "took", time.Since(start).Round(time.Millisecond))
	return &network{Network: n, own: n, embedded: n, proposers: n}, nil
}

// fund gives the senders their funds, unless they have them in the genesis, as on
// an embedded network.
func (t *test) fund(ctx context.Context, accounts *client.Accounts) error {
	key := t.o.Key
	if t.o.file != nil {
		key = t.o.file.FaucetKey
	}
	if t.net.own != nil && key == "" {
		return nil
	}
	if key == "" {
		key = hex.EncodeToString(crypto.FromECDSA(validator.FaucetKey()))
	}
	t.log.Info("funding sender accounts", "accounts", t.senders())
	if err := accounts.Fund(ctx, t.clients[0], key, t.senders()); err != nil {
		return usage.Errorf("--key: %w", err)
	}
	return nil
}

// findProfile says which claims are fair.
func (t *test) findProfile(ctx context.Context) (claims.Profile, error) {
	if t.o.Claim != "" {
		return claims.ParseLevel(t.o.Claim)
	}
	if t.o.file != nil {
		return claims.ParseProfile(t.o.file.Profile)
	}
	if t.net.embedded != nil {
		return claims.ParseProfile("bft")
	}
	return workloads.Detect(ctx, t.clients)
}

// watchNodes records the end of every node process. Which of them the nemesis
// meant is for the reader of the history to say: it lies within a fault that
// restarts that node.
func (t *test) watchNodes(ctx context.Context) {
	if t.net.own == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case exit := <-t.net.own.Exits():
			level, fault := slog.LevelWarn, t.journal.meter.fault()
			if fault != noFault && (exit.Signal == syscall.SIGKILL || exit.Code == 0) {
				level = slog.LevelDebug // as the nemesis does it
			}
			t.log.Log(ctx, level, "node process ended", "node", exit.Node, "state", exit.State, "fault", fault, "log", exit.Log)
			t.log.Debug("the last lines of its log", "node", exit.Node, "tail", exit.Tail)
			if err := t.journal.note("exit", history.MapOf(
				history.Keyword("node"), history.Text(exit.Node),
				history.Keyword("state"), history.Text(exit.State))); err != nil {
				return
			}
		}
	}
}

// closeNetwork stops the network, or hands it over to a supervisor of its own.
func (t *test) closeNetwork() error {
	for _, c := range t.clients {
		c.Close()
	}
	for _, c := range t.comets {
		c.Close()
	}
	if t.net == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	err := t.net.Close(ctx)
	if t.o.Keep && err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startBound)
		defer cancel()
		state, upErr := embedded.Up(ctx, embedded.UpOptions{Dir: t.run.Path(store.NodesDir)})
		if upErr != nil {
			return fmt.Errorf("devnet could not be kept up: %w", upErr)
		}
		t.kept = t.run.Path(store.NodesDir)
		for _, n := range state.Nodes {
			t.log.Info("devnet is left up", "node", n.Name, "http", n.HTTP)
		}
	}
	if err != nil {
		return errors.Join(errors.New("devnet did not stop cleanly"), err)
	}
	return nil
}
