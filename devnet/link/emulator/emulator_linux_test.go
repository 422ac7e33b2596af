package emulator_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// bound is long beyond doubt: no test passes or fails on how fast things are.
const bound = time.Minute

func open(t testing.TB, nodes ...string) *emulator.Emulator {
	t.Helper()
	probe(t)
	e, err := emulator.New(emulator.Options{Nodes: nodes, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func probe(t testing.TB) {
	t.Helper()
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
}

// join returns both ends of a connection from one node to another.
func join(t testing.TB, e *emulator.Emulator, from, to string) (near, far net.Conn) {
	t.Helper()
	ln := linktest.Listen(t, e, to)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	near, err := e.Dial(ctx, from, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	for _, c := range []net.Conn{near, far} {
		c.SetDeadline(time.Now().Add(bound))
	}
	return near, far
}

func edge(from, to string) link.Edge { return link.Edge{From: from, To: to} }

func shape(t testing.TB, e *emulator.Emulator, ed link.Edge, s link.Shape) {
	t.Helper()
	if err := e.Shape(ed, s); err != nil {
		t.Fatal(err)
	}
	if e.Shaped(ed) != s {
		t.Fatalf("%s has the shape %+v, want %+v", ed, e.Shaped(ed), s)
	}
}

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t *testing.T) linktest.Bed { return linktest.SpacesBed(t, open) })
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		opts emulator.Options
	}{
		{"no nodes", emulator.Options{}},
		{"a node twice", emulator.Options{Nodes: []string{"a", "b", "a"}}},
		{"too many nodes", emulator.Options{Nodes: slices.Repeat([]string{"a"}, 251)}},
	} {
		linktest.NothingLeft(t)
		if e, err := emulator.New(test.opts); err == nil {
			e.Close()
			t.Errorf("%s: no error", test.name)
		}
	}
}
