package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

const (
	partitionStart = "start-partition"
	partitionStop  = "stop-partition"
)

// stepLinks heals Edges, which are gone with the process that owns them.
const stepLinks = "links"

func takeBackLinks(context.Context, Step) (string, error) {
	return "the links ended with the process that owned them", nil
}

// partitionFault cuts links by a grudge.
type partitionFault struct {
	kind   *grudgeKind   // nil: another kind for each application
	period time.Duration // of flapping; 0: drawn
	node   string        // that one cuts off; "": drawn
}

func partitionEntry() Entry {
	return Entry{
		Name: "partition", Doc: "cut links between nodes by a grudge, and heal them", Specs: specs(new(partitionFault).params()...),
		Start: partitionStart, Stop: partitionStop, Color: "#E9A0E6", New: newPartition,
	}
}

// newPartition reads the part of --nemesis after the colon.
func newPartition(spec string) (Fault, error) {
	var p partitionFault
	if err := parseSpec(spec, p.params()...); err != nil {
		return nil, err
	}
	if p.period > 0 && (p.kind == nil || p.kind.name != "flapping") {
		return nil, fmt.Errorf("period %v: expected it with flapping only", p.period)
	}
	if p.node != "" && p.kind == nil {
		i := slices.IndexFunc(grudgeKinds(), func(k grudgeKind) bool { return k.name == oneNode })
		p.kind = &grudgeKinds()[i]
	}
	if p.node != "" && p.kind.name != oneNode {
		return nil, fmt.Errorf("node %q: expected it with the grudge %s only, or with none", p.node, oneNode)
	}
	return p, nil
}

// oneNode is the grudge that may be told which node.
const oneNode = "one"

func (p *partitionFault) params() []param {
	return []param{
		{
			doc: "a grudge (" + list(grudgeNames()) + ")", names: grudgeNames(),
			take: func(part string) (bool, error) {
				for _, k := range grudgeKinds() {
					if k.name == part {
						p.kind = &k
						return true, nil
					}
				}
				return false, nil
			},
		},
		{
			doc: "a node such as n2, to be cut off alone",
			take: func(part string) (bool, error) {
				if !isNode(part) {
					return false, nil
				}
				p.node = part
				return true, nil
			},
		},
		duration(&p.period, "the period of flapping such as 2s", 100*time.Millisecond, time.Hour),
	}
}

func (p partitionFault) Name() string {
	name := "partition"
	if p.kind != nil {
		name += ":" + p.kind.name
	}
	if p.period > 0 {
		name += ":" + p.period.String()
	}
	return name + suffix(p.node)
}

func (partitionFault) Start() string { return partitionStart }
func (partitionFault) Stop() string  { return partitionStop }

func (p partitionFault) Explain() string {
	var b strings.Builder
	b.WriteString("Cuts links between nodes by a grudge: node → the nodes it hears nothing from. " +
		"Cuts are made in the links' proxies, edge by edge and direction by direction; RPC and metrics are never cut. " +
		"It bites when, for every node of the grudge, bytes sent to it were dropped or dials to it led nowhere, " +
		"and not one byte was delivered over a cut edge. " +
		"It is undone when no edge is cut and bytes flow again on each edge that carried any before, " +
		"between nodes that run. A TCP proxy cannot lose single packets: what a cut swallows ends that connection at the heal. " +
		"Flapping has bitten when it was cut, healed and cut again, and swallowed something while it was cut and passed nothing; " +
		"swizzle clogs the next node when the one before was seen cut off, and unclogs in another order. ")
	if p.kind == nil {
		b.WriteString("Each application draws one of the grudges: ")
	} else {
		b.WriteString("The grudge: ")
	}
	for i, k := range p.kinds() {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s (%s)", k.name, k.doc)
	}
	b.WriteString(".")
	return b.String()
}

func (p partitionFault) kinds() []grudgeKind {
	if p.kind != nil {
		return []grudgeKind{*p.kind}
	}
	return slices.DeleteFunc(grudgeKinds(), func(k grudgeKind) bool { return k.weight == 0 })
}

