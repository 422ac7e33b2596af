package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

const (
	disconnectStart = "start-disconnect"
	disconnectStop  = "stop-disconnect"
)

// disconnectFault breaks the connections that are open, once.
type disconnectFault struct{ targets targets }

func disconnectEntry() Entry {
	return Entry{
		Name: "disconnect", Doc: "break the connections that nodes have open, once", Specs: specs(new(targets).param()),
		Start: disconnectStart, Stop: disconnectStop, Color: "#D4A5A5", New: newDisconnect,
	}
}

func newDisconnect(spec string) (Fault, error) {
	var f disconnectFault
	err := parseSpec(spec, f.targets.param())
	return f, err
}

func (d disconnectFault) Name() string { return "disconnect" + d.targets.suffix() }

func (disconnectFault) Start() string { return disconnectStart }
func (disconnectFault) Stop() string  { return disconnectStop }

func (d disconnectFault) Explain() string {
	return "Breaks every connection that the targets have open to other nodes with an RST to both ends, once; new ones may be opened at once. " +
		"RPC and metrics are never touched. " +
		"It bites when, for each target that runs, at least one connection was open and broken. " +
		"It is undone when, although nothing has to be taken back, bytes flow again on each edge that carried any before, between nodes that run: " +
		"that takes as long as the nodes take to dial anew. " + d.targets.explain()
}

func (d disconnectFault) Possible(r Reach) error {
	return linksPossible(d.Name(), d.targets, r, link.FeatureReset)
}

func (d disconnectFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	nodes, err := planLinks(ctx, d.Name(), d.targets, net, rng)
	if err != nil {
		return nil, err
	}
	return &disconnection{net: net, nodes: nodes, edges: edgesOf(net.Links, nodes, wayBoth), broken: make(map[link.Edge]int)}, nil
}

// disconnection is one application of disconnect.
type disconnection struct {
	net   Net
	nodes []string
	edges []link.Edge // both directions

	was    map[link.Edge]link.Counters // before
	at     map[link.Edge]link.Counters // after
	broken map[link.Edge]int           // by the edge from the node that comes first
}

func (d *disconnection) Value() history.Value {
	return history.MapOf(history.Keyword("nodes"), history.Vec(texts(d.nodes)...))
}

func (d *disconnection) UndoSteps() []Step { return []Step{{Kind: stepLinks, Edges: d.edges}} }

func (d *disconnection) Apply(context.Context) error {
	d.was = counters(d.net.Links, d.edges)
	for _, e := range d.edges {
		if slices.Index(d.net.Nodes, e.From) > slices.Index(d.net.Nodes, e.To) {
			continue // a reset takes both directions
		}
		n, err := d.net.Links.Reset(e)
		if err != nil {
			return fmt.Errorf("link %s: %w", e, err)
		}
		d.broken[e] += n
	}
	d.at = counters(d.net.Links, d.edges)
	return nil
}

// Probe looks at what Apply has counted: there is nothing to wait for.
func (d *disconnection) Probe(context.Context) (history.Value, error) {
	var kvs []history.Value
	run := 0
	for _, node := range d.nodes {
		n := 0
		for e, broken := range d.broken {
			if touches(e, []string{node}, wayBoth) {
				n += broken
			}
		}
		if nodeRuns(d.net, node) {
			run++
			if n == 0 {
				return history.Value{}, fmt.Errorf("links of %s: no connection was open", node)
			}
		}
		kvs = append(kvs, history.Text(node), history.MapOf(history.Keyword("resets"), history.Int(int64(n))))
	}
	if run == 0 {
		return history.Value{}, fmt.Errorf("%s: none of them runs", list(d.nodes))
	}
	return history.MapOf(kvs...), nil
}

func (d *disconnection) Undo(context.Context) error { return nil }

// VerifyUndone asks for bytes, and for new connections where the mechanism counts
// them.
func (d *disconnection) VerifyUndone(ctx context.Context) (history.Value, error) {
	f := flow{net: d.net, edges: d.edges, from: d.at, want: func(e link.Edge) bool { return d.was[e].Bytes > 0 },
		plain: func(link.Edge) bool { return true }}
	err := await(ctx, look, func() (string, error) {
		if missing := f.missing(); missing != "" {
			return missing, nil
		}
		for e, n := range d.broken {
			back := link.Edge{From: e.To, To: e.From}
			counted := d.was[e].Connections+d.was[back].Connections > 0
			// Since before the resets: a node may dial anew before the last of them.
			dialed := f.last[e].Connections + f.last[back].Connections - d.was[e].Connections - d.was[back].Connections
			if n > 0 && counted && dialed == 0 && nodeRuns(d.net, e.From) && nodeRuns(d.net, e.To) {
				return fmt.Sprintf("link %s: nobody has dialed anew", e), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	return f.value(), nil
}
