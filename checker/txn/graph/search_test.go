package graph

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parse reads a graph such as "0-ww->1 1-rw->0", of ten transactions.
func parse(t testing.TB, text string) *Builder {
	t.Helper()
	b := NewBuilder(10)
	for _, edge := range strings.Fields(text) {
		from, rest, _ := strings.Cut(edge, "-")
		name, to, ok := strings.Cut(rest, "->")
		i, errFrom := strconv.Atoi(from)
		j, errTo := strconv.Atoi(to)
		rel := slices.Index(relNames[:], name)
		if !ok || errFrom != nil || errTo != nil || rel < 0 {
			t.Fatalf("edge %q is not like 0-ww->1", edge)
		}
		b.Add(uint32(i), uint32(j), 1<<rel)
	}
	return b
}

// one is a time at which each transaction runs alone, in the order of numbers.
func one(b *Builder) *Builder {
	call, ret := make([]int32, b.nodes), make([]int32, b.nodes)
	for i := range b.nodes {
		call[i], ret[i] = int32(2*i), int32(2*i+1)
	}
	b.Times(call, ret)
	return b
}

func TestSearchNames(t *testing.T) {
	for _, test := range []struct {
		edges string
		timed bool
		want  string // classes and lengths
	}{
		{edges: "", want: ""},
		{edges: "0-ww->1 1-wr->2 0-rw->2", want: ""},
		{edges: "0-ww->1 1-ww->0", want: "G0 2"},
		{edges: "0-ww->1 1-wwp->0", want: "G0 2"},
		{edges: "0-ww->1 1-wr->0", want: "G1c 2"},
		{edges: "0-wrp->1 1-wr->2 2-wr->0", want: "G1c 3"},
		// G0 is a case of G1c, which goes unsaid.
		{edges: "0-ww->1 1-ww->0 0-wr->1", want: "G0 2"},
		{edges: "0-wr->1 1-rw->0", want: "G-single-item 2"},
		{edges: "0-wrp->1 1-rw->0", want: "G-single-item 2"},
		{edges: "0-wr->1 1-rwp->0", want: "G-single 2"},
		{edges: "0-rw->1 1-ww->2 2-rw->3 3-wr->0", want: "G-nonadjacent-item 4"},
		{edges: "0-rw->1 1-ww->2 2-rwp->3 3-wr->0", want: "G-nonadjacent 4"},
		// Write skew, and phantoms the same way.
		{edges: "0-rw->1 1-rw->0", want: "G2-item 2"},
		{edges: "0-rw->1 1-rwp->0", want: "G2 2"},
		{edges: "0-rw->1 1-rw->2 2-ww->0", want: "G2-item 3"},
		// The one rw of a G-single among several of a G2.
		{edges: "0-rw->1 1-rw->0 1-ww->2 2-wr->0", want: "G-single-item 3"},
		// Neither implies the other.
		{edges: "0-ww->1 1-ww->0 1-rw->2 2-wr->0", want: "G0 2, G-single-item 3"},
		{edges: "0-wr->1 1-rwp->0 0-rw->1 1-rw->0", want: "G-single-item 2"},
		{edges: "0-rwp->1 1-ww->0 1-rw->2 2-rw->1", want: "G-single 2, G2-item 2"},
		// Back through the G0 there is a walk without two rw in a row, but no cycle.
		{edges: "0-ww->2 1-rw->2 2-ww->0 2-rwp->5 5-ww->1", want: "G0 2, G2 3"},
		// And here there is one, but the shortest walk cannot be made into it.
		{edges: "0-rw->1 1-ww->2 2-ww->1 1-rw->3 3-ww->0 2-ww->4 4-ww->5 5-rw->3", want: "G0 2, G-nonadjacent-item 6"},
		// Orders only count where data alone gives no such cycle.
		{edges: "0-process->1 1-ww->0", want: "G0-process 2"},
		{edges: "0-process->1 1-wr->0", want: "G1c-process 2"},
		{edges: "0-process->1 1-rw->0", want: "G-single-item-process 2"},
		{edges: "0-process->1 1-rwp->0", want: "G-single-process 2"},
		{edges: "0-process->1 1-rw->2 2-rw->0", want: "G2-item-process 3"},
		{edges: "0-process->1 1-rw->0 0-wr->1", want: "G-single-item 2"},
		{edges: "3-ww->1", timed: true, want: "G0-realtime 2"},
		{edges: "3-wr->1", timed: true, want: "G1c-realtime 2"},
		{edges: "3-rw->1", timed: true, want: "G-single-item-realtime 2"},
		{edges: "9-rw->5 5-rwp->1", timed: true, want: "G-single-item-realtime 2"},
		{edges: "0-process->1 1-rw->0", timed: true, want: "G-single-item-process 2"},
		// Two components, one of them all alone.
		{edges: "0-ww->1 1-ww->2 2-ww->0 5-ww->6 6-ww->5", want: "G0 2, G0 3"},
	} {
		b := parse(t, test.edges)
		if test.timed {
			one(b)
		}
		report := b.Graph().Search(context.Background(), Options{})
		var got []string
		for _, c := range report.Cycles {
			got = append(got, c.Class+" "+strconv.Itoa(len(c.Steps)))
		}
		if strings.Join(got, ", ") != test.want || report.Unfinished != "" {
			t.Errorf("%s: got %q %s, want %q", test.edges, got, report.Unfinished, test.want)
		}
	}
}