func (p partitionFault) Possible(r Reach) error {
	if err := linksOffer(p.Name(), r, link.FeatureCut); err != nil {
		return err
	}
	if n, _ := strconv.Atoi(strings.TrimPrefix(p.node, "n")); n > r.Nodes {
		return fmt.Errorf("nemesis %q: node %q: there are %d nodes", p.Name(), p.node, r.Nodes)
	}
	kinds := p.kinds()
	least := slices.MinFunc(kinds, func(a, b grudgeKind) int { return a.min - b.min }).min
	if r.Nodes < least {
		return fmt.Errorf("nemesis %q: needs at least %d nodes, and there are %d", p.Name(), least, r.Nodes)
	}
	kinds = slices.DeleteFunc(kinds, func(k grudgeKind) bool { return k.role && !r.Proposers })
	if len(kinds) == 0 {
		return fmt.Errorf("nemesis %q: %s", p.Name(), noProposers)
	}
	if r.Quorum == QuorumSafe && !slices.ContainsFunc(kinds, func(k grudgeKind) bool { return k.min <= r.Nodes && k.maySpareQuorum(r.Nodes) }) {
		return fmt.Errorf("nemesis %q: quorum safe: with equal voting power it always cuts a third or more of %d nodes off", p.Name(), r.Nodes)
	}
	return nil
}

// planTries bounds the draws until one is possible, and safe where it must be.
const planTries = 64

func (p partitionFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	if net.Links == nil {
		return nil, fmt.Errorf("nemesis %q: %w", p.Name(), devnet.ErrNoControl)
	}
	kinds := slices.DeleteFunc(p.kinds(), func(k grudgeKind) bool {
		return len(net.Nodes) < k.min || k.role && net.Proposers == nil
	})
	if len(kinds) == 0 {
		return nil, fmt.Errorf("nemesis %q: too few nodes: %d", p.Name(), len(net.Nodes))
	}
	power, err := powerOf(ctx, net)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: %w", p.Name(), err)
	}
	s := scene{nodes: net.Nodes, power: power, only: net.Only}
	if p.node != "" && len(s.only) == 0 {
		s.only = []string{p.node}
	}
	for range planTries {
		kind := drawGrudgeKind(kinds, rng)
		if kind.role && s.proposer == "" {
			who, err := proposer(ctx, net)
			if err != nil {
				return nil, fmt.Errorf("nemesis %q: %w", p.Name(), err)
			}
			s.proposer = who[0]
		}
		var grudge Grudge
		var side []string
		grudge, side, err = kind.draw(s, rng)
		if err == nil && net.Quorum == QuorumSafe {
			err = sparesQuorum(grudge, net.Nodes, away(net), power)
		}
		if err != nil {
			continue
		}
		c := &cut{net: net, kind: kind.name, side: side, grudge: grudge, edges: grudge.edges(net.Nodes)}
		if kind.move != nil {
			return kind.move(c, side, p, rng), nil
		}
		return c, nil
	}
	return nil, fmt.Errorf("nemesis %q: %w", p.Name(), err)
}

func drawGrudgeKind(kinds []grudgeKind, rng *rand.Rand) grudgeKind {
	if len(kinds) == 1 {
		return kinds[0]
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := rng.IntN(total)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k
		}
	}
	return kinds[0] // not reached: at starts below the sum of the weights
}

// cut is one application of partition.
type cut struct {
	net    Net
	kind   string
	side   []string // the nodes that it is about, nil where none are special
	grudge Grudge
	edges  []link.Edge

	used   []link.Edge                 // edges that carried bytes before the cut
	cutAt  map[link.Edge]link.Counters // when the last edge was cut
	healAt map[link.Edge]link.Counters // when the last edge was healed
}

func (c *cut) Value() history.Value { return history.MapOf(c.parts()...) }

func (c *cut) brief() string { return c.kind + ": " + c.grudge.describe(c.net.Nodes) }

func (c *cut) parts() []history.Value {
	kvs := []history.Value{history.Keyword("grudge"), history.Keyword(c.kind)}
	if c.side != nil {
		kvs = append(kvs, history.Keyword("nodes"), history.Vec(texts(c.side)...))
	}
	return append(kvs, history.Keyword("cut"), c.grudge.value(c.net.Nodes))
}

func (c *cut) UndoSteps() []Step { return []Step{{Kind: stepLinks, Edges: c.edges}} }

