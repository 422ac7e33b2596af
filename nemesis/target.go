package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// targetKind is one rule by which faults choose their nodes: by number, or by
// role.
type targetKind struct {
	name   string
	doc    string
	min    int // fewest nodes with which it chooses anybody
	weight int // share of the default draw; 0: only when asked for
	// size draws how many of n nodes are hit, at least 1; nil for a role.
	size func(n int, rng *rand.Rand) int
	// role asks the chain who is hit.
	role func(ctx context.Context, net Net) ([]string, error)
}

func fixed(size func(n int) int) func(int, *rand.Rand) int {
	return func(n int, _ *rand.Rand) int { return size(n) }
}

// targetKinds lists the rules. The weights keep the chain alive in most draws:
// under BFT a chain stops while a third of its validators is away, which is
// worth testing, but a stopped chain tests little else.
func targetKinds() []targetKind {
	return []targetKind{
		{name: "one", doc: "one random node", min: 1, weight: 5, size: fixed(func(int) int { return 1 })},
		{name: "minority-third", doc: "the most nodes that are under a third: what BFT tolerates", min: 4, weight: 2, size: fixed(underThird)},
		{name: "minority", doc: "the most nodes that are under half", min: 3, weight: 2, size: fixed(minorityOf)},
		{name: "majority", doc: "the least number of nodes over half", min: 2, weight: 1, size: fixed(majorityOf)},
		{name: "all", doc: "every node", min: 1, weight: 1, size: fixed(func(n int) int { return n })},
		{name: "subset", doc: "a random number of nodes", min: 1, weight: 1, size: func(n int, rng *rand.Rand) int { return 1 + rng.IntN(n) }},
		{name: "proposer", doc: "the node that proposes the next block", min: 1, role: proposer},
		{name: "non-proposers", doc: "every node but the next proposer", min: 2, role: nonProposers},
	}
}

// noProposers says what a network lacks that does not tell its proposers.
const noProposers = "this network does not tell who proposes next, as the embedded devnet and devnet files do where every node has comet"

func proposer(ctx context.Context, net Net) ([]string, error) {
	if net.Proposers == nil {
		return nil, errors.New("the next proposer: nobody here can tell it")
	}
	p, err := net.Proposers.Proposer(ctx)
	if err != nil {
		return nil, fmt.Errorf("the next proposer: %w", err)
	}
	return []string{p}, nil
}

func nonProposers(ctx context.Context, net Net) ([]string, error) {
	p, err := proposer(ctx, net)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(net.Nodes), func(n string) bool { return n == p[0] }), nil
}

// targets chooses the nodes of a fault: by one rule, by name, or, where there is
// neither, by a rule drawn by weight for each application.
type targets struct {
	kind *targetKind
	node string
}

// param takes a rule or a node's name.
func (t *targets) param() param {
	return param{
		doc: "targets (" + list(targetNames()) + ", or a node such as n1)", names: targetNames(),
		take: func(part string) (bool, error) {
			for _, k := range targetKinds() {
				if k.name == part {
					t.kind = &k
					return true, nil
				}
			}
			if n, err := strconv.Atoi(strings.TrimPrefix(part, "n")); err == nil && strings.HasPrefix(part, "n") && n > 0 {
				t.node = part
				return true, nil
			}
			return false, nil
		},
	}
}

func targetNames() []string {
	var ns []string
	for _, k := range targetKinds() {
		ns = append(ns, k.name)
	}
	return ns
}

func (t targets) suffix() string {
	switch {
	case t.node != "":
		return ":" + t.node
	case t.kind != nil:
		return ":" + t.kind.name
	}
	return ""
}

// explain continues the text of a fault.
func (t targets) explain() string {
	if t.node != "" {
		return fmt.Sprintf("The target: %s.", t.node)
	}
	if t.kind != nil {
		return fmt.Sprintf("The targets: %s.", t.kind.doc)
	}
	var parts []string
	for _, k := range targetKinds() {
		if k.weight > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", k.name, k.doc))
		}
	}
	return "Each application draws its targets among the nodes that run, mostly few: " + strings.Join(parts, "; ") + "."
}

// possible is Possible for a fault that chooses among nodes in reach.
func (t targets) possible(fault string, r Reach) error {
	if !r.Processes {
		return fmt.Errorf("nemesis %q: %w", fault, devnet.ErrNoControl)
	}
	if t.kind != nil && t.kind.role != nil && !r.Proposers {
		return fmt.Errorf("nemesis %q: %s: %s", fault, t.kind.doc, noProposers)
	}
	if n, _ := strconv.Atoi(strings.TrimPrefix(t.node, "n")); n > r.Nodes {
		return fmt.Errorf("nemesis %q: node %q: there are %d nodes", fault, t.node, r.Nodes)
	}
	if err := t.enough(r.Nodes); err != nil {
		return fmt.Errorf("nemesis %q: %w", fault, err)
	}
	if least := t.fewest(r.Nodes); r.Quorum == QuorumSafe && 3*least >= r.Nodes {
		return fmt.Errorf("nemesis %q: quorum safe: with equal voting power it hits a third or more of %d nodes", fault, r.Nodes)
	}
	return nil
}