// A long cycle in time is told as one step of real time, not as the transactions
// that ran between.
func TestSearchContractsRealTime(t *testing.T) {
	g := one(parse(t, "9-rw->0 0-wr->1")).Graph()
	report := g.Search(context.Background(), Options{})
	want := []Cycle{{Class: "G-single-item-realtime", Steps: []Step{{9, 0, RW}, {0, 9, Realtime}}}}
	if !reflect.DeepEqual(report.Cycles, want) {
		t.Errorf("got %v, want %v", report.Cycles, want)
	}
	if report.Components != 1 || report.Largest != 10 || report.Edges != 2 {
		t.Errorf("got %+v, want one component of 10, 2 edges", report)
	}
}

// A read of what is long gone shows in data alone only the long way round.
func TestSearchAddsReadableWitness(t *testing.T) {
	g := store{n: 2000, clients: 5, ago: true}.builder(rand.New(rand.NewPCG(1, 2))).Graph()
	report := g.Search(context.Background(), Options{})
	if len(report.Cycles) != 2 || len(report.Counts) != 2 {
		t.Fatalf("got %v, want two witnesses", report.Cycles)
	}
	if c := report.Cycles[0]; c.Class != "G-single-item" || len(c.Steps) <= readable {
		t.Errorf("got %v, want a long G-single-item", c)
	}
	if c := report.Cycles[1]; c.Class != "G-single-item-realtime" || len(c.Steps) != 2 {
		t.Errorf("got %v, want a G-single-item-realtime of two steps", c)
	}
}

func TestSearchWant(t *testing.T) {
	only := func(names ...string) func(string) bool {
		return func(c string) bool { return slices.Contains(names, c) }
	}
	for _, test := range []struct {
		edges string
		timed bool
		want  func(string) bool
		found []string
	}{
		{"0-ww->1 1-wr->0 2-rw->3 3-rw->2", false, only("G1c"), []string{"G1c"}},
		{"0-ww->1 1-ww->0", false, only("G1c"), []string{"G0"}}, // evidence for it
		{"0-ww->1 1-wr->0", false, only("G0"), nil},
		{"0-wr->1 1-rw->0", false, only("G2"), []string{"G-single-item"}},
		{"0-process->1 1-rw->0", false, only("G2"), nil},
		{"0-process->1 1-rw->0", false, only("G2-process"), []string{"G-single-item-process"}},
		// Asked for real time alone, a process is only a case of it.
		{"0-process->1 1-rw->0", true, only("G2-realtime"), []string{"G-single-item-realtime"}},
		{"0-process->1 1-rw->0", false, only("G2-realtime"), nil},
		{"0-process->1 1-rw->0", true, only("G2-realtime", "G2-process"), []string{"G-single-item-process"}},
		{"3-rw->1", true, only("G2-process"), nil},
		{"3-rw->1", true, only(), nil},
	} {
		b := parse(t, test.edges)
		if test.timed {
			one(b)
		}
		report := b.Graph().Search(context.Background(), Options{Want: test.want})
		var found []string
		for _, c := range report.Cycles {
			found = append(found, c.Class)
		}
		if !slices.Equal(found, test.found) {
			t.Errorf("%s: got %v, want %v", test.edges, found, test.found)
		}
	}
}

