package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// shaping is one application of a fault that shapes links.
type shaping struct {
	net   Net
	drawn drawnShape
	nodes []string
	way   string
	edges []link.Edge

	was     map[link.Edge]link.Counters // before the shape
	shaped  []link.Edge                 // edges that have it
	at      map[link.Edge]link.Counters // when the last had got it
	began   time.Time
	left    map[link.Edge]link.Shape    // what the undo left
	ended   map[link.Edge]link.Counters // just before it was undone
	healed  map[link.Edge]link.Counters // when it was undone
	evident map[link.Edge]link.Counters // what was counted when it was seen to bite
	took    time.Duration               // from the shape to then
	lasted  time.Duration               // from the shape to its undo
}

func (s *shaping) Value() history.Value {
	return history.MapOf(append([]history.Value{
		history.Keyword("nodes"), history.Vec(texts(s.nodes)...),
		history.Keyword("way"), history.Keyword(s.way),
	}, s.drawn.value...)...)
}

func (s *shaping) UndoSteps() []Step { return []Step{{Kind: stepLinks, Edges: s.edges}} }

func (s *shaping) Apply(context.Context) error {
	for _, e := range s.edges {
		s.was[e] = s.net.Links.Counters(e)
	}
	for _, e := range s.edges {
		shape, err := s.net.Links.Shaped(e).With(s.drawn.shape)
		if err == nil {
			err = s.net.Links.Shape(e, shape)
		}
		if err != nil {
			return fmt.Errorf("link %s: %w", e, err)
		}
		s.shaped = append(s.shaped, e)
	}
	s.began, s.at = time.Now(), counters(s.net.Links, s.edges)
	if s.drawn.breaks {
		for _, e := range s.edges {
			if _, err := s.net.Links.Reset(e); err != nil {
				return fmt.Errorf("link %s: %w", e, err)
			}
		}
	}
	return nil
}

// sight is what was seen of the shaped edges of one node since they had the shape.
type sight struct {
	node   string
	sum    link.Counters   // over its edges
	edges  []link.Counters // each
	before link.Counters   // the sum from the opening of the links to the shape
	took   time.Duration
}

// Probe asks for evidence of every target that runs, not of every edge: two nodes
// that had nothing to say to each other prove nothing.
func (s *shaping) Probe(ctx context.Context) (history.Value, error) {
	err := await(ctx, look, func() (string, error) {
		s.took = time.Since(s.began)
		s.evident = make(map[link.Edge]link.Counters, len(s.edges))
		for _, e := range s.edges {
			s.evident[e] = since(s.net.Links.Counters(e), s.at[e])
		}
		run := 0
		for _, n := range s.nodes {
			if !nodeRuns(s.net, n) {
				continue
			}
			run++
			if missing := s.drawn.bites(s.see(n)); missing != "" {
				return fmt.Sprintf("links of %s: %s", n, missing), nil
			}
		}
		if run == 0 {
			return list(s.nodes) + ": none of them runs", nil
		}
		return "", nil
	})
	if err != nil {
		return history.Value{}, err
	}
	kvs := []history.Value{history.Keyword("elapsed-ms"), milliseconds(s.took.Round(time.Microsecond))}
	for _, e := range s.edges {
		kvs = append(kvs, edgeValue(e), s.counted(s.evident[e], s.took))
	}
	return history.MapOf(kvs...), nil
}

// counted is the evidence of one edge.
func (s *shaping) counted(c link.Counters, took time.Duration) history.Value {
	kvs := countersOf(c)
	if s.drawn.measured != nil {
		kvs = append(kvs, s.drawn.measured(c, took)...)
	}
	return history.MapOf(kvs...)
}

func (s *shaping) see(node string) sight {
	got := sight{node: node, took: s.took}
	for _, e := range s.edges {
		if touches(e, []string{node}, s.way) {
			got.edges = append(got.edges, s.evident[e])
			got.sum = plus(got.sum, s.evident[e])
			got.before = plus(got.before, s.was[e])
		}
	}
	return got
}

// Undo takes off what Apply put on and leaves what others have put on the same
// edges.
func (s *shaping) Undo(context.Context) error {
	if s.ended == nil && s.at != nil {
		// What still waits goes at once when the shape does.
		s.ended, s.lasted = counters(s.net.Links, s.edges), time.Since(s.began)
	}
	var errs []error
	s.shaped = slices.DeleteFunc(s.shaped, func(e link.Edge) bool {
		shape := s.net.Links.Shaped(e).Without(s.drawn.shape)
		err := s.net.Links.Shape(e, shape)
		if err != nil {
			errs = append(errs, fmt.Errorf("link %s: %w", e, err))
			return false
		}
		s.left[e] = shape
		return true
	})
	if s.healed == nil {
		s.healed = counters(s.net.Links, s.edges)
	}
	return errors.Join(errs...)
}

// undone lists the edges that had the shape, also when Apply failed half-way.
func (s *shaping) undone() []link.Edge {
	return slices.DeleteFunc(slices.Clone(s.edges), func(e link.Edge) bool {
		_, had := s.left[e]
		return !had
	})
}

