package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// targetKind is one rule by which kill and pause choose their nodes.
type targetKind struct {
	name   string
	doc    string
	min    int // fewest nodes with which it chooses anybody
	weight int // share of the default draw
	// size draws how many of n nodes are hit, at least 1.
	size func(n int, rng *rand.Rand) int
}

func fixed(size func(n int) int) func(int, *rand.Rand) int {
	return func(n int, _ *rand.Rand) int { return size(n) }
}

// targetKinds lists the rules. The weights keep the chain alive in most draws:
// under BFT a chain stops while a third of its validators is away, which is
// worth testing, but a stopped chain tests little else.
func targetKinds() []targetKind {
	return []targetKind{
		{"one", "one random node", 1, 5, fixed(func(int) int { return 1 })},
		{"minority-third", "the most nodes that are under a third: what BFT tolerates", 4, 2, fixed(underThird)},
		{"minority", "the most nodes that are under half", 3, 2, fixed(minorityOf)},
		{"majority", "the least number of nodes over half", 2, 1, fixed(majorityOf)},
		{"all", "every node", 1, 1, fixed(func(n int) int { return n })},
		{"subset", "a random number of nodes", 1, 1, func(n int, rng *rand.Rand) int { return 1 + rng.IntN(n) }},
	}
}

// targets chooses nodes for kill and pause: by one rule, or, where kind is nil,
// by one drawn from all of them by weight.
type targets struct{ kind *targetKind }

// parseTargets reads the part of --nemesis after the colon; "" draws a rule for
// each application.
func parseTargets(spec string) (targets, error) {
	if spec == "" {
		return targets{}, nil
	}
	for _, k := range targetKinds() {
		if k.name == spec {
			return targets{&k}, nil
		}
	}
	return targets{}, fmt.Errorf("targets %q: unknown; expected one of %s", spec, list(targetNames()))
}

func targetNames() []string {
	var ns []string
	for _, k := range targetKinds() {
		ns = append(ns, k.name)
	}
	return ns
}

func (t targets) suffix() string {
	if t.kind == nil {
		return ""
	}
	return ":" + t.kind.name
}

// possible says why nobody can be chosen among n nodes.
func (t targets) possible(n int) error {
	least := 1
	if t.kind != nil {
		least = t.kind.min
	}
	if n < least {
		return fmt.Errorf("needs at least %d nodes, and there are %d", least, n)
	}
	return nil
}

// draw chooses among nodes and returns the choice in their order.
func (t targets) draw(nodes []string, rng *rand.Rand) ([]string, error) {
	if err := t.possible(len(nodes)); err != nil {
		return nil, err
	}
	kind := t.kind
	if kind == nil {
		kind = drawKind(len(nodes), rng)
	}
	chosen := shuffled(nodes, rng)[:kind.size(len(nodes), rng)]
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !slices.Contains(chosen, n) }), nil
}

// explain continues the text of a fault.
func (t targets) explain() string {
	if t.kind != nil {
		return fmt.Sprintf("The targets: %s.", t.kind.doc)
	}
	var parts []string
	for _, k := range targetKinds() {
		parts = append(parts, fmt.Sprintf("%s (%s)", k.name, k.doc))
	}
	return "Each application draws its targets among the nodes that run, mostly few: " + strings.Join(parts, "; ") + "."
}

// check is Possible for a fault on processes.
func (t targets) check(fault string, nodes int, control bool) error {
	if !control {
		return fmt.Errorf("nemesis %q: %w", fault, devnet.ErrNoControl)
	}
	if err := t.possible(nodes); err != nil {
		return fmt.Errorf("nemesis %q: %w", fault, err)
	}
	return nil
}

// plan draws the victims among the nodes that run now.
func (t targets) plan(fault string, net Net, rng *rand.Rand) ([]victim, error) {
	if err := t.check(fault, len(net.Nodes), net.Processes != nil); err != nil {
		return nil, err
	}
	up := running(net)
	chosen, err := t.draw(names(up), rng)
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

// brief names the targets of an application for a line of the log.
func brief(app Application) string {
	if c, ok := app.(*cut); ok {
		return c.kind + ": " + c.grudge.describe(c.net.Nodes)
	}
	v := app.Value()
	if len(v.Elems()) == 0 {
		return v.String()
	}
	var names []string
	for _, e := range v.Elems() {
		names = append(names, e.Text())
	}
	return strings.Join(names, " ")
}

// identity renders an incarnation as keys and values of evidence.
func identity(id devnet.Identity) []history.Value {
	return []history.Value{
		history.Keyword("pid"), history.Int(int64(id.PID)),
		history.Keyword("start"), history.Int(int64(id.Start)),
	}
}

func drawKind(n int, rng *rand.Rand) *targetKind {
	kinds := slices.DeleteFunc(targetKinds(), func(k targetKind) bool { return n < k.min })
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