func TestVerify(t *testing.T) {
	g := one(parse(t, "0-ww->1 1-wr->2 2-ww->1 2-rw->0 1-process->0")).Graph()
	for _, test := range []struct {
		steps []Step
		ok    bool
	}{
		{[]Step{{0, 1, WW}, {1, 2, WR}, {2, 0, RW}}, true},
		{[]Step{{2, 0, RW}, {0, 2, Realtime}}, true},
		{[]Step{{0, 1, WW}, {1, 2, WR}}, false},                                     // not closed
		{[]Step{{0, 1, WW}, {2, 0, RW}}, false},                                     // with a gap
		{[]Step{{0, 1, WR}, {1, 2, WR}, {2, 0, RW}}, false},                         // not an edge
		{[]Step{{2, 0, RW}, {0, 2, WW | Realtime}}, false},                          // two reasons
		{[]Step{{2, 0, Realtime}, {0, 2, Realtime}}, false},                         // back in time
		{[]Step{{0, 1, WW}, {1, 2, WR}, {2, 1, WW}, {1, 2, WR}, {2, 0, RW}}, false}, // twice through 1
		{[]Step{{0, 1, Realtime}, {1, 0, Process}}, false},                          // without data
		{nil, false},
	} {
		if _, ok := g.verify(test.steps); ok != test.ok {
			t.Errorf("%v: got %v, want %v", test.steps, ok, test.ok)
		}
	}
}

func TestReportIsBounded(t *testing.T) {
	const pairs = 20
	b := NewBuilder(3 * pairs)
	for i := range uint32(pairs) {
		if i < pairs-1 {
			b.Add(3*i, 3*i+1, WW)
			b.Add(3*i+1, 3*i+2, WW)
			b.Add(3*i+2, 3*i, WW)
			continue
		}
		b.Add(3*i, 3*i+1, WW) // the last one is the shortest
		b.Add(3*i+1, 3*i, WW)
	}
	report := b.Graph().Search(context.Background(), Options{})
	if report.Counts["G0"] != pairs || len(report.Cycles) != perClass || report.Components != pairs {
		t.Errorf("got %v, %d cycles, %d components", report.Counts, len(report.Cycles), report.Components)
	}
	if first := report.Cycles[0]; len(first.Steps) != 2 {
		t.Errorf("got %v first, want the shortest", first)
	}
	if second := report.Cycles[1]; second.Steps[0].From != 0 {
		t.Errorf("got %v second, want the earliest of those as long", second)
	}
}

func TestSearchEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("no time left"))
	g := parse(t, "0-ww->1 1-ww->0").Graph()
	if report := g.Search(ctx, Options{}); !strings.Contains(report.Unfinished, "no time left") {
		t.Errorf("got %+v, want the cause of the end", report)
	}
}

// Without work a G-single among very many G-nonadjacent cannot be told, and the
// report says so instead of denying it.
func TestSearchSaysWhatIsOpen(t *testing.T) {
	g := separate(2000, 10_000, rand.New(rand.NewPCG(3, 4))).Graph()
	full := g.Search(context.Background(), Options{})
	if full.Unfinished != "" || full.Counts["G-nonadjacent-item"] != 1 || full.Counts["G-single-item"] != 0 {
		t.Errorf("got %v %s, want G-nonadjacent-item alone", full.Counts, full.Unfinished)
	}
	short := g.Search(context.Background(), Options{Work: 1000})
	if short.Counts["G-nonadjacent-item"] != 1 || !strings.HasPrefix(short.Unfinished, "G-single-item is open in a component of") {
		t.Errorf("got %v %q, want G-nonadjacent-item, and G-single-item open", short.Counts, short.Unfinished)
	}
}

func TestSearchRepeatsItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	g := store{n: 3000, clients: 10, stale: 0.2, lag: 5, skew: 0.2}.builder(rng).Graph()
	for _, work := range []int64{0, 100, 10_000} {
		a := g.Search(context.Background(), Options{Work: work})
		b := g.Search(context.Background(), Options{Work: work})
		if !reflect.DeepEqual(a, b) {
			t.Errorf("two searches of one graph with work %d differ", work)
		}
		if len(a.Cycles) == 0 {
			t.Errorf("found nothing in a graph full of stale reads")
		}
	}
}
