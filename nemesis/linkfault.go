package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/history"
)

// shaper is what tells one fault that shapes links from another: its file.
type shaper interface {
	// params read the spec into the shaper, suffix prints it again.
	params() []param
	suffix() string
	// features must be among what the links offer.
	features() []link.Feature
	// explain says what it does, and ends a sentence that begins with "It bites
	// when, for each target that runs, ".
	explain() (does, bites string)
	// draw fixes for one application what the spec leaves open.
	draw(rng *rand.Rand) drawnShape
}

// drawnShape is a shape with nothing left open.
type drawnShape struct {
	shape link.Shape
	value []history.Value // its parameters, keys and values
	// bites says what is missing to see that it bites a node; "" when it is seen.
	bites func(s sight) (missing string)
	// measured adds evidence of one edge; nil: none.
	measured func(c link.Counters, took time.Duration) []history.Value
	// breaks says that connections are to be reset once the edges have the shape,
	// because it shows only when one ends.
	breaks bool
}

// linkFault is a Fault made of a shaper.
type linkFault struct {
	name    string
	shaper  shaper
	targets targets
	way     string // "": defaultWay
	usual   string // the way when none is given
}

// The ways of traffic that a fault shapes, seen from its targets.
const (
	wayIn   = "in"
	wayOut  = "out"
	wayBoth = "both"
)

// linkEntry makes an entry of a shaper; usual is the way when none is given.
func linkEntry(name, doc, color, usual string, made func() shaper) Entry {
	start := func() *linkFault { return &linkFault{name: name, shaper: made(), usual: usual} }
	return Entry{
		Name: name, Doc: doc, Specs: specs(start().params()...),
		Start: "start-" + name, Stop: "stop-" + name, Color: color,
		New: func(spec string) (Fault, error) {
			f := start()
			if err := parseSpec(spec, f.params()...); err != nil {
				return nil, err
			}
			return f, nil
		},
	}
}

func (f *linkFault) params() []param {
	return append(f.shaper.params(), oneOf(&f.way, wayIn, wayOut, wayBoth), f.targets.param())
}

func (f *linkFault) Name() string {
	name := f.name + f.shaper.suffix() + f.targets.suffix()
	if f.way != "" {
		name += ":" + f.way
	}
	return name
}

func (f *linkFault) Start() string { return "start-" + f.name }
func (f *linkFault) Stop() string  { return "stop-" + f.name }

func (f *linkFault) Explain() string {
	does, bites := f.shaper.explain()
	var way string
	switch f.ways() {
	case wayIn:
		way = "what the targets receive"
	case wayOut:
		way = "what the targets send"
	default:
		way = "what the targets send and receive"
	}
	return fmt.Sprintf("%s It is done to %s over the links between nodes; RPC and metrics are never touched. "+
		"It bites when, for each target that runs, %s, by the counters of the shaped edges since they had the shape. "+
		"It is undone when each edge has again the shape that it had before, and on each edge that carried bytes before, "+
		"between nodes that run, bytes flow of which none is held back, lost or changed any more. "+
		"A target that restarts meanwhile meets the same links. %s", does, way, bites, f.targets.explain())
}

func (f *linkFault) ways() string {
	if f.way != "" {
		return f.way
	}
	return f.usual
}

func (f *linkFault) Possible(r Reach) error {
	return linksPossible(f.Name(), f.targets, r, f.shaper.features()...)
}

// linksOffer says why a fault in links that needs these features cannot be made
// with that reach.
func linksOffer(name string, r Reach, features ...link.Feature) error {
	if r.Links == nil {
		return fmt.Errorf("nemesis %q: %w", name, devnet.ErrNoControl)
	}
	for _, feature := range features {
		if link.Offers(r.Links, feature) {
			continue
		}
		why := "links of the kind asked for have no such thing"
		if len(r.Links) == 0 {
			why = "nodes that dial each other directly leave nothing between them that could do it"
		}
		return fmt.Errorf("nemesis %q: needs %s: %s (%s)", name, mechanismsOf(features...), why, feature)
	}
	return nil
}

// linksPossible is Possible for a fault in the links of nodes.
func linksPossible(name string, ts targets, r Reach, features ...link.Feature) error {
	if err := linksOffer(name, r, features...); err != nil {
		return err
	}
	if r.Nodes < 2 {
		return fmt.Errorf("nemesis %q: needs at least 2 nodes, and there are %d", name, r.Nodes)
	}
	r.Processes = true // links do not need it
	return ts.possible(name, r)
}

// mechanismsOf names the links that offer all of some features.
func mechanismsOf(features ...link.Feature) string {
	var able []string
	for _, m := range mechanism.Names() {
		offered, err := mechanism.Features(m)
		if err == nil && !slices.ContainsFunc(features, func(f link.Feature) bool { return !link.Offers(offered, f) }) {
			able = append(able, "--link "+m)
		}
	}
	if len(able) == 0 {
		return "--link emulator, which this jepgo does not have"
	}
	return strings.Join(able, " or ")
}

func (f *linkFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	nodes, err := planLinks(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	d := f.shaper.draw(rng)
	if err := d.shape.Check(net.Links.Features()); err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	return &shaping{
		net: net, drawn: d, nodes: nodes, way: f.ways(), edges: edgesOf(net.Links, nodes, f.ways()),
		was: make(map[link.Edge]link.Counters), left: make(map[link.Edge]link.Shape),
	}, nil
}

// planLinks draws whose links are hit.
func planLinks(ctx context.Context, name string, ts targets, net Net, rng *rand.Rand) ([]string, error) {
	if net.Links == nil {
		return nil, fmt.Errorf("nemesis %q: %w", name, devnet.ErrNoControl)
	}
	candidates := slices.DeleteFunc(slices.Clone(net.Nodes), func(n string) bool { return !nodeRuns(net, n) })
	nodes, err := ts.draw(ctx, net, candidates, rng)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: among the nodes that run now: %w", name, err)
	}
	return nodes, nil
}

// edgesOf lists the edges of nodes, in the order of the links.
func edgesOf(links link.Link, nodes []string, way string) []link.Edge {
	return slices.DeleteFunc(links.Edges(), func(e link.Edge) bool { return !touches(e, nodes, way) })
}

func touches(e link.Edge, nodes []string, way string) bool {
	return way != wayIn && slices.Contains(nodes, e.From) || way != wayOut && slices.Contains(nodes, e.To)
}

// nodeRuns reports whether the node has a process that runs and is not stopped;
// true where processes are out of reach.
func nodeRuns(net Net, node string) bool {
	if net.Processes == nil {
		return true
	}
	id, ok := net.Processes.Identity(node)
	if !ok {
		return false
	}
	state, _, err := devnet.State(id)
	return err == nil && devnet.Alive(id) && state != stopped
}

// between draws uniformly, in whole milliseconds.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(rng.Int64N(int64(most-least)+1))).Round(time.Millisecond)
}
