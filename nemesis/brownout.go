package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

// brownoutFault makes a node slow in every way at once.
type brownoutFault struct{ targets targets }

func brownoutEntry() Entry {
	return Entry{
		Name: "brownout", Doc: "delay, loss and too little processor time at once, on the same node",
		Specs: specs(new(targets).param()), Start: "start-brownout", Stop: "stop-brownout", Color: "#C9A66B",
		New: func(spec string) (Fault, error) {
			var f brownoutFault
			err := parseSpec(spec, f.targets.param())
			return f, err
		},
	}
}

func (f brownoutFault) Name() string { return "brownout" + f.targets.suffix() }

func (brownoutFault) Start() string { return "start-brownout" }
func (brownoutFault) Stop() string  { return "stop-brownout" }

func (f brownoutFault) Explain() string {
	return "Makes nodes slow in every way at once, as a host does that is short of everything: the faults delay, loss and throttle on the same nodes; " +
		"where the links carry streams and cannot lose a packet, stall in place of loss. " +
		"It bites when each of them is seen to bite, by its own evidence. " +
		"It is undone when each is undone, in reverse, and seen so. " + f.only().explain()
}

// only is one node where nothing else was asked for: a brownout of many is an
// outage.
func (f brownoutFault) only() targets { return oneOfThem(f.targets) }

// parts are the faults that it is made of over links that offer that.
func (f brownoutFault) parts(offered []link.Support) ([]Fault, error) {
	lossy := "stall"
	if link.Offers(offered, link.FeatureLoss) {
		lossy = "loss"
	}
	var parts []Fault
	for _, name := range []string{"delay", lossy, "throttle"} {
		_, part, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (f brownoutFault) Possible(r Reach) error {
	if r.Links == nil {
		return fmt.Errorf("nemesis %q: %w", f.Name(), devnet.ErrNoControl)
	}
	if err := f.only().possible(f.Name(), r); err != nil {
		return err
	}
	parts, err := f.parts(r.Links)
	if err != nil {
		return fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	for _, p := range parts {
		if err := p.Possible(r); err != nil {
			return &partError{f.Name(), p.Name(), err}
		}
	}
	return nil
}

// Needs are those of its parts.
func (f brownoutFault) Needs() Needs {
	parts, err := f.parts(nil)
	if err != nil {
		return Needs{}
	}
	return NeedsOf(parts)
}

func (f brownoutFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	if net.Links == nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), devnet.ErrNoControl)
	}
	vs, err := f.only().plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	parts, err := f.parts(net.Links.Features())
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), err)
	}
	pieces, err := planPieces(ctx, net, rng, names(vs), f.Name(), parts)
	if err != nil {
		return nil, err
	}
	return &together{nodes: names(vs), pieces: pieces}, nil
}
