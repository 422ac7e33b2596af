package link

import (
	"errors"
	"fmt"
)

// Direct is a network between nodes that dial each other with nothing in between:
// what the other mechanisms are measured against. It can do nothing to an edge
// and sees nothing of it: its Counters stay zero. It costs nothing.
type Direct struct{ edges []Edge }

var _ Link = (*Direct)(nil)

// errDirect is what it answers to all that a Link may be asked for.
var errDirect = errors.New("nodes dial each other directly, so nothing can be done to their links")

// NewDirect returns the edges between all pairs of nodes.
func NewDirect(nodes []string) *Direct { return &Direct{pairs(nodes)} }

// DirectFeatures is the empty list: not nil, which would be links out of reach.
func DirectFeatures() []Support { return []Support{} }

// Cut is refused.
func (d *Direct) Cut(e Edge) error { return fmt.Errorf("link %s: cut: %w", e, errDirect) }

// Heal does nothing: nothing is ever cut.
func (d *Direct) Heal(Edge) error { return nil }

// IsCut is false.
func (d *Direct) IsCut(Edge) bool { return false }

// Shape refuses every shape but the zero one.
func (d *Direct) Shape(e Edge, s Shape) error {
	if s == (Shape{}) {
		return nil
	}
	return fmt.Errorf("link %s: shape %v: %w", e, s.Features(), errDirect)
}

// Shaped is the zero Shape.
func (d *Direct) Shaped(Edge) Shape { return Shape{} }

// Reset is refused.
func (d *Direct) Reset(e Edge) (int, error) {
	return 0, fmt.Errorf("link %s: reset: %w", e, errDirect)
}

// Counters are zero: nobody counts.
func (d *Direct) Counters(Edge) Counters { return Counters{} }

// Edges lists the pairs, by From and then To in the order of the nodes.
func (d *Direct) Edges() []Edge { return append([]Edge(nil), d.edges...) }

// Features is DirectFeatures.
func (d *Direct) Features() []Support { return DirectFeatures() }

// Close does nothing.
func (d *Direct) Close() error { return nil }
