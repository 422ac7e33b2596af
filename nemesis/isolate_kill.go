package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// isolateKillFault cuts nodes off, kills them while nobody hears them, and brings
// them back: what they knew alone is all that they have.
type isolateKillFault struct{ targets targets }

func isolateKillEntry() Entry {
	return Entry{
		Name: "isolate-kill", Doc: "cut a node off, kill it, and bring it back before or after its links heal",
		Specs: specs(new(targets).param()), Start: "start-isolate-kill", Stop: "stop-isolate-kill", Color: "#D98BB4",
		New: func(spec string) (Fault, error) {
			var f isolateKillFault
			err := parseSpec(spec, f.targets.param())
			return f, err
		},
	}
}

func (f isolateKillFault) Name() string { return "isolate-kill" + f.targets.suffix() }

func (isolateKillFault) Start() string { return "start-isolate-kill" }
func (isolateKillFault) Stop() string  { return "stop-isolate-kill" }

func (f isolateKillFault) Explain() string {
	return "Three phases: cuts nodes off the rest; when that was seen to bite and some time has passed, kills them with SIGKILL, so that what they did alone is only on their disks; " +
		"then brings them back. Drawn for each application: how long they are alone, whether they start before or after their links heal, and in which order the links heal, one by one. " +
		"It bites when the cut swallowed bytes or dials of every node and passed not one byte, and then the very processes that were named are seen gone. " +
		"It is undone when each node runs as a new process and has caught up, no link is cut and bytes flow on those that carried any before. " +
		oneOfThem(f.targets).explain()
}

func (f isolateKillFault) Possible(r Reach) error {
	if err := linksOffer(f.Name(), r, link.FeatureCut); err != nil {
		return err
	}
	if r.Nodes < 2 {
		return fmt.Errorf("nemesis %q: needs at least 2 nodes, and there are %d", f.Name(), r.Nodes)
	}
	return oneOfThem(f.targets).possible(f.Name(), r)
}

func (f isolateKillFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	if net.Links == nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), devnet.ErrNoControl)
	}
	vs, err := oneOfThem(f.targets).plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	grudge := split(net.Nodes, names(vs))
	c := &cut{net: net, kind: "one", grudge: grudge, edges: grudge.edges(net.Nodes)}
	if len(c.edges) == 0 {
		return nil, fmt.Errorf("nemesis %q: %s: nobody is left to be cut off from", f.Name(), list(names(vs)))
	}
	_, kill, err := Lookup("kill")
	if err != nil {
		return nil, err
	}
	pieces, err := planPieces(ctx, net, rng, names(vs), f.Name(), []Fault{kill})
	if err != nil {
		return nil, err
	}
	heal := make([]link.Edge, len(c.edges))
	for i, at := range rng.Perm(len(c.edges)) {
		heal[i] = c.edges[at]
	}
	return &isolateKilling{
		net: net, victims: vs, cut: c, kill: pieces[0].app, heal: heal,
		alone:      500*time.Millisecond + time.Duration(rng.IntN(26))*100*time.Millisecond,
		linksFirst: rng.IntN(2) == 0,
	}, nil
}

// isolateKilling is one application of isolate-kill.
type isolateKilling struct {
	net        Net
	victims    []victim
	cut        *cut
	kill       Application
	alone      time.Duration // from the evidence of the cut to the kill
	heal       []link.Edge   // in this order
	linksFirst bool

	isolated history.Value // evidence of the cut
}

func (k *isolateKilling) Value() history.Value {
	var order []history.Value
	for _, e := range k.heal {
		order = append(order, edgeValue(e))
	}
	first := "start"
	if k.linksFirst {
		first = "links"
	}
	return history.MapOf(
		history.Keyword("nodes"), history.Vec(texts(names(k.victims))...),
		history.Keyword("restarts"), history.Flag(true),
		history.Keyword("alone-ms"), history.Int(k.alone.Milliseconds()),
		history.Keyword("first"), history.Keyword(first),
		history.Keyword("heal"), history.Vec(order...))
}

func (k *isolateKilling) UndoSteps() []Step { return append(k.cut.UndoSteps(), k.kill.UndoSteps()...) }

// Apply kills only what was seen to be alone.
func (k *isolateKilling) Apply(ctx context.Context) error {
	if err := k.cut.Apply(ctx); err != nil {
		return err
	}
	var err error
	if k.isolated, err = k.cut.Probe(ctx); err != nil {
		return fmt.Errorf("isolate: %w", err)
	}
	if !idle(ctx, k.alone) {
		return fmt.Errorf("isolate: %w", context.Cause(ctx))
	}
	return k.kill.Apply(ctx)
}

func (k *isolateKilling) Probe(ctx context.Context) (history.Value, error) {
	killed, err := k.kill.Probe(ctx)
	if err != nil {
		return history.Value{}, err
	}
	return history.MapOf(history.Keyword("isolated"), k.isolated, history.Keyword("killed"), killed), nil
}

func (k *isolateKilling) Stands() error { return k.cut.Stands() }

func (k *isolateKilling) Undo(ctx context.Context) error {
	if k.linksFirst {
		return errors.Join(k.healLinks(), k.kill.Undo(ctx))
	}
	return errors.Join(k.kill.Undo(ctx), k.healLinks())
}

func (k *isolateKilling) healLinks() error {
	var errs []error
	for _, e := range k.heal {
		errs = append(errs, k.net.Links.Heal(e))
	}
	return errors.Join(append(errs, k.cut.Undo(context.Background()))...)
}

func (k *isolateKilling) VerifyUndone(ctx context.Context) (history.Value, error) {
	started, err := k.kill.VerifyUndone(ctx)
	if err != nil {
		return history.Value{}, err
	}
	healed, err := k.cut.VerifyUndone(ctx)
	if err != nil {
		return history.Value{}, err
	}
	return history.MapOf(history.Keyword("started"), started, history.Keyword("healed"), healed), nil
}

// oneOfThem is one node where nothing else was asked for: for a fault that is
// an outage when it hits many.
func oneOfThem(t targets) targets {
	if t.kind == nil && t.node == "" {
		for _, k := range targetKinds() {
			if k.name == "one" {
				t.kind = &k
			}
		}
	}
	return t
}
