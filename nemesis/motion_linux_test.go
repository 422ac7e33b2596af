package nemesis

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// planned applies a partition on real processes over real links.
func planned(t *testing.T, n Net, spec string, seed uint64) Application {
	t.Helper()
	app, err := parsed(t, spec)[0].Plan(t.Context(), n, seeded(seed))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func undone(t *testing.T, app Application) history.Value {
	t.Helper()
	for range 2 { // idempotent
		if err := app.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	v, err := app.VerifyUndone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOneWay: what is cut one way goes on the other way.
func TestOneWay(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 3)
	app := planned(t, n, "partition:one-way", 1)
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := app.Probe(t.Context()); err != nil {
		t.Fatal(v, err)
	}
	edges := app.(*cut).edges
	for _, e := range edges {
		back := link.Edge{From: e.To, To: e.From}
		if slices.Contains(edges, back) || proxy.IsCut(back) || !proxy.IsCut(e) {
			t.Errorf("%s is not cut one way: %v", e, edges)
		}
		was := proxy.Counters(back).Bytes
		wait(t, "bytes on "+back.String(), func() bool { return proxy.Counters(back).Bytes > was })
	}
	undone(t, app)
}

// TestFlapping looks at the links while a flapping partition is in force.
func TestFlapping(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 3)
	app := planned(t, n, "partition:flapping:200ms", 1)
	f := app.(*flapping)
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := app.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if cuts, _ := field(v, "cuts"); cuts < 2 {
		t.Errorf("evidence %s", v)
	}
	for range 2 {
		wait(t, "a heal", func() bool { return !proxy.IsCut(f.edges[0]) })
		was := proxy.Counters(f.edges[0]).Bytes
		wait(t, "a cut", func() bool { return proxy.IsCut(f.edges[0]) })
		wait(t, "bytes in between", func() bool { return proxy.Counters(f.edges[0]).Bytes > was })
	}
	undone(t, app)
	cuts := f.cuts
	for _, e := range proxy.Edges() {
		if proxy.IsCut(e) {
			t.Errorf("%s is still cut", e)
		}
	}
	// Its goroutine has ended, so nothing can cut again.
	select {
	case <-f.done:
	default:
		t.Error("still flapping after the undo")
	}
	if f.cuts != cuts {
		t.Error("cut again after the undo")
	}
}

// TestFlappingThatDoesNot bite, because the links lie.
func TestFlappingThatDoesNot(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 2)
	for name, want := range map[string]string{"leaks": "while cut", "errors": "planned by the test"} {
		t.Run(name, func(t *testing.T) {
			n, first := n, true
			n.Links = toy{Link: proxy, cut: func(e link.Edge) error {
				if name == "leaks" {
					return nil
				}
				if first {
					first = false
					return proxy.Cut(e)
				}
				return errPlanned
			}}
			app := planned(t, n, "partition:flapping:100ms", 1)
			err := app.Apply(t.Context())
			if err == nil {
				_, err = app.Probe(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			undone(t, app)
		})
	}
}

// clogs records the order in which edges are cut and healed.
type clogs struct {
	toy
	mu    sync.Mutex
	cuts  []link.Edge
	heals []link.Edge
}

func (c *clogs) record(list *[]link.Edge, e link.Edge) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(*list, e) {
		*list = append(*list, e)
	}
}

func TestSwizzle(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 4)
	for seed := range uint64(3) {
		c := &clogs{}
		c.toy = toy{
			Link: proxy,
			cut:  func(e link.Edge) error { c.record(&c.cuts, e); return proxy.Cut(e) },
			heal: func(e link.Edge) error { c.record(&c.heals, e); return proxy.Heal(e) },
		}
		n := n
		n.Links = c
		r := &rec{}
		o := options(t, n, "partition:swizzle", seed, r)
		out, err := once(t, o, r)
		if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) {
			t.Fatalf("outcome %+v, %v", out, err)
		}
		v := r.ops[0].Value
		unclog, _ := v.Field("unclog")
		clogged, unclogged := nodesOf(v), nodesOf(unclog)
		if len(clogged) < 2 || slices.Equal(clogged, unclogged) {
			t.Errorf("clogged %v, unclogged %v", clogged, unclogged)
		}
		// Each edge is cut with the first of its ends, and healed with the last.
		turn := func(order []string, e link.Edge, last bool) int {
			from, to := slices.Index(order, e.From), slices.Index(order, e.To)
			if from < 0 || to < 0 || last {
				return max(from, to)
			}
			return min(from, to)
		}
		for i := range c.cuts[1:] {
			if turn(clogged, c.cuts[i], false) > turn(clogged, c.cuts[i+1], false) {
				t.Fatalf("clogged %v, but cut %v", clogged, c.cuts)
			}
		}
		for i := range c.heals[1:] {
			if turn(unclogged, c.heals[i], true) > turn(unclogged, c.heals[i+1], true) {
				t.Fatalf("unclogged %v, but healed %v", unclogged, c.heals)
			}
		}
		if len(c.cuts) != len(c.heals) {
			t.Errorf("%d edges cut, %d healed", len(c.cuts), len(c.heals))
		}
	}
}

