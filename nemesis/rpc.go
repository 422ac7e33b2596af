package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

// RPC is the proxies that clients are sent through.
type RPC interface {
	// Proxy returns the proxy before the node's RPC, nil when there is none. It is
	// the same for the whole run. The nemesis itself, and whoever watches a node,
	// asks the node past it.
	Proxy(node string) *rpc.Proxy
}

// stepRPC clears the rules of a node's proxy, which is gone with the process that
// owns it.
const stepRPC = "rpc"

func takeBackRPC(_ context.Context, s Step) (string, error) {
	return fmt.Sprintf("the proxy before the RPC of %s ended with the process that owned it", s.Node), nil
}

// rpcFault is what the faults of the RPC layer have in common: whose requests,
// which of them, and what share.
type rpcFault struct {
	targets targets
	methods string
	share   float64 // 0: the fault's own
}

func (f *rpcFault) params(own ...param) []param {
	return append(own, f.targets.param(), f.methodsParam(), percent(&f.share, "a share of the requests such as 20%"))
}

// methodsParam takes what has an underscore in it, as all methods do and nothing
// else does.
func (f *rpcFault) methodsParam() param {
	doc := "methods such as eth_call or eth_get*"
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			if !strings.Contains(part, "_") {
				return false, nil
			}
			if err := (rpc.Rule{Methods: part, Do: rpc.Action{Kind: rpc.Drop}}).Check(); err != nil {
				return true, fmt.Errorf("%q: expected %s", part, doc)
			}
			f.methods = part
			return true, nil
		},
	}
}

// name renders what was asked for.
func (f rpcFault) name(kind string, own ...string) string {
	name := kind
	for _, part := range own {
		name += suffix(part)
	}
	name += f.targets.suffix() + suffix(f.methods)
	if f.share > 0 {
		name += ":" + percentText(f.share)
	}
	return name
}

// needs makes all RPC faults Needy.
type needsRPC struct{}

func (needsRPC) Needs() Needs { return Needs{RPC: true} }

// explain continues the text of a fault.
func (f rpcFault) explain() string {
	return "The rules are taken from the proxy, which lives in jepgo and ends with it. " +
		"It is undone when the proxy has no rules, and the chain id, the head and a block come through it byte for byte as from the node itself, " +
		"without the fault's delay; a node that gives no answer because it does not run has none to compare. " +
		"jepgo's own questions to the nodes go past the proxies. " + f.targets.explain()
}

func (f rpcFault) possible(name string, r Reach) error {
	if !r.RPC {
		return fmt.Errorf("nemesis %q: no RPC proxies before the nodes: %w", name, devnet.ErrNoControl)
	}
	r.Processes = true   // the proxies are in reach whoever has started the nodes
	r.Quorum = QuorumAny // they take nobody's vote
	return f.targets.possible(name, r)
}

// plan draws the nodes among those that run. what is added to the value.
func (f rpcFault) plan(ctx context.Context, name string, net Net, rng *rand.Rand, rule rpc.Rule, what ...history.Value) (Application, error) {
	if net.RPC == nil {
		return nil, fmt.Errorf("nemesis %q: no RPC proxies before the nodes: %w", name, devnet.ErrNoControl)
	}
	var candidates []string
	for _, n := range net.Nodes {
		if net.RPC.Proxy(n) != nil && net.runs(n) {
			candidates = append(candidates, n)
		}
	}
	net.Quorum = QuorumAny
	nodes, err := f.targets.draw(ctx, net, candidates, rng)
	if err != nil {
		return nil, fmt.Errorf("nemesis %q: among the nodes that run now: %w", name, err)
	}
	rule.Name = name
	if f.methods != "" {
		rule.Methods = f.methods
	}
	if f.share > 0 {
		rule.Share = f.share
	}
	methods := rule.Methods
	if methods == "" {
		methods = "*"
	}
	share := rule.Share
	if share == 0 {
		share = 1
	}
	value := append([]history.Value{
		history.Keyword("nodes"), history.Vec(texts(nodes)...),
		history.Keyword("methods"), history.Text(methods),
		history.Keyword("share"), history.FloatOf(share),
	}, what...)
	return &ruling{
		net: net, nodes: nodes, rule: rule, value: history.MapOf(value...),
		ours: make([]bool, len(nodes)), last: make([]rpc.RuleCounters, len(nodes)),
	}, nil
}

// ruling is one application of a rule to the proxies of nodes.
type ruling struct {
	net   Net
	nodes []string
	rule  rpc.Rule
	value history.Value
	ours  []bool             // the rule was put there
	last  []rpc.RuleCounters // when it was taken away
}

func (r *ruling) Value() history.Value { return r.value }

func (r *ruling) UndoSteps() []Step {
	ss := make([]Step, len(r.nodes))
	for i, n := range r.nodes {
		ss[i] = Step{Kind: stepRPC, Node: n}
	}
	return ss
}

func (r *ruling) proxy(i int) *rpc.Proxy { return r.net.RPC.Proxy(r.nodes[i]) }

