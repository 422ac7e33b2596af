package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// Peers is the power to set hostile peers on nodes.
type Peers interface {
	// Attack starts a hostile peer of that kind against the node; it goes on until
	// Close. Random bytes follow from the seed.
	Attack(node, kind string, seed uint64) (Attack, error)
	// Strangers returns how many peers the node has that are no nodes of the
	// network.
	Strangers(ctx context.Context, node string) (int, error)
}

// Attack is a hostile peer at work.
type Attack interface {
	// Bites returns what is missing for the attack to count, "" for nothing.
	Bites() string
	// Counters is what has happened so far.
	Counters() devnet.Hostility
	Close()
}

// peerKinds are the attacks of package devnet/peer, which is too heavy to be
// imported here; its tests hold the two lists together.
func peerKinds() []string {
	return []string{"bad-genesis", "bad-network", "bad-range", "second-status", "bad-range-update",
		"hash-flood", "transaction-flood", "header-flood", "block-hashes", "garbage"}
}

// PeerKinds lists the attacks that the fault peer takes.
func PeerKinds() []string { return peerKinds() }

// peerFault sets a hostile devp2p peer on nodes.
type peerFault struct {
	targets targets
	kind    string // "": drawn
}

func peerEntry() Entry {
	var f peerFault
	return Entry{
		Name: "peer", Doc: "set a hostile devp2p peer on nodes",
		Specs: specs(f.targets.param(), oneOf(&f.kind, peerKinds()...)), Start: "start-peer", Stop: "stop-peer", Color: "#8FC7B5",
		New: func(spec string) (Fault, error) {
			var f peerFault
			err := parseSpec(spec, f.targets.param(), oneOf(&f.kind, peerKinds()...))
			return f, err
		},
	}
}

func (f peerFault) Name() string {
	name := "peer" + f.targets.suffix()
	if f.kind != "" {
		name += ":" + f.kind
	}
	return name
}

func (peerFault) Start() string { return "start-peer" }
func (peerFault) Stop() string  { return "stop-peer" }

func (f peerFault) Explain() string {
	return "Connects to nodes as a devp2p peer with a key of its own and breaks the rules of the eth protocol, over and over: " +
		list(peerKinds()) + ". It does not touch the consensus layer, and it goes straight to the node, past the links. " +
		"It bites when the node has taken a connection and been sent what breaks the rules; the evidence says how often the node hung up, and why. " +
		"It is undone when the connections are closed and the node, asked over RPC, has no peer that is not of the network. " + f.targets.explain()
}

func (f peerFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	if !r.Peers {
		return fmt.Errorf("nemesis %q: the devp2p identities of these nodes are not known", f.Name())
	}
	return nil
}

func (f peerFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	if net.Peers == nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), devnet.ErrNoControl)
	}
	kind := f.kind
	if kind == "" {
		kind = peerKinds()[rng.IntN(len(peerKinds()))]
	}
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	return &attacking{net: net, victims: vs, kind: kind, seed: rng.Uint64()}, nil
}

// attacking is one application of peer.
type attacking struct {
	net     Net
	victims []victim
	kind    string
	seed    uint64
	attacks []Attack
}

func (a *attacking) Value() history.Value {
	return history.MapOf(
		history.Keyword("nodes"), history.Vec(texts(names(a.victims))...),
		history.Keyword("attack"), history.Keyword(a.kind))
}

// UndoSteps are none: the connections end with this process.
func (a *attacking) UndoSteps() []Step { return nil }

func (a *attacking) Apply(context.Context) error {
	var errs []error
	for i, v := range a.victims {
		attack, err := a.net.Peers.Attack(v.node, a.kind, a.seed+uint64(i))
		if err != nil {
			errs = append(errs, fmt.Errorf("node %q: %w", v.node, err))
			continue
		}
		a.attacks = append(a.attacks, attack)
	}
	return errors.Join(errs...)
}

func (a *attacking) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		for i, attack := range a.attacks {
			if missing := attack.Bites(); missing != "" {
				return fmt.Sprintf("%s: %s", a.victims[i].node, missing), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	return a.seen(), nil
}

// seen is what has happened so far, node by node.
func (a *attacking) seen() history.Value {
	var kvs []history.Value
	for i, attack := range a.attacks {
		kvs = append(kvs, history.Text(a.victims[i].node), hostility(attack.Counters()))
	}
	return history.MapOf(kvs...)
}

func hostility(c devnet.Hostility) history.Value {
	var reasons []history.Value
	for _, why := range slices.Sorted(maps.Keys(c.Reasons)) {
		reasons = append(reasons, history.Text(why), history.Int(c.Reasons[why]))
	}
	return history.MapOf(
		history.Keyword("connections"), history.Int(c.Connections),
		history.Keyword("sent"), history.Int(c.Sent),
		history.Keyword("hung-up"), history.Int(c.HungUp),
		history.Keyword("reasons"), history.MapOf(reasons...))
}

func (a *attacking) Undo(context.Context) error {
	for _, attack := range a.attacks {
		attack.Close()
	}
	return nil
}

// VerifyUndone asks nodes that run; one that does not has no peers.
func (a *attacking) VerifyUndone(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		for _, v := range a.victims {
			if _, up := a.net.Processes.Identity(v.node); !up {
				continue
			}
			n, err := a.net.Peers.Strangers(ctx, v.node)
			switch {
			case err != nil:
				return fmt.Sprintf("%s: %v", v.node, err), nil
			case n > 0:
				return fmt.Sprintf("%s: has %d peers that are no nodes of the network", v.node, n), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	return a.seen(), nil
}