// fewest is the least number of n nodes that it can hit.
func (t targets) fewest(n int) int {
	switch {
	case t.kind == nil || t.kind.name == "subset" || t.kind.name == "proposer":
		return 1
	case t.kind.size == nil: // all but the proposer
		return n - 1
	}
	return t.kind.size(n, nil)
}

// enough says why nobody can be chosen among n nodes.
func (t targets) enough(n int) error {
	least := 1
	if t.kind != nil {
		least = t.kind.min
	}
	if n < least {
		return fmt.Errorf("needs at least %d nodes, and there are %d", least, n)
	}
	return nil
}

// draw chooses among the candidates and returns the choice in their order. Where
// the network's Quorum is safe it leaves out, of those drawn, as many as it takes
// to stay under a third of the voting power.
func (t targets) draw(ctx context.Context, net Net, candidates []string, rng *rand.Rand) ([]string, error) {
	if err := t.enough(len(candidates)); err != nil {
		return nil, err
	}
	chosen, err := t.choose(ctx, net, candidates, rng)
	switch {
	case len(net.Only) > 0:
		// What was drawn is not used, but what is drawn next stays the same.
		chosen = net.Only
	case err != nil:
		return nil, err
	case net.Quorum == QuorumSafe:
		if chosen, err = underThirdOfPower(ctx, net, chosen); err != nil {
			return nil, err
		}
	}
	kept := slices.DeleteFunc(slices.Clone(candidates), func(n string) bool { return !slices.Contains(chosen, n) })
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s: not among the nodes that run", list(chosen))
	}
	return kept, nil
}

func (t targets) choose(ctx context.Context, net Net, candidates []string, rng *rand.Rand) ([]string, error) {
	if t.node != "" {
		return []string{t.node}, nil
	}
	kind := t.kind
	if kind == nil {
		kind = drawKind(len(candidates), rng)
	}
	if kind.role != nil {
		return kind.role(ctx, net)
	}
	return shuffled(candidates, rng)[:kind.size(len(candidates), rng)], nil
}

// plan draws the victims among the nodes that run now.
func (t targets) plan(ctx context.Context, fault string, net Net, rng *rand.Rand) ([]victim, error) {
	if net.Processes == nil {
		return nil, fmt.Errorf("nemesis %q: %w", fault, devnet.ErrNoControl)
	}
	up := running(net)
	chosen, err := t.draw(ctx, net, names(up), rng)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: among the nodes that run now: %w", fault, err)
	}
	return slices.DeleteFunc(up, func(v victim) bool { return !slices.Contains(chosen, v.node) }), nil
}

// steps is one step of that kind for each victim.
func steps(kind string, vs []victim) []Step {
	ss := make([]Step, len(vs))
	for i, v := range vs {
		ss[i] = Step{Kind: kind, Node: v.node, Target: v.id}
	}
	return ss
}

// brief names the targets of an application for a line of the log, in its own
// words where it has any.
func brief(app Application) string {
	if a, ok := app.(interface{ brief() string }); ok {
		return a.brief()
	}
	v := app.Value()
	if nodes := nodesOf(v); len(nodes) > 0 {
		return strings.Join(nodes, " ")
	}
	return v.String()
}

// nodesOf lists the nodes that the value of an application names: :nodes, or the
// whole of a list.
func nodesOf(v history.Value) []string {
	if named, ok := v.Field("nodes"); ok {
		v = named
	}
	if v.Kind() == history.Map {
		return nil
	}
	var nodes []string
	for _, e := range v.Elems() {
		nodes = append(nodes, e.Text())
	}
	return nodes
}

// identity renders an incarnation as keys and values of evidence.
func identity(id devnet.Identity) []history.Value {
	return []history.Value{
		history.Keyword("pid"), history.Int(int64(id.PID)),
		history.Keyword("start"), history.Int(int64(id.Start)),
	}
}

func drawKind(n int, rng *rand.Rand) *targetKind {
	kinds := slices.DeleteFunc(targetKinds(), func(k targetKind) bool { return n < k.min || k.weight == 0 })
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := rng.IntN(total)
	for i := range kinds {
		if at -= kinds[i].weight; at < 0 {
			return &kinds[i]
		}
	}
	return &kinds[len(kinds)-1] // not reached: at starts below the sum of the weights
}

// list joins names for an error or a help text.
func list(names []string) string { return strings.Join(names, ", ") }
