package kernel_test

import (
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

// bound is long beyond doubt: no test passes or fails on how fast things are.
const bound = time.Minute

func open(t testing.TB, nodes ...string) *kernel.Links {
	t.Helper()
	probe(t)
	l, err := kernel.New(kernel.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func probe(t testing.TB) {
	t.Helper()
	if err := kernel.Probe(); err != nil {
		t.Skipf("THE KERNEL OF THIS MACHINE CANNOT MAKE LINKS, so nothing was tested: %v", err)
	}
}

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t *testing.T) linktest.Bed { return linktest.SpacesBed(t, open) })
}

// TestCounters holds the counters to what went over an edge, byte by byte, with the
// headers of all lengths that TCP makes.
func TestCounters(t *testing.T) {
	linktest.NothingLeft(t)
	l := open(t, "a", "b")
	there := link.Edge{From: "a", To: "b"}
	out, in, err := linktest.Packets(l, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	for range 10 {
		if _, err := out.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	linktest.Await(t, "ten datagrams", func() bool { return l.Counters(there).Units == 10 })
	if c, want := l.Counters(there), (link.Counters{Units: 10, Bytes: 1000}); c != want {
		t.Errorf("counted %+v, want %+v", c, want)
	}
	ln := linktest.Listen(t, l, "b")
	near, err := l.Dial(t.Context(), "a", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	const size = 1 << 20
	go near.Write(make([]byte, size))
	far.SetDeadline(time.Now().Add(bound))
	for got := 0; got < size; {
		n, err := far.Read(make([]byte, 64<<10))
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	c := l.Counters(there)
	if c.Bytes < 1000+size || c.Bytes > 1000+size+size/10 || c.Connections != 1 { // what is sent twice counts twice
		t.Errorf("counted %+v, want %d bytes", c, 1000+size)
	}
	if least := int64(10 + size/1500); c.Units < least {
		t.Errorf("%d bytes went in %d units, want at least %d: a packet each", size, c.Units, least)
	}
	t.Logf("%+v", c)
	l.Close()
	if after := l.Counters(there); after.Bytes < c.Bytes {
		t.Errorf("after Close the counters are %+v", after)
	}
}