func (r *ruling) Apply(context.Context) error {
	for i, n := range r.nodes {
		if len(r.proxy(i).Rules()) > 0 {
			return fmt.Errorf("node %q: another fault has rules in its RPC proxy", n)
		}
		if err := r.proxy(i).Set(r.rule); err != nil {
			return fmt.Errorf("node %q: %w", n, err)
		}
		r.ours[i] = true
	}
	return nil
}

// counters are those of the rule; ok is false when it is not there.
func (r *ruling) counters(i int) (c rpc.RuleCounters, ok bool) {
	if !r.ours[i] {
		return c, false
	}
	all := r.proxy(i).Counters().Rules
	if len(all) != 1 || all[0].Name != r.rule.Name {
		return c, false
	}
	return all[0], true
}

func (r *ruling) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]rpc.RuleCounters, len(r.nodes))
	err := each(len(r.nodes), func(i int) error {
		return await(ctx, look, func() (string, error) {
			c, ok := r.counters(i)
			switch seen[i] = c; {
			case !ok:
				return "", fmt.Errorf("node %q: the rule is not in its RPC proxy", r.nodes[i])
			case c.Matched == 0:
				return fmt.Sprintf("node %q: no request came that the fault is for, of %d", r.nodes[i], c.Seen), nil
			case c.Acted() == 0:
				return fmt.Sprintf("node %q: %d requests came that the fault is for, and nothing was done to any", r.nodes[i], c.Matched), nil
			}
			return "", nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, n := range r.nodes {
		if least := r.rule.Do.Delay - r.rule.Do.Jitter; seen[i].MinDelay < least {
			return history.Value{}, fmt.Errorf("node %q: delayed by only %v, expected %v or more", n, seen[i].MinDelay, least)
		}
		kvs = append(kvs, history.Text(n), history.MapOf(countersValue(seen[i])...))
	}
	return history.MapOf(kvs...), nil
}

// countersValue renders what a rule did.
func countersValue(c rpc.RuleCounters) []history.Value {
	kvs := []history.Value{
		history.Keyword("seen"), history.Int(c.Seen),
		history.Keyword("matched"), history.Int(c.Matched),
		history.Keyword("acted"), history.Int(c.Acted()),
	}
	if c.Delayed > 0 {
		kvs = append(kvs,
			history.Keyword("mean-delay-ms"), history.FloatOf(millis(c.DelayTime/time.Duration(c.Delayed))),
			history.Keyword("least-delay-ms"), history.FloatOf(millis(c.MinDelay)))
	}
	if c.Stale > 0 {
		kvs = append(kvs, history.Keyword("mean-behind-blocks"), history.FloatOf(float64(c.Behind)/float64(c.Stale)))
	}
	return kvs
}

// millis is a duration in milliseconds, with three digits after the point.
func millis(d time.Duration) float64 { return float64(d.Round(time.Microsecond).Microseconds()) / 1000 }

func (r *ruling) Undo(context.Context) error {
	var errs []error
	for i := range r.nodes {
		if c, ok := r.counters(i); ok {
			r.last[i] = c
			errs = append(errs, r.proxy(i).Set())
		}
		r.ours[i] = false
	}
	return errors.Join(errs...)
}

func (r *ruling) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([][]history.Value, len(r.nodes))
	err := each(len(r.nodes), func(i int) error {
		return await(ctx, look, func() (missing string, err error) {
			seen[i], missing, err = r.compare(ctx, i)
			return missing, err
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, n := range r.nodes {
		total := history.MapOf(countersValue(r.last[i])...)
		kvs = append(kvs, history.Text(n), history.MapOf(append(seen[i], history.Keyword("total"), total)...))
	}
	return history.MapOf(kvs...), nil
}

// compare asks one node directly and through its proxy.
func (r *ruling) compare(ctx context.Context, i int) (seen []history.Value, missing string, err error) {
	node := r.nodes[i]
	if slices.ContainsFunc(r.proxy(i).Rules(), func(is rpc.Rule) bool { return is.Name == r.rule.Name }) {
		return nil, "", fmt.Errorf("node %q: the rule is still in its RPC proxy", node)
	}
	if !r.net.runs(node) { // it may be stopped, and then takes long to say nothing
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	c, err := r.proxy(i).Compare(ctx)
	switch {
	case errors.Is(err, rpc.ErrSilent) && !r.net.runs(node):
		return []history.Value{history.Keyword("silent"), history.Flag(true)}, "", nil
	case err != nil:
		return nil, fmt.Sprintf("node %q: %v", node, err), nil
	case r.rule.Do.Kind == rpc.Delay && c.Through >= r.rule.Do.Delay-r.rule.Do.Jitter && c.Through > 2*c.Direct:
		return nil, fmt.Sprintf("node %q: answers through the proxy take %v, and %v directly", node, c.Through, c.Direct), nil
	}
	return []history.Value{
		history.Keyword("same-bytes"), history.Int(int64(c.Bytes)),
		history.Keyword("height"), history.Int(int64(c.Height)),
		history.Keyword("direct-ms"), history.FloatOf(millis(c.Direct)),
		history.Keyword("through-ms"), history.FloatOf(millis(c.Through)),
	}, "", nil
}