// VerifyUndone does not ask for bytes where there never were any, nor where an
// end does not run: silence there is no remnant of the fault. Its evidence holds
// too what each edge counted from the shape to the undo: Probe looks until it is
// satisfied, so what it saw is not a fair sample of a share; this is one.
func (s *shaping) VerifyUndone(ctx context.Context) (history.Value, error) {
	f := flow{net: s.net, edges: s.undone(), from: s.healed, want: func(e link.Edge) bool { return s.was[e].Bytes > 0 },
		plain: func(e link.Edge) bool { return s.left[e] == link.Shape{} }}
	if s.ended != nil {
		f.total = func(e link.Edge) history.Value { return s.counted(since(s.ended[e], s.at[e]), s.lasted) }
	}
	err := await(ctx, look, func() (string, error) {
		for _, e := range f.edges {
			if got := s.net.Links.Shaped(e); got != s.left[e] {
				return fmt.Sprintf("link %s: has still the shape %v", e, got.Features()), nil
			}
		}
		return f.missing(), nil
	})
	if err != nil {
		return history.Value{}, err
	}
	return f.value(), nil
}

// flow sees that edges carry bytes again and do nothing to them.
type flow struct {
	net   Net
	edges []link.Edge
	from  map[link.Edge]link.Counters // when the fault was undone
	want  func(e link.Edge) bool      // bytes are to be expected
	plain func(e link.Edge) bool      // nothing may happen to them
	// total is what an edge counted while the fault was in force; nil: unknown.
	total func(e link.Edge) history.Value

	last map[link.Edge]link.Counters // at the look before
	seen map[link.Edge]bool          // bytes went by and nothing happened to them
}

// missing says which edges are not seen to be whole yet.
func (f *flow) missing() string {
	now := counters(f.net.Links, f.edges)
	if f.seen == nil {
		f.seen = make(map[link.Edge]bool)
	}
	var silent []string
	for _, e := range f.edges {
		since := since(now[e], f.last[e])
		if f.last != nil && since.Bytes > 0 && (!f.plain(e) || effects(since) == 0) {
			f.seen[e] = true
		}
		if f.want(e) && !f.seen[e] && nodeRuns(f.net, e.From) && nodeRuns(f.net, e.To) {
			silent = append(silent, e.String())
		}
	}
	f.last = now
	if len(silent) > 0 {
		return fmt.Sprintf("links %s: the fault is undone, but no bytes flow untouched", list(silent))
	}
	return ""
}

func (f *flow) value() history.Value {
	var kvs []history.Value
	for _, e := range f.edges {
		seen := []history.Value{
			history.Keyword("bytes"), history.Int(since(f.last[e], f.from[e]).Bytes),
			history.Keyword("untouched"), history.Flag(f.seen[e]),
		}
		if f.total != nil {
			seen = append(seen, history.Keyword("total"), f.total(e))
		}
		kvs = append(kvs, edgeValue(e), history.MapOf(seen...))
	}
	return history.MapOf(kvs...)
}

// effects counts what a shape did to what went by.
func effects(c link.Counters) int64 {
	return c.Held + c.Lost + c.Duplicated + c.Reordered + c.Corrupted + c.Stalls + c.Resets
}

func counters(links link.Link, edges []link.Edge) map[link.Edge]link.Counters {
	m := make(map[link.Edge]link.Counters, len(edges))
	for _, e := range edges {
		m[e] = links.Counters(e)
	}
	return m
}

// plus adds two edges' counters; Late is that of the later.
func plus(a, b link.Counters) link.Counters { return combine(a, b, 1) }

// since is a minus an earlier b. Late is no sum but the most ever: 0 when it was
// not exceeded since.
func since(a, b link.Counters) link.Counters {
	c := combine(a, b, -1)
	if a.Late == b.Late {
		c.Late = 0
	}
	return c
}

func combine(a, b link.Counters, sign int64) link.Counters {
	return link.Counters{
		Bytes:        a.Bytes + sign*b.Bytes,
		Dropped:      a.Dropped + sign*b.Dropped,
		Connections:  a.Connections + sign*b.Connections,
		RefusedDials: a.RefusedDials + sign*b.RefusedDials,
		Units:        a.Units + sign*b.Units,
		Held:         a.Held + sign*b.Held,
		HeldTime:     a.HeldTime + time.Duration(sign)*b.HeldTime,
		Late:         max(a.Late, b.Late),
		Lost:         a.Lost + sign*b.Lost,
		Duplicated:   a.Duplicated + sign*b.Duplicated,
		Reordered:    a.Reordered + sign*b.Reordered,
		Corrupted:    a.Corrupted + sign*b.Corrupted,
		Overflow:     a.Overflow + sign*b.Overflow,
		Stalls:       a.Stalls + sign*b.Stalls,
		Resets:       a.Resets + sign*b.Resets,
		HeldEnds:     a.HeldEnds + sign*b.HeldEnds,
	}
}

// countersOf is the evidence of one edge, keys and values: what is zero is left
// out.
func countersOf(c link.Counters) []history.Value {
	kvs := []history.Value{history.Keyword("bytes"), history.Int(c.Bytes)}
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"units", c.Units}, {"held", c.Held}, {"lost", c.Lost}, {"duplicated", c.Duplicated},
		{"reordered", c.Reordered}, {"corrupted", c.Corrupted}, {"overflow", c.Overflow},
		{"stalls", c.Stalls}, {"resets", c.Resets}, {"held-ends", c.HeldEnds},
	} {
		if n.count != 0 {
			kvs = append(kvs, history.Keyword(n.name), history.Int(n.count))
		}
	}
	if c.HeldTime > 0 && c.Held > 0 {
		kvs = append(kvs, history.Keyword("mean-held-ms"), milliseconds((c.HeldTime / time.Duration(c.Held)).Round(time.Microsecond)))
	}
	if c.Late > 0 {
		kvs = append(kvs, history.Keyword("latest-ms"), milliseconds(c.Late.Round(time.Microsecond)))
	}
	return kvs
}
