package workloads

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history"
)

// Every workload has claims, and there are none of what is no workload.
func TestEveryWorkloadIsJudged(t *testing.T) {
	claimed := claims.Workloads()
	slices.Sort(claimed)
	names := Names()
	slices.Sort(names)
	if !slices.Equal(claimed, names) {
		t.Errorf("claims are made of %v, the workloads are %v", claimed, names)
	}
}

// Workloads run together, so the :f of an op says whose it is.
func TestEveryOperationIsOfOneWorkload(t *testing.T) {
	of := map[string]string{"txs": "all"}
	for _, w := range All() {
		if len(w.Ops) == 0 {
			t.Errorf("%s has no operations", w.Name)
		}
		for _, f := range w.Ops {
			if other, taken := of[f]; taken {
				t.Errorf(":%s is of %s and of %s", f, other, w.Name)
			}
			of[f] = w.Name
		}
	}
}

func TestExpand(t *testing.T) {
	for _, test := range []struct{ names, want []string }{
		{nil, nil},
		{[]string{"head", "register", "head"}, []string{"head", "register"}},
		{[]string{"all"}, Names()},
		{[]string{"all", "head", "all"}, Names()},
		{[]string{"nonsense"}, []string{"nonsense"}}, // Get says so
	} {
		if got := Expand(test.names, Offers{WS: true, Comet: true}); !slices.Equal(got, test.want) {
			t.Errorf("%v is %v, want %v", test.names, got, test.want)
		}
	}
}

// Not every network can do everything: all is what this one can.
func TestExpandKnowsTheNetwork(t *testing.T) {
	bare := Expand([]string{"all"}, Offers{})
	if slices.Contains(bare, "sub") || slices.Contains(bare, "consensus") || !slices.Contains(bare, "register") {
		t.Errorf("all of a network with HTTP alone is %v", bare)
	}
	if ws := Expand([]string{"all"}, Offers{WS: true}); !slices.Contains(ws, "sub") || slices.Contains(ws, "consensus") {
		t.Errorf("all of a network with WebSockets is %v", ws)
	}
	w, err := Get("sub")
	if err != nil || w.Lacks(Offers{Comet: true}) == "" || w.Lacks(Offers{WS: true}) != "" {
		t.Errorf("sub lacks %q, %q", w.Lacks(Offers{Comet: true}), w.Lacks(Offers{WS: true}))
	}
}

// The clients are shared: however many workloads submit, there are as many.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		threads int
		names   []string
		want    int
	}{
		{8, []string{"register", "head"}, 8}, {8, []string{"head"}, 8}, {1, []string{"register", "head"}, 1}, {0, nil, 1},
	} {
		if got := Share(test.threads, test.names); got != test.want {
			t.Errorf("%d threads for %v: %d, want %d", test.threads, test.names, got, test.want)
		}
	}
}

// Keys end, their values are unique and count from 1, a cas expects a value that
// was handed out, and all kinds of operations are drawn.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	k := newKeys(20)
	perKey := make(map[int64]int)
	values := make(map[int64]int64)
	kinds := make(map[string]int)
	for i := range 5000 {
		o := k.strong(rng)
		kinds[o.F]++
		id, ok := keyOf(o.Value)
		if !ok {
			t.Fatalf("value %s", o.Value)
		}
		perKey[id]++
		var v int64
		switch arg := o.Value.Elems()[1]; o.F {
		case "write":
			v, _ = arg.Int()
		case "cas":
			old, _ := arg.Elems()[0].Int()
			v, _ = arg.Elems()[1].Int()
			if old < 1 || old > values[id] {
				t.Fatalf("cas of key %d expects %d, values up to %d were handed out", id, old, values[id])
			}
		default:
			continue
		}
		if v != values[id]+1 {
			t.Fatalf("key %d: value %d after %d", id, v, values[id])
		}
		values[id] = v
		k.observe(id, history.Int(v), within(uint64(i)))
	}
	for id, n := range perKey {
		if n > opsPerKey {
			t.Errorf("key %d has %d transactions", id, n)
		}
	}
	if last := k.last(); len(last) != recentKeys || slices.Max(last) < k.next-int64(len(k.active))-1 {
		t.Errorf("newest keys are %v, %d were opened", last, k.next)
	}
	for _, f := range []string{"read", "write", "cas"} {
		if kinds[f] < 1000 {
			t.Errorf("%d of 5000 transactions are %s", kinds[f], f)
		}
	}
}

// A cas expects what the chain showed last, whoever reports it and when, and
// never what was not written.
func TestKeysExpectTheLatest(t *testing.T) {
	k := newKeys(1)
	it := k.active[0]
	it.values = 9
	for _, step := range []struct {
		v    history.Value
		at   moment
		want history.Value
	}{
		{history.Value{}, after(3), history.Value{}},
		{history.Int(4), within(5), history.Int(4)},
		{history.Int(5), within(5), history.Int(5)}, // the order within a block is not known
		{history.Int(2), after(4), history.Int(5)},  // a reader that is behind
		{history.Int(3), after(5), history.Int(3)},
		{history.Int(4), within(5), history.Int(3)}, // a client that hears of its receipt late
		{history.Int(10), after(6), history.Int(3)}, // never handed out
		{history.Int(0), after(6), history.Int(3)},
		{history.Int(6), within(6), history.Int(6)},
	} {
		k.observe(it.id, step.v, step.at)
		if !it.seen.Equal(step.want) {
			t.Errorf("after %s at %d a cas expects %s, want %s", step.v, step.at, it.seen, step.want)
		}
	}
}
