package graph

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
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

func TestBuilder(t *testing.T) {
	b := NewBuilder(3)
	b.Add(1, 1, WW)          // to itself
	b.Add(0, 3, WW)          // to a node that is not there
	b.Add(7, 0, WW)          // from one
	b.Add(0, 2, WW)          // twice, for
	b.Add(0, 2, RW)          // two reasons
	b.Add(0, 1, WR)          // later, to a smaller node
	b.Add(0, 1, Realtime)    // comes from Times alone
	b.Times(nil, []int32{1}) // not as many as nodes
	b.Processes([]int32{4, 4, 4, 4}, []uint32{2, 1, 9})
	g := b.Graph()
	want := map[[2]uint32]Rel{{0, 1}: WR, {0, 2}: WW | RW, {2, 1}: Process}
	got := map[[2]uint32]Rel{}
	for i := range uint32(4) {
		for j := range uint32(4) {
			if r := g.Rel(i, j); r != 0 {
				got[[2]uint32{i, j}] = r
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if report := NewBuilder(-1).Graph().Search(context.Background(), Options{}); report.Components != 0 || report.Unfinished != "" {
		t.Errorf("an empty graph gives %+v", report)
	}
}

// More edges than fit in a block, in rows long and short.
func TestBuilderHoldsWhatIsAdded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 300
	want := map[[2]uint32]Rel{}
	b := NewBuilder(n)
	for range 3 * chunk {
		from, to := uint32(rng.IntN(n)), uint32(rng.IntN(n))
		if rng.IntN(2) == 0 {
			from = from % 8 * (from % 7)
		}
		r := Rel(1) << rng.IntN(7)
		b.Add(from, to, r)
		if from != to {
			want[[2]uint32{from, to}] |= r
		}
	}
	g := b.Graph()
	edges := 0
	for v := range uint32(n) {
		row := g.to[g.off[v]:g.off[v+1]]
		edges += len(row)
		if !slices.IsSorted(row) {
			t.Fatalf("row %d is not sorted", v)
		}
		for i, to := range row {
			if r := g.rel[g.off[v]+uint32(i)]; r != want[[2]uint32{v, to}] {
				t.Fatalf("%d to %d is %s, want %s", v, to, r, want[[2]uint32{v, to}])
			}
		}
	}
	if edges != len(want) {
		t.Fatalf("%d edges, want %d", edges, len(want))
	}
}

func TestClockIsRealTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		far := rapid.SampledFrom([]int32{30, Never}).Draw(t, "far") // dense or not
		at := rapid.OneOf(rapid.Int32Range(-2, 30), rapid.Int32Range(-2, far))
		call, ret := make([]int32, n), make([]int32, n)
		for i := range n {
			call[i], ret[i] = at.Draw(t, "call"), at.Draw(t, "ret")
			if rapid.IntRange(0, 5).Draw(t, "doubt") == 0 {
				ret[i] = Never
			}
		}
		c := clock{rank: make([]uint32, 3), place: []uint32{9}} // reused
		c.set(call, ret)
		for a := range n {
			for b := range n {
				before := call[b] >= 0 && call[b] <= ret[b] && ret[a] < call[b] && a != b
				if got := c.precedes(uint32(a), uint32(b)); got != before {
					t.Fatalf("%d precedes %d: %v, want %v, with %v and %v", a, b, got, before, call, ret)
				}
				behind := slices.Contains(c.order[c.rank[a]:], uint32(b))
				if behind != before {
					t.Fatalf("%d is behind the barrier of %d: %v, want %v", b, a, behind, before)
				}
			}
		}
	})
}

// Real time alone is never a cycle, however odd the times.
func TestRealTimeHasNoCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		times := rapid.SliceOfN(rapid.Int32Range(-2, 20), n, n)
		b := NewBuilder(n)
		b.Times(times.Draw(t, "call"), times.Draw(t, "ret"))
		report := b.Graph().Search(context.Background(), Options{})
		if report.Components != 0 {
			t.Fatalf("%d components without an edge", report.Components)
		}
	})
}

func TestReachIsReachability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(2, 40).Draw(t, "n")
		b := random(n, rng.IntN(3*n), []Rel{WW, WR, RW}, rng)
		call, ret := make([]int32, n), make([]int32, n)
		for i := range n {
			call[i] = int32(rng.IntN(4 * n))
			ret[i] = call[i] + int32(rng.IntN(n))
		}
		b.Times(call, ret)
		g := b.Graph()
		v := g.view
		v.clock.set(g.call, g.ret)
		w := walk{d: relWW | relWR, rt: rapid.Bool().Draw(t, "rt")}
		var tj tarjan
		zone, _ := tj.components(&v, w, nil, nil)
		var edges []Step // 200 questions
		for range 200 {
			edges = append(edges, Step{From: uint32(rng.IntN(n)), To: uint32(rng.IntN(n)), Rel: RW})
		}
		m := make([][]Rel, n)
		for i := range m {
			m[i] = make([]Rel, n)
			for j := range m {
				m[i][j] = v.edge(uint32(i), uint32(j)) & w.d
				if w.rt && g.before(uint32(i), uint32(j)) {
					m[i][j] |= Realtime
				}
			}
		}
		reaches := closure(m)
		edges = slices.DeleteFunc(edges, func(e Step) bool { return zone[e.To] > zone[e.From] })
		anyReaches := slices.ContainsFunc(edges, func(e Step) bool { return reaches[e.To][e.From] })
		var r reach
		for range 2 { // reused
			hit, found, decided := r.any(&v, &route{walk: w, zone: zone}, edges, 1<<40, context.Background())
			if !decided || found != anyReaches || found && !reaches[hit.To][hit.From] {
				t.Fatalf("got %v %v %v, want %v", hit, found, decided, anyReaches)
			}
		}
	})
}

func TestImpliesIsElles(t *testing.T) {
	direct := map[string]string{
		"G0": "G1c", "G-single-item": "G-single G-nonadjacent-item", "G-single": "G-nonadjacent",
		"G-nonadjacent-item": "G-nonadjacent G2-item", "G-nonadjacent": "G2", "G2-item": "G2", "G1c": "", "G2": "",
	}
	edges := map[string][]string{}
	for name, others := range direct {
		for _, suffix := range []string{"", "-process", "-realtime"} {
			for _, other := range strings.Fields(others) {
				edges[name+suffix] = append(edges[name+suffix], other+suffix)
			}
		}
		edges[name] = append(edges[name], name+"-process")
		edges[name+"-process"] = append(edges[name+"-process"], name+"-realtime")
	}
	classes := Classes()
	if len(classes) != 24 {
		t.Fatalf("%d classes", len(classes))
	}
	for _, c := range classes {
		all := []string{c}
		for i := 0; i < len(all); i++ {
			for _, next := range edges[all[i]] {
				if !slices.Contains(all, next) {
					all = append(all, next)
				}
			}
		}
		got := Implies(c)
		if got[0] != c {
			t.Errorf("%s is not first of %v", c, got)
		}
		slices.Sort(all)
		slices.Sort(got)
		if !slices.Equal(got, all) {
			t.Errorf("%s implies %v, want %v", c, got, all)
		}
	}
	if Implies("G3") != nil {
		t.Error("G3 is no class")
	}
}

func TestRelString(t *testing.T) {
	for r, want := range map[Rel]string{WW: "ww", RWP: "rwp", Process: "process", Realtime: "realtime", 0: "none", WW | RW: "ww|rw"} {
		if r.String() != want {
			t.Errorf("got %s, want %s", r, want)
		}
	}
}
