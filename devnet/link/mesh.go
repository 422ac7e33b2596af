package link

import (
	"fmt"
	"slices"
)

// State is what an edge is asked to do with what it carries.
type State struct {
	Cut   bool
	Shape Shape
}

// Way is one edge as a mechanism has it. Its methods are safe for concurrent use.
type Way interface {
	State() State
	// Change gives the edge the state that f makes of its present one, which is in
	// force when Change returns. After an error it has the one that it had.
	Change(f func(*State)) error
	// Reset and Counters are those of Link.
	Reset() (int, error)
	Counters() Counters
}

// Mesh is the Link made of a Way for each ordered pair of nodes. To an edge that
// there is not nothing can be done; it is neither cut nor shaped, and all of its
// counters are zero.
type Mesh[W Way] struct {
	nodes    []string
	edges    []Edge
	ways     map[Edge]W
	features func() []Support
}

// NewMesh calls way once for each edge, in the order of Edges. The nodes have
// different names.
func NewMesh[W Way](nodes []string, features func() []Support, way func(Edge) W) *Mesh[W] {
	m := &Mesh[W]{nodes: slices.Clone(nodes), edges: pairs(nodes), ways: make(map[Edge]W), features: features}
	for _, e := range m.edges {
		m.ways[e] = way(e)
	}
	return m
}

func pairs(nodes []string) []Edge {
	var edges []Edge
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				edges = append(edges, Edge{From: from, To: to})
			}
		}
	}
	return edges
}

// Edges lists every ordered pair of nodes, in the order of the nodes.
func (m *Mesh[W]) Edges() []Edge { return slices.Clone(m.edges) }

// Features lists what the mechanism can do.
func (m *Mesh[W]) Features() []Support { return m.features() }

// IsCut reports whether the edge is cut now.
func (m *Mesh[W]) IsCut(e Edge) bool { return m.state(e).Cut }

// Shaped returns the present shape of the edge.
func (m *Mesh[W]) Shaped(e Edge) Shape { return m.state(e).Shape }

// Counters returns the evidence for one edge.
func (m *Mesh[W]) Counters(e Edge) Counters {
	if w, ok := m.ways[e]; ok {
		return w.Counters()
	}
	return Counters{}
}

// Cut stops everything that e.From sends to e.To.
func (m *Mesh[W]) Cut(e Edge) error { return m.change(e, func(s *State) { s.Cut = true }) }

// Heal lets the edge carry bytes again.
func (m *Mesh[W]) Heal(e Edge) error { return m.change(e, func(s *State) { s.Cut = false }) }

// Shape replaces the shape of the edge.
func (m *Mesh[W]) Shape(e Edge, shape Shape) error {
	if _, err := m.find(e); err != nil {
		return err
	}
	if err := shape.Check(m.features()); err != nil {
		return err
	}
	return m.change(e, func(s *State) { s.Shape = shape })
}

// Reset breaks the connections that are open on the edge and its reverse.
func (m *Mesh[W]) Reset(e Edge) (int, error) {
	w, err := m.find(e)
	if err != nil {
		return 0, err
	}
	n, err := w.Reset()
	if err != nil {
		err = fmt.Errorf("reset %s: %w", e, err)
	}
	return n, err
}

func (m *Mesh[W]) change(e Edge, f func(*State)) error {
	w, err := m.find(e)
	if err != nil {
		return err
	}
	if err := w.Change(f); err != nil {
		return fmt.Errorf("link %s: %w", e, err)
	}
	return nil
}

func (m *Mesh[W]) find(e Edge) (W, error) {
	w, ok := m.ways[e]
	if !ok {
		return w, fmt.Errorf("edge %q: no such link, expected two different nodes of %q", e, m.nodes)
	}
	return w, nil
}

func (m *Mesh[W]) state(e Edge) State {
	if w, ok := m.ways[e]; ok {
		return w.State()
	}
	return State{}
}
