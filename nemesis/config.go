package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// Configs is the power over how nodes are started.
type Configs interface {
	// Changes names the ways in which flags can be set wrong.
	Changes() []string
	// Change makes the node start with the change from its next start on; "" takes
	// it back.
	Change(node, change string) error
	// SeeChange asks a node how it runs and returns what it showed; an error says
	// that this is not what the change, or "", makes of it. It may watch the node
	// for some seconds.
	SeeChange(ctx context.Context, node, change string) (devnet.Running, error)
}

// configFault restarts nodes in order, with flags that an operator has set wrong.
type configFault struct {
	targets targets
	change  string // "": drawn
}

func configEntry() Entry {
	var f configFault
	return Entry{
		Name: "config", Doc: "restart nodes with flags set wrong, and again with the right ones",
		Specs: specs(f.targets.param(), f.param()), Start: "start-config", Stop: "stop-config", Color: "#C9B79C",
		New: func(spec string) (Fault, error) {
			var f configFault
			err := parseSpec(spec, f.targets.param(), f.param())
			return f, err
		},
	}
}

// param takes any other word: which changes there are is the network's to say.
func (f *configFault) param() param { return oneOf(&f.change, configChanges()...) }

// configChanges are the changes that some network knows.
func configChanges() []string { return []string{"fewer-apis", "few-peers"} }

func (f configFault) Name() string {
	name := "config" + f.targets.suffix()
	if f.change != "" {
		name += ":" + f.change
	}
	return name
}

func (configFault) Start() string { return "start-config" }
func (configFault) Stop() string  { return "stop-config" }

func (f configFault) Explain() string {
	return "Stops nodes with SIGTERM and starts them with other flags on the same data: fewer-apis serves only the eth and net namespaces, " +
		"few-peers takes one devp2p peer. The same is done backwards at the end, so nodes restart twice. " +
		"It bites when each node, asked over RPC, shows that it runs that way: by the namespaces that it names, " +
		"or by never more than one peer in a time in which it would have had several. " +
		"It is undone when each node runs again, has caught up, and shows the usual flags: all namespaces, and more than one peer where others run. " + f.targets.explain()
}

func (f configFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	if !r.Configs {
		return fmt.Errorf("nemesis %q: which flags of these nodes could be set wrong is not known", f.Name())
	}
	return nil
}

func (f configFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	if net.Configs == nil {
		return nil, fmt.Errorf("nemesis %q: %w", f.Name(), devnet.ErrNoControl)
	}
	change := f.change
	if known := net.Configs.Changes(); change == "" {
		change = known[rng.IntN(len(known))]
	}
	vs, err := f.targets.plan(ctx, f.Name(), net, rng)
	if err != nil {
		return nil, err
	}
	return &reconfiguring{net: net, victims: vs, change: change}, nil
}

// reconfiguring is one application of config.
type reconfiguring struct {
	net     Net
	victims []victim
	change  string
}

func (c *reconfiguring) Value() history.Value {
	return history.MapOf(
		history.Keyword("nodes"), history.Vec(texts(names(c.victims))...),
		history.Keyword("change"), history.Keyword(c.change),
		history.Keyword("restarts"), history.Flag(true))
}

// UndoSteps are those of a kill: a node that was stopped ends with its network,
// and its flags with it.
func (c *reconfiguring) UndoSteps() []Step { return steps(stepStart, c.victims) }

func (c *reconfiguring) Apply(ctx context.Context) error { return c.restart(ctx, c.change) }
func (c *reconfiguring) Undo(ctx context.Context) error  { return c.restart(ctx, "") }

func (c *reconfiguring) restart(ctx context.Context, change string) error {
	return each(len(c.victims), func(i int) error {
		node := c.victims[i].node
		if err := c.net.Configs.Change(node, change); err != nil {
			return fmt.Errorf("node %q: change %q: %w", node, change, err)
		}
		if id, up := c.net.Processes.Identity(node); up {
			if err := devnet.Signal(id, syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("node %q: %w", node, err)
			}
			err := await(ctx, look, func() (string, error) {
				if now, up := c.net.Processes.Identity(node); up && now == id {
					return fmt.Sprintf("node %q: still runs after SIGTERM", node), nil
				}
				return "", nil
			})
			if err != nil {
				return err
			}
		}
		if _, err := c.net.Processes.Start(ctx, node); err != nil {
			return fmt.Errorf("node %q: start: %w", node, err)
		}
		return nil
	})
}

func (c *reconfiguring) Probe(ctx context.Context) (history.Value, error) {
	return c.see(ctx, c.change, false)
}

func (c *reconfiguring) VerifyUndone(ctx context.Context) (history.Value, error) {
	return c.see(ctx, "", true)
}

// see waits until every node shows the change, and is ready where it must be: how
// it runs can be seen long before.
func (c *reconfiguring) see(ctx context.Context, change string, ready bool) (history.Value, error) {
	seen := make([]devnet.Running, len(c.victims))
	err := each(len(c.victims), func(i int) error {
		node := c.victims[i].node
		if ready {
			if err := c.net.Processes.Ready(ctx, node); err != nil {
				return fmt.Errorf("node %q: not ready after its start: %w", node, err)
			}
		}
		return await(ctx, look, func() (string, error) {
			var err error
			if seen[i], err = c.net.Configs.SeeChange(ctx, node, change); err != nil {
				return err.Error(), nil
			}
			return "", nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range c.victims {
		kvs = append(kvs, history.Text(v.node), flagsSeen(seen[i]))
	}
	return history.MapOf(kvs...), nil
}

func flagsSeen(r devnet.Running) history.Value {
	return history.MapOf(
		history.Keyword("apis"), history.Vec(texts(r.APIs)...),
		history.Keyword("peers"), history.Int(int64(r.Peers)),
		history.Keyword("most-peers"), history.Int(int64(r.MostPeers)),
		history.Keyword("other-nodes"), history.Int(int64(r.Others)),
		history.Keyword("watched-ms"), milliseconds(r.Watched.Round(time.Millisecond)))
}
