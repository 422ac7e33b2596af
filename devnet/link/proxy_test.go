package link_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/linktest"
)

const protocol = "test"

func open(t *testing.T, nodes []string, target func(string) string) *link.Proxy {
	t.Helper()
	p, err := link.NewProxy(link.Options{
		Nodes:     nodes,
		Protocols: []string{protocol},
		Target:    func(node, _ string) string { return target(node) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t *testing.T) linktest.Bed {
		noGoroutineLeft(t)
		bed := linktest.Bed{Nodes: []string{"n1", "n2", "n3"}, Listeners: make(map[string]net.Listener)}
		for _, n := range bed.Nodes {
			bed.Listeners[n] = listen(t)
		}
		p := open(t, bed.Nodes, func(n string) string { return bed.Listeners[n].Addr().String() })
		bed.Link = p
		bed.Dial = func(ctx context.Context, from, to string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", p.Addr(link.Edge{From: from, To: to}, protocol))
		}
		return bed
	})
}

// noGoroutineLeft checks, after every other clean-up of the test, that what it
// started has ended.
func noGoroutineLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("goroutines left: %d, had %d\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

// A target that does not listen looks like it does without a proxy: the dialer is
// rid of it at once, and can dial again when it listens.
func TestTargetDown(t *testing.T) {
	ln := listen(t)
	addr := ln.Addr().String()
	ln.Close()
	p := open(t, []string{"a", "b"}, func(string) string { return addr })
	e := link.Edge{From: "a", To: "b"}
	back := link.Edge{From: "b", To: "a"}

	c, err := net.Dial("tcp", p.Addr(e, protocol))
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("read from a target that is down: %v, want a closed connection", err)
		}
	}
	if got := p.Counters(e); got != (link.Counters{}) {
		t.Errorf("counters %+v, want none", got)
	}

	// The refusal travels on the way back, and is lost when that is cut.
	if err := p.Cut(back); err != nil {
		t.Fatal(err)
	}
	c, err = net.Dial("tcp", p.Addr(e, protocol))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("anybody there?")); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("read while the refusal is lost: %v, want a timeout", err)
	}
	if err := p.Heal(back); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("read after the heal: %v, want a closed connection", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	noGoroutineLeft(t)
	ln := listen(t)
	p := open(t, []string{"a", "b", "c"}, func(string) string { return ln.Addr().String() })
	var conns []net.Conn
	for _, e := range p.Edges() {
		if e.From == "a" {
			if err := p.Cut(e); err != nil {
				t.Fatal(err)
			}
		}
		c, err := net.Dial("tcp", p.Addr(e, protocol))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("read after Close: %v, want a closed connection", err)
		}
	}
	for _, e := range p.Edges() {
		if err := p.Heal(e); err != nil {
			t.Errorf("heal after Close: %v", err)
		}
	}
}

func TestNewProxyRefuses(t *testing.T) {
	target := func(string, string) string { return "127.0.0.1:1" }
	for _, test := range []struct {
		name string
		opts link.Options
	}{
		{"no nodes", link.Options{Target: target}},
		{"a node twice", link.Options{Nodes: []string{"a", "b", "a"}, Target: target}},
		{"an address of somebody else", link.Options{Nodes: []string{"a", "b"}, Protocols: []string{"x"}, Target: target, Host: "192.0.2.1"}},
	} {
		noGoroutineLeft(t)
		if p, err := link.NewProxy(test.opts); err == nil {
			p.Close()
			t.Errorf("%s: no error", test.name)
		}
	}
}

func BenchmarkProxy(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	p, err := link.NewProxy(link.Options{
		Nodes: []string{"a", "b"}, Protocols: []string{protocol},
		Target: func(string, string) string { return ln.Addr().String() },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	near, err := net.Dial("tcp", p.Addr(link.Edge{From: "a", To: "b"}, protocol))
	if err != nil {
		b.Fatal(err)
	}
	defer near.Close()
	far, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer far.Close()
	linktest.BenchmarkStream(b, near, far)
}
