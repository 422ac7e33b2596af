package nemesis

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// pair is an application of two faults on one node.
func pair(t *testing.T, n Net, node string, specs ...string) *together {
	t.Helper()
	var faults []Fault
	for _, s := range specs {
		faults = append(faults, parsed(t, s)...)
	}
	pieces, err := planPieces(t.Context(), n, seeded(1), []string{node}, "test", faults)
	if err != nil {
		t.Fatal(err)
	}
	return &together{nodes: []string{node}, pieces: pieces}
}

// TestTogether: two faults at once, seen one by one. (They are on two nodes, as
// one that is stopped has nothing to say that a cut could swallow.)
func TestTogether(t *testing.T) {
	t.Parallel()
	n, c, proxy := testNet(t, 3)
	app := pair(t, n, "n2", "pause:all")
	app.pieces = append(pair(t, n, "n3", "partition:one").pieces, app.pieces...)
	if cut, paused := app.pieces[0].app.Value().String(), app.pieces[1].app.Value().String(); paused != `["n2"]` ||
		cut != `{:grudge :one, :nodes ["n3"], :cut {"n1" #{"n3"}, "n2" #{"n3"}, "n3" #{"n1" "n2"}}}` {
		t.Errorf("planned on %s and %s", cut, paused)
	}
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, _ := c.Identity("n2")
	wait(t, "n2 to stop", func() bool { return stateOf(t, id) == stopped })
	v, err := app.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"partition:one" {`, `"pause:all" {`, ":refused-dials", ":state"} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("no %s in the evidence: %s", want, v)
		}
	}
	undone(t, app)
	if stateOf(t, id) == stopped || proxy.IsCut(proxy.Edges()[0]) {
		t.Error("something is still in force")
	}
}

// TestTogetherHalfApplied: the part that was applied is undone, and the one that
// was not is left alone.
func TestTogetherHalfApplied(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 2)
	app := pair(t, n, "n2", "pause:all", "partition:one", "kill:all")
	id, _ := c.Identity("n2")
	app.pieces[1].app = failing{app.pieces[1].app}
	if err := app.Apply(t.Context()); !errors.Is(err, errPlanned) {
		t.Fatalf("got %v", err)
	}
	undone(t, app)
	if stateOf(t, id) == stopped {
		t.Error("n2 is still stopped")
	}
	if now, _ := c.Identity("n2"); now != id {
		t.Error("n2 was killed")
	}
	if app.applied != 2 {
		t.Errorf("%d pieces were applied", app.applied)
	}
}

type failing struct{ Application }

func (failing) Apply(_ context.Context) error { return errPlanned }

func TestIsolateKill(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 4)
	orders := map[string]bool{}
	for _, seed := range []uint64{2, 5, 6, 11} { // they draw less than a second alone, and both orders
		was := running(n)
		r := &rec{}
		r.seen = func(op history.Op) error {
			if op.F != "start-isolate-kill" || !measured(op) {
				return nil
			}
			targets, _ := op.Value.Field("targets")
			node := nodesOf(targets)[0]
			if slices.Contains(names(running(n)), node) {
				t.Errorf("%s still runs", node)
			}
			for _, e := range proxy.Edges() {
				if touched := e.From == node || e.To == node; touched != proxy.IsCut(e) {
					t.Errorf("%s alone: link %s cut: %v", node, e, proxy.IsCut(e))
				}
			}
			return nil
		}
		o := options(t, n, "isolate-kill", seed, r)
		out, err := once(t, o, r)
		if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) {
			t.Fatalf("outcome %+v, %v", out, err)
		}
		v := r.ops[0].Value
		first, _ := v.Field("first")
		orders[first.Text()] = true
		for _, w := range running(n) {
			hit := slices.Contains(nodesOf(v), w.node)
			if hit == slices.Contains(was, w) {
				t.Errorf("%s hit: %v, of %s", w, hit, v)
			}
		}
		if e, _ := r.ops[1].Value.Field("evidence"); !strings.Contains(e.String(), ":isolated {") || !strings.Contains(e.String(), ":killed {") {
			t.Errorf("evidence %s", e)
		}
		for _, e := range proxy.Edges() {
			if proxy.IsCut(e) {
				t.Errorf("%s is still cut", e)
			}
		}
	}
	if len(orders) != 2 {
		t.Errorf("4 seeds brought back only %v first", orders)
	}
}

// TestIsolateKillOfOneThatDies before its turn: nothing is claimed, and all of it
// is undone.
func TestIsolateKillOfOneThatDies(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 3)
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == "start-isolate-kill" && !measured(op) {
			id, _ := c.Identity("n2")
			if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			wait(t, "n2 to end", func() bool { _, up := c.Identity("n2"); return !up })
		}
		return nil
	}
	o := options(t, n, "isolate-kill:n2", 1, r)
	o.ProbeTimeout = 500 * time.Millisecond // there is nobody whose words could be swallowed
	out, err := once(t, o, r)
	if err != nil || out.Faults != 1 || out.WithoutEvidence != 1 || out.NotUndone != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if len(running(n)) != 3 {
		t.Errorf("only %v run", running(n))
	}
}

// TestBrownout: every part is measured, and each is gone afterwards.
func TestBrownout(t *testing.T) {
	t.Parallel()
	n, c, proxy := testNetThat(t, 3, &children{does: "burn"})
	id, _ := c.Identity("n2")
	shaped := func(e link.Edge) bool { return proxy.Shaped(e) != link.Shape{} }
	bites, healed := oneFault(t, n, "brownout:n2", func() {
		for _, e := range proxy.Edges() {
			shape := proxy.Shaped(e)
			if hit := e.From == "n2" || e.To == "n2"; hit != (shape.Delay > 0) || hit != (shape.Stall > 0) {
				t.Errorf("link %s: %v", e, shape.Features())
			}
		}
		if inGroups(t, id) == "" {
			t.Error("n2 is in no control group")
		}
	})
	for _, want := range []string{`"delay" {`, `"stall" {`, `"throttle" {`} {
		if !strings.Contains(bites.String(), want) || !strings.Contains(healed.String(), want) {
			t.Errorf("no %s in the evidence: %s\nundone %s", want, bites, healed)
		}
	}
	if slices.ContainsFunc(proxy.Edges(), shaped) {
		t.Error("a link is still shaped")
	}
	untouched(t, id)
}
