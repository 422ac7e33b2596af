package kernel_test

import (
	"testing"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

func TestMain(m *testing.M) { linktest.Main(m, begin, nil) }

func begin(nodes ...string) (linktest.Spaces, error) {
	l, err := kernel.New(kernel.Options{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	return l, breakAll(l)
}

// breakAll has every kind of rule in force.
func breakAll(l *kernel.Links) error {
	for i, e := range l.Edges() {
		if i%2 == 0 {
			if err := l.Cut(e); err != nil {
				return err
			}
		}
		if err := l.Shape(e, link.Shape{Rate: 100_000, Loss: 0.5, Reset: 0.5}); err != nil {
			return err
		}
	}
	return nil
}