// TestSwizzleCutShort: what is clogged when the time is up is unclogged at once.
func TestSwizzleCutShort(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 4)
	app := planned(t, n, "partition:swizzle", 1)
	app.(*swizzling).gap = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := app.Apply(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("half applied: %v", err)
	}
	if err := app.Undo(ctx); err != nil {
		t.Fatal(err)
	}
	for _, e := range proxy.Edges() {
		if proxy.IsCut(e) {
			t.Errorf("%s is still cut", e)
		}
	}
	undone(t, app)
}

// TestPartitionByRole hits who proposes, as asked.
func TestPartitionByRole(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 4)
	chain := newClockwork(n.Nodes, time.Hour)
	n.Chain, n.Proposers = chain, chain
	who, _ := chain.Proposer(t.Context())
	app := planned(t, n, "partition:proposer", 1)
	if got := nodesOf(app.Value()); !slices.Equal(got, []string{who}) || len(app.(*cut).edges) != 6 {
		t.Errorf("%s proposes, cut off is %v", who, got)
	}
	if got := nodesOf(planned(t, n, "partition:non-proposers", 1).Value()); len(got) != 1 || got[0] == who {
		t.Errorf("%s proposes, cut off is %v", who, got)
	}
	n.Only = []string{"n3"}
	if got := nodesOf(planned(t, n, "partition:proposer", 1).Value()); !slices.Equal(got, n.Only) {
		t.Errorf("only n3, cut off is %v", got)
	}
}

// TestQuorumCountsTheDead: who is away by itself leaves less to be hit.
func TestQuorumCountsTheDead(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 4)
	n.Quorum = QuorumSafe
	if got := nodesOf(planned(t, n, "kill:subset", 1).Value()); len(got) != 1 {
		t.Errorf("of four: %v", got)
	}
	id, _ := c.Identity("n4")
	if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "n4 to end", func() bool { return !devnet.Alive(id) })
	for _, spec := range []string{"kill:subset", "partition:one"} {
		for seed := range uint64(8) {
			app, err := parsed(t, spec)[0].Plan(t.Context(), n, seeded(seed))
			switch {
			case err == nil && spec == "partition:one":
				// To cut the dead one off costs nothing.
				if g := app.(*cut).grudge.describe(n.Nodes); g != "n1 n2 n3 | n4" {
					t.Errorf("%s: %s", spec, g)
				}
			case err == nil:
				t.Errorf("%s: %s", spec, app.Value())
			case !strings.Contains(err.Error(), "quorum safe"):
				t.Errorf("%s: %v", spec, err)
			}
		}
	}
}

// TestPartitionOfANode: partition:n2 is one, and that one.
func TestPartitionOfANode(t *testing.T) {
	n, _, _ := testNet(t, 3)
	for _, spec := range []string{"partition:n2", "partition:one:n2", "partition:n2:one"} {
		f := parsed(t, spec)[0]
		if f.Name() != "partition:one:n2" {
			t.Errorf("%s is called %s", spec, f.Name())
		}
		for seed := range uint64(5) {
			app, err := f.Plan(t.Context(), n, seeded(seed))
			if err != nil {
				t.Fatal(err)
			}
			if want := `{:grudge :one, :nodes ["n2"], :cut {"n1" #{"n2"}, "n2" #{"n1" "n3"}, "n3" #{"n2"}}}`; app.Value().String() != want {
				t.Errorf("planned %s, want %s", app.Value(), want)
			}
		}
	}
}