func (c *cut) counters() map[link.Edge]link.Counters {
	m := make(map[link.Edge]link.Counters, len(c.edges))
	for _, e := range c.edges {
		m[e] = c.net.Links.Counters(e)
	}
	return m
}

func (c *cut) Apply(context.Context) error {
	for _, e := range c.edges {
		if c.net.Links.Counters(e).Bytes > 0 {
			c.used = append(c.used, e)
		}
	}
	var errs []error
	for _, e := range c.edges {
		errs = append(errs, c.net.Links.Cut(e))
	}
	c.cutAt = c.counters()
	return errors.Join(errs...)
}

// Probe asks for evidence of every node of the grudge, not of every edge: two
// nodes that had nothing to say to each other prove nothing.
func (c *cut) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		var deaf []string
		for _, to := range c.net.Nodes {
			bitten := len(c.grudge[to]) == 0
			for _, from := range c.grudge[to] {
				e := link.Edge{From: from, To: to}
				was, is := c.cutAt[e], c.net.Links.Counters(e)
				if n := is.Bytes - was.Bytes; n > 0 {
					return "", fmt.Errorf("link %s: delivered %d bytes while cut", e, n)
				}
				bitten = bitten || is.Dropped > was.Dropped || is.RefusedDials > was.RefusedDials
			}
			if !bitten {
				deaf = append(deaf, to)
			}
		}
		if len(deaf) > 0 {
			return "no bytes dropped and no dial refused on the cut links to " + list(deaf), nil
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for _, e := range c.edges {
		was, is := c.cutAt[e], c.net.Links.Counters(e)
		kvs = append(kvs, edgeValue(e), history.MapOf(
			history.Keyword("dropped"), history.Int(is.Dropped-was.Dropped),
			history.Keyword("refused-dials"), history.Int(is.RefusedDials-was.RefusedDials),
			history.Keyword("delivered"), history.Int(is.Bytes-was.Bytes)))
	}
	return history.MapOf(kvs...), nil
}

// Stands holds all edges to what Probe held them to.
func (c *cut) Stands() error {
	for _, e := range c.edges {
		if !c.net.Links.IsCut(e) {
			return fmt.Errorf("link %s: was not cut to the end", e)
		}
		if n := c.net.Links.Counters(e).Bytes - c.cutAt[e].Bytes; n > 0 {
			return fmt.Errorf("link %s: delivered %d bytes while cut", e, n)
		}
	}
	return nil
}

func edgeValue(e link.Edge) history.Value {
	return history.Vec(history.Text(e.From), history.Text(e.To))
}

func (c *cut) Undo(context.Context) error {
	var errs []error
	for _, e := range c.edges {
		errs = append(errs, c.net.Links.Heal(e))
	}
	if c.healAt == nil {
		c.healAt = c.counters()
	}
	return errors.Join(errs...)
}

// VerifyUndone does not ask for bytes where there never were any, nor where an
// end does not run: silence there is no remnant of the cut.
func (c *cut) VerifyUndone(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		var shut, silent []string
		for _, e := range c.edges {
			switch {
			case c.net.Links.IsCut(e):
				shut = append(shut, e.String())
			case c.expected(e) && c.net.Links.Counters(e).Bytes <= c.healAt[e].Bytes:
				silent = append(silent, e.String())
			}
		}
		switch {
		case len(shut) > 0:
			return "", fmt.Errorf("links %s: still cut", list(shut))
		case len(silent) > 0:
			return fmt.Sprintf("links %s: healed, but no bytes flow", list(silent)), nil
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for _, e := range c.edges {
		kvs = append(kvs, edgeValue(e), history.MapOf(
			history.Keyword("cut"), history.Flag(c.net.Links.IsCut(e)),
			history.Keyword("bytes"), history.Int(c.net.Links.Counters(e).Bytes-c.healAt[e].Bytes)))
	}
	return history.MapOf(kvs...), nil
}

// expected reports whether bytes must flow on the healed edge.
func (c *cut) expected(e link.Edge) bool {
	return slices.Contains(c.used, e) && c.runs(e.From) && c.runs(e.To)
}

func (c *cut) runs(node string) bool { return c.net.runs(node) }
