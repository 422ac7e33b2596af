package nemesis

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/kernel"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// plannedLink is one application of a fault, not yet applied.
func plannedLink(t *testing.T, net Net, spec string) Application {
	t.Helper()
	_, f, err := Lookup(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Possible(net.reach()); err != nil {
		t.Fatal(err)
	}
	app, err := f.Plan(t.Context(), net, seeded(7))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func appliedLink(t *testing.T, app Application) {
	t.Helper()
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	evidence, err := app.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s bites: %s", app.Value(), evidence)
}

func undoneLink(t *testing.T, app Application) {
	t.Helper()
	for range 2 { // it is idempotent
		if err := app.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		evidence, err := app.VerifyUndone(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s undone: %s", app.Value(), evidence)
	}
}

func unshaped(t *testing.T, links link.Link) {
	t.Helper()
	for _, e := range links.Edges() {
		if s := links.Shaped(e); s != (link.Shape{}) {
			t.Errorf("%s has still the shape %+v", e, s)
		}
	}
}

// TestLinkFaults takes each fault that proxies can do through its life, between
// nodes that are real processes.
func TestLinkFaults(t *testing.T) {
	t.Parallel()
	network, _, proxy := testNet(t, 3)
	for spec, want := range map[string]link.Shape{
		"delay:60ms:n2":          {Delay: 60 * time.Millisecond},
		"jitter:20ms:all":        {Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond},
		"bandwidth:100kbit:n1":   {Rate: 12_500},
		"stall:30%:50ms:n1":      {Stall: 0.3, StallTime: 50 * time.Millisecond},
		"slice:2B:n3:out":        {Slice: 2},
		"slow-close:200ms:n1":    {SlowClose: 200 * time.Millisecond},
		"half-open:n2":           {HalfOpen: true},
		"half-open:n2:in":        {HalfOpen: true},
		"reset:10%:n3":           {Reset: 0.1},
		"corrupt:visible:20%:n1": {CorruptVisible: 0.2},
		"disconnect:all":         {},
	} {
		t.Run(spec, func(t *testing.T) {
			app := plannedLink(t, network, spec)
			appliedLink(t, app)
			nodes, _ := app.Value().Field("nodes")
			for _, e := range proxy.Edges() {
				touched := false
				for _, n := range nodes.Elems() {
					out, in := e.From == n.Text(), e.To == n.Text()
					switch {
					case strings.HasSuffix(spec, ":in"):
						touched = touched || in
					case strings.HasSuffix(spec, ":out"), strings.HasPrefix(spec, "slow-close"), strings.HasPrefix(spec, "half-open"):
						touched = touched || out
					default:
						touched = touched || in || out
					}
				}
				if got := proxy.Shaped(e); touched && got != want || !touched && got != (link.Shape{}) {
					t.Errorf("%s has the shape %+v", e, got)
				}
			}
			undoneLink(t, app)
			unshaped(t, proxy)
		})
	}
}

// TestDelayAsSeenByNodes measures round trips of a connection of its own through
// the links.
func TestDelayAsSeenByNodes(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	proxy, err := link.NewProxy(link.Options{
		Nodes: []string{"n1", "n2"}, Protocols: []string{"p2p"},
		Target: func(string, string) string { return ln.Addr().String() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c)
		}
	}()
	conn, err := net.Dial("tcp", proxy.Addr(link.Edge{From: "n1", To: "n2"}, "p2p"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	trip := func() time.Duration {
		start := time.Now()
		if _, err := conn.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	trips := func(least, most time.Duration) {
		t.Helper()
		var ds []time.Duration
		for range 7 {
			ds = append(ds, trip())
		}
		slices.Sort(ds)
		if ds[0] < least || ds[0] > most { // a busy machine only adds to the others
			t.Errorf("round trips took %v, want %v to %v", ds, least, most)
		}
	}
	background := make(chan struct{})
	other, err := net.Dial("tcp", proxy.Addr(link.Edge{From: "n2", To: "n1"}, "p2p"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(background)
		talk(other)
	}()
	defer func() {
		other.Close()
		<-background
	}()

	const d = 40 * time.Millisecond
	network := Net{Nodes: []string{"n1", "n2"}, Links: proxy}
	trips(0, d)
	both := plannedLink(t, network, "delay:40ms:n1")
	appliedLink(t, both)
	trips(2*d, 2*d+40*time.Millisecond)
	// Another fault on an edge of the first: each takes back only its own.
	one := plannedLink(t, network, "delay:40ms:n1:out")
	appliedLink(t, one)
	trips(3*d, 3*d+40*time.Millisecond)
	undoneLink(t, both)
	trips(d, d+20*time.Millisecond)
	undoneLink(t, one)
	unshaped(t, proxy)
	trips(0, d)
}

// TestTargetDiesShaped: silence of a node that is gone is no remnant.
func TestTargetDiesShaped(t *testing.T) {
	t.Parallel()
	network, nodes, proxy := testNet(t, 3)
	app := plannedLink(t, network, "delay:50ms:all")
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, _ := nodes.Identity("n2")
	if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "n2 to end", func() bool { _, up := nodes.Identity("n2"); return !up })
	if _, err := app.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	undoneLink(t, app)
	unshaped(t, proxy)
}

// TestLinkFaultsNeedTraffic: what cannot be seen is not claimed.
func TestLinkFaultsNeedTraffic(t *testing.T) {
	proxy, err := link.NewProxy(link.Options{
		Nodes: []string{"n1", "n2"}, Protocols: []string{"p2p"},
		Target: func(string, string) string { return "127.0.0.1:1" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	network := Net{Nodes: []string{"n1", "n2"}, Links: proxy}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	for spec, want := range map[string]string{
		"delay":           "not enough traffic",
		"jitter":          "0 units were held",
		"bandwidth":       "too short a time",
		"stall":           "less than one stall",
		"slice":           "not enough traffic",
		"slow-close":      "held back",
		"half-open":       "held back",
		"reset":           "of 0 units",
		"corrupt:visible": "of 0 units",
		"disconnect":      "no connection was open",
	} {
		app := plannedLink(t, network, spec)
		if err := app.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Probe(expired); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s without traffic: %v", spec, err)
		}
		undoneLink(t, app)
		unshaped(t, proxy)
	}
}

// TestHalfApplied: a second slice on an edge is refused, and undoing the half
// that was applied leaves the first.
func TestHalfApplied(t *testing.T) {
	proxy, err := link.NewProxy(link.Options{
		Nodes: []string{"n1", "n2", "n3"}, Protocols: []string{"p2p"},
		Target: func(string, string) string { return "127.0.0.1:1" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	network := Net{Nodes: []string{"n1", "n2", "n3"}, Links: proxy}
	taken := link.Edge{From: "n3", To: "n1"}
	if err := proxy.Shape(taken, link.Shape{Slice: 3}); err != nil {
		t.Fatal(err)
	}
	app := plannedLink(t, network, "slice:7B:all")
	if err := app.Apply(t.Context()); err == nil {
		t.Error("two slices on one edge: no error")
	}
	undoneLink(t, app)
	for _, e := range proxy.Edges() {
		want := link.Shape{}
		if e == taken {
			want.Slice = 3
		}
		if got := proxy.Shaped(e); got != want {
			t.Errorf("%s has the shape %+v, want %+v", e, got, want)
		}
	}
}

func TestLinkFaultsOutOfReach(t *testing.T) {
	r := reach(4)
	for spec, want := range map[string]string{
		"loss":            `nemesis "loss": needs --link emulator or --link kernel: links of the kind asked for have no such thing (loss)`,
		"loss:bursty":     `nemesis "loss:bursty": needs --link emulator: links of the kind asked for have no such thing (burst)`,
		"corrupt":         `nemesis "corrupt": needs --link emulator: links of the kind asked for have no such thing (corrupt)`,
		"duplicate:n1":    `nemesis "duplicate:n1": needs --link emulator: links of the kind asked for have no such thing (duplicate)`,
		"reorder:10%":     `nemesis "reorder:10%": needs --link emulator: links of the kind asked for have no such thing (reorder)`,
		"delay:n5":        `nemesis "delay:n5": node "n5": there are 4 nodes`,
		"delay:0s":        `"0s": expected a delay such as 200ms, from 1ms to 10m0s`,
		"reset:0%":        `"0%": expected a share of packets or reads such as 2%, above 0% and up to 100%`,
		"bandwidth:0kbit": `"0kbit": expected a rate such as 1Mbit, per second, from 1kbit to 100Gbit`,
		"half-open:3s":    `"3s": unknown; expected one of in, out, both`,
	} {
		if _, err := Parse(spec, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

// TestLinksThatAreNoneRefuseFaults: between nodes that dial each other directly
// every fault in links is refused before a run starts, and says what it needs.
func TestLinksThatAreNoneRefuseFaults(t *testing.T) {
	features, err := mechanism.Features(mechanism.Direct)
	if err != nil {
		t.Fatal(err)
	}
	r := reach(4)
	r.Links = features
	const why = "nodes that dial each other directly leave nothing between them that could do it"
	for spec, want := range map[string]string{
		"partition":    `nemesis "partition": needs --link proxy or --link emulator or --link kernel: ` + why + ` (cut)`,
		"isolate-kill": `nemesis "isolate-kill": needs --link proxy or --link emulator or --link kernel: ` + why + ` (cut)`,
		"delay:one":    `nemesis "delay:one": needs --link proxy or --link emulator: ` + why + ` (delay)`,
		"loss":         `nemesis "loss": needs --link emulator or --link kernel: ` + why + ` (loss)`,
		"disconnect":   `nemesis "disconnect": needs --link proxy or --link emulator or --link kernel: ` + why + ` (reset)`,
		"brownout":     `nemesis "brownout": its part delay: needs --link proxy or --link emulator: ` + why + ` (delay)`,
	} {
		if _, err := Parse(spec, r); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", spec, err, want)
		}
	}
	all, err := Parse("all", r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if _, links := f.(*linkFault); links || f.Name() == "partition" {
			t.Errorf("all has %s in it", f.Name())
		}
	}
}

// spaces are links between network namespaces.
type spaces interface {
	link.Link
	Addr(node string) netip.Addr
	Listen(node, addr string) (net.Listener, error)
	Dial(ctx context.Context, node, addr string) (net.Conn, error)
	Close() error
}

// TestPacketFaults takes each link fault through its life on real frames.
func TestPacketFaults(t *testing.T) {
	if err := emulator.Probe(); err != nil {
		t.Skipf("no frames to be had here: %v", err)
	}
	t.Parallel()
	nodes := []string{"n1", "n2", "n3"}
	links, err := emulator.New(emulator.Options{Nodes: nodes, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	packetFaults(t, nodes, links,
		"delay:30ms:all", "jitter:10ms:n1", "loss:10%:n2", "loss:bursty:10%:n1", "duplicate:20%:n1", "reorder:20%:20ms:n2",
		"corrupt:10%:n3", "corrupt:visible:10%:n3", "bandwidth:200kbit:n1", "slow-close:500ms:n2", "half-open:n3", "reset:5%:n2", "disconnect:n1")
}

// TestKernelFaults does the same where the kernel carries the packets.
func TestKernelFaults(t *testing.T) {
	if err := kernel.Probe(); err != nil {
		t.Skipf("THE KERNEL OF THIS MACHINE CANNOT MAKE LINKS, so nothing was tested: %v", err)
	}
	t.Parallel()
	nodes := []string{"n1", "n2", "n3"}
	links, err := kernel.New(kernel.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	packetFaults(t, nodes, links, "loss:10%:n2", "bandwidth:20kbit:n1", "reset:5%:n2", "disconnect:n1")
}

// packetFaults closes the links.
func packetFaults(t *testing.T, nodes []string, links spaces, specs ...string) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() {
		cancel()
		if err := links.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}()
	for i, n := range nodes {
		ln, err := links.Listen(n, links.Addr(n).String()+":4000")
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { listenAndTalk(ln) })
		defer ln.Close()
		for _, peer := range nodes[:i] {
			wg.Go(func() {
				for ctx.Err() == nil {
					if conn, err := links.Dial(ctx, n, links.Addr(peer).String()+":4000"); err == nil {
						stop := context.AfterFunc(ctx, func() { conn.Close() })
						talk(conn)
						stop()
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	}
	for _, e := range links.Edges() {
		wait(t, "bytes on "+e.String(), func() bool { return links.Counters(e).Bytes > 0 })
	}
	network := Net{Nodes: nodes, Links: links}
	for _, spec := range specs {

		t.Run(spec, func(t *testing.T) {
			app := plannedLink(t, network, spec)
			appliedLink(t, app)
			undoneLink(t, app)
			unshaped(t, links)
		})
	}
}
