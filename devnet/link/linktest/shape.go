package linktest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// slack is how much longer than asked the shortest of some times may be.
const slack = 20 * time.Millisecond

func (b *bench) shape(t *testing.T, e link.Edge, s link.Shape) {
	t.Helper()
	if err := b.Link.Shape(e, s); err != nil {
		t.Fatalf("shape %s: %v", e, err)
	}
	if got := b.Link.Shaped(e); got != s {
		t.Fatalf("%s has the shape %+v, want %+v", e, got, s)
	}
}

// message is what travel sends: short, so that it is one unit.
const message = "12345678"

// travel measures how long messages take, each sent when the one before it has
// arrived.
func travel(t *testing.T, from, to net.Conn, n int) []time.Duration {
	t.Helper()
	ds := make([]time.Duration, n)
	for i := range ds {
		start := time.Now()
		Send(t, from, to, message)
		ds[i] = time.Since(start)
	}
	return ds
}

func median(ds []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(ds))[len(ds)/2]
}

// within checks that none is under least and not all are over most. A busy machine
// makes some, and where it is busy enough the median, come later than the link
// let them; a link that holds back too long does so to all.
func within(t *testing.T, what string, ds []time.Duration, least, most time.Duration) {
	t.Helper()
	if shortest := slices.Min(ds); shortest < least {
		t.Errorf("%s: %v, want at least %v", what, shortest, least)
	}
	if shortest := slices.Min(ds); shortest > most {
		t.Errorf("%s: %v at the least of %v, want at most %v", what, shortest, ds, most)
	}
}

// binomial checks that got of n is what a share of p gives, within 4.5 standard
// deviations.
func binomial(t *testing.T, what string, got, n int64, p float64) {
	t.Helper()
	if d, sd := math.Abs(float64(got)-float64(n)*p), math.Sqrt(float64(n)*p*(1-p)); d > 4.5*sd+0.5 {
		t.Errorf("%s: %d of %d, which is %.1f standard deviations off a share of %g", what, got, n, d/sd, p)
	}
}

func nonsense(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	offered := b.Link.Features()
	var kept link.Shape
	if link.Offers(offered, link.FeatureDelay) {
		kept.Delay = time.Millisecond
	}
	b.shape(t, e, kept)
	wrong := map[string]link.Shape{
		"a delay below 0":         {Delay: -1},
		"more jitter than delay":  {Delay: time.Millisecond, Jitter: time.Second},
		"a rate below 0":          {Rate: -1},
		"a slice below 0":         {Slice: -1},
		"a share below 0":         {Loss: -0.1},
		"a share above 1":         {Reset: 1.1},
		"no number":               {CorruptVisible: math.NaN()},
		"a burst above 1":         {Burst: link.Burst{Enter: 2, Leave: 1}},
		"reordering of nothing":   {Reorder: 0.5},
		"a stall of no time":      {Stall: 0.5},
		"a slow close below 0":    {SlowClose: -1},
		"a duplicate above 1":     {Duplicate: 2},
		"a corrupted share of -1": {Corrupt: -1},
	}
	for f, s := range map[link.Feature]link.Shape{
		link.FeatureDelay:          {Delay: time.Second},
		link.FeatureRate:           {Rate: 1 << 20},
		link.FeatureLoss:           {Loss: 0.5},
		link.FeatureBurst:          {Burst: link.Burst{Enter: 0.1, Leave: 0.5}},
		link.FeatureDuplicate:      {Duplicate: 0.5},
		link.FeatureCorrupt:        {Corrupt: 0.5},
		link.FeatureCorruptVisible: {CorruptVisible: 0.5},
		link.FeatureStall:          {Stall: 0.5, StallTime: time.Second},
		link.FeatureSlice:          {Slice: 1},
		link.FeatureSlowClose:      {SlowClose: time.Second},
		link.FeatureHalfOpen:       {HalfOpen: true},
		link.FeatureReset:          {Reset: 0.5},
	} {
		if !link.Offers(offered, f) {
			wrong["a "+string(f)+", which is not offered"] = s
		}
	}
	for what, s := range wrong {
		if err := b.Link.Shape(e, s); err == nil {
			t.Errorf("%s: no error", what)
		}
		if got := b.Link.Shaped(e); got != kept {
			t.Fatalf("after %s the shape is %+v, want %+v as before", what, got, kept)
		}
	}
	for _, o := range offered {
		if o.Semantics == "" {
			t.Errorf("%s: not a word on what it means", o.Feature)
		}
	}
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "nothing is broken")
}

// resetNow breaks connections of either direction at once, and only those.
func resetNow(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	var broken []net.Conn
	for _, dialer := range []int{0, 1, 0} {
		near, far := b.pair(t, b.Nodes[dialer], b.Nodes[1-dialer])
		Send(t, near, far, message)
		broken = append(broken, near, far)
	}
	apart, apartFar := b.pair(t, b.Nodes[0], b.Nodes[2])
	before := b.Link.Counters(e)
	n, err := b.Link.Reset(e)
	if err != nil || n != len(broken)/2 {
		t.Errorf("reset: %d, %v, want %d", n, err, len(broken)/2)
	}
	if got := b.Link.Counters(e).Resets - before.Resets; got != int64(n) {
		t.Errorf("counted %d resets, want %d", got, n)
	}
	for _, c := range broken {
		wasReset(t, c)
	}
	Send(t, apart, apartFar, "other edges go on")
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "dialed anew")
	near.Close()
	closed(t, far)
	Await(t, "no connection to be left", func() bool {
		n, err := b.Link.Reset(e)
		return n == 0 && err == nil
	})
}

// wasReset checks that c was broken, not closed in an orderly way.
func wasReset(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("read %v, want a reset connection", err)
	}
}

func delay(t *testing.T, b *bench) {
	const asked = 100 * time.Millisecond
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	apart, apartFar := b.pair(t, b.Nodes[0], b.Nodes[2])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Delay: asked})
	b.shape(t, e, link.Shape{Delay: asked}) // it is idempotent
	const n = 10
	ds := travel(t, near, far, n)
	within(t, "delayed", ds, asked, asked+slack)
	within(t, "the other direction", travel(t, far, near, n), 0, asked/2)
	within(t, "another edge", travel(t, apart, apartFar, n), 0, asked/2)

	// The receiver may be quicker than the counting.
	Await(t, "all held units to be counted", func() bool { return b.Link.Counters(e).Held >= before.Held+n })
	c := b.Link.Counters(e)
	held, spent := c.Held-before.Held, c.HeldTime-before.HeldTime
	if c.Units-before.Units < n {
		t.Errorf("counted %d units, want at least %d", c.Units-before.Units, n)
	}
	if mean := spent / time.Duration(held); mean < asked {
		t.Errorf("the units were held %v in the mean, want at least %v", mean, asked)
	} else {
		t.Logf("asked %v: median %v as the ends saw it, mean %v and latest by %v as counted", asked, median(ds), mean, c.Late)
	}
	b.shape(t, e, link.Shape{})
	within(t, "no longer delayed", travel(t, near, far, n), 0, asked/2)
}

// delayPipelines: what is under way does not wait for what went before it. Eight
// messages fit into any initial congestion window.
func delayPipelines(t *testing.T, b *bench) {
	const asked, gap, n = 200 * time.Millisecond, 10 * time.Millisecond, 8
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.shape(t, b.edge(0, 1), link.Shape{Delay: asked})
	sent := make([]time.Time, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range sent {
			sent[i] = time.Now()
			io.WriteString(near, message)
			time.Sleep(gap)
		}
	})
	arrived := make([]time.Time, n)
	for i := range arrived {
		if _, err := io.ReadFull(far, make([]byte, len(message))); err != nil {
			t.Fatal(err)
		}
		arrived[i] = time.Now()
	}
	wg.Wait()
	ds := make([]time.Duration, n)
	for i := range ds {
		ds[i] = arrived[i].Sub(sent[i])
	}
	within(t, "delayed under way together", ds, asked, asked+2*slack)
}

func unshapeReleases(t *testing.T, b *bench) {
	const long = 10 * bound
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Delay: long})
	for range 3 {
		if _, err := io.WriteString(near, message); err != nil {
			t.Fatal(err)
		}
	}
	Await(t, "a unit to be held", func() bool { return b.Link.Counters(e).Units > before.Units })
	silent(t, far)
	b.shape(t, e, link.Shape{})
	got := make([]byte, 3*len(message))
	if _, err := io.ReadFull(far, got); err != nil { // within the bound, which is far less than the delay
		t.Fatalf("what was held did not arrive: %v", err)
	}
	Send(t, near, far, "and the stream goes on")
	equal(t, got, bytes.Repeat([]byte(message), 3))
}

func shapeOutlivesCut(t *testing.T, b *bench) {
	const asked = 50 * time.Millisecond
	e := b.edge(0, 1)
	b.shape(t, e, link.Shape{Delay: asked})
	b.cut(t, e)
	b.heal(t, e)
	if got := b.Link.Shaped(e); got != (link.Shape{Delay: asked}) {
		t.Errorf("after a cut and its heal the shape is %+v", got)
	}
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	within(t, "delayed", travel(t, near, far, 10), asked, asked+slack)

	b.cut(t, e)
	b.shape(t, e, link.Shape{})
	if !b.Link.IsCut(e) {
		t.Error("a shape healed the cut")
	}
	b.heal(t, e)
}

// cutStopsWhatIsHeld: what a shape holds when the edge is cut must not arrive in
// the cut, when its time has come.
func cutStopsWhatIsHeld(t *testing.T, b *bench) {
	const asked = 200 * time.Millisecond
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Delay: asked})
	if _, err := io.WriteString(near, message); err != nil {
		t.Fatal(err)
	}
	Await(t, "a unit to be held", func() bool { return b.Link.Counters(e).Units > before.Units })
	b.cut(t, e)
	cut := b.Link.Counters(e)
	far.SetReadDeadline(time.Now().Add(asked + 100*time.Millisecond))
	if n, err := far.Read(make([]byte, 1)); n != 0 && cut.Bytes == before.Bytes || err == nil && n == 0 || err != nil && !IsTimeout(err) {
		t.Errorf("read %d bytes, %v across a cut edge", n, err)
	}
	if after := b.Link.Counters(e); after.Bytes != cut.Bytes {
		t.Errorf("%d bytes were delivered after Cut had returned", after.Bytes-cut.Bytes)
	}
	b.shape(t, e, link.Shape{})
	b.heal(t, e)
	near, far = b.pair(t, b.Nodes[0], b.Nodes[1])
	Send(t, near, far, "whole again")
}

// concurrentShapes changes shapes and cuts under traffic: what arrives is an
// unbroken prefix of what was sent, and in the end every edge is as it was.
func concurrentShapes(t *testing.T, b *bench) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	edges := b.Link.Edges()
	for _, e := range edges {
		wg.Go(func() { b.chatter(t, e, stop) })
		wg.Go(func() {
			for i := range 60 {
				err := b.Link.Shape(e, link.Shape{Delay: time.Duration(i%7) * time.Millisecond})
				if err != nil {
					t.Errorf("shape: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
			if err := b.Link.Shape(e, link.Shape{}); err != nil {
				t.Errorf("shape: %v", err)
			}
		})
		wg.Go(func() {
			for range 20 {
				b.Link.Cut(e)
				time.Sleep(time.Millisecond)
				b.Link.Heal(e)
				time.Sleep(4 * time.Millisecond)
			}
		})
	}
	Await(t, "traffic on every edge", func() bool {
		return !slices.ContainsFunc(edges, func(e link.Edge) bool { return b.Link.Counters(e).Bytes == 0 })
	})
	close(stop)
	wg.Wait()
	for _, e := range edges {
		near, far := b.pair(t, e.From, e.To)
		Send(t, near, far, "hello over "+e.String())
	}
}

func jitter(t *testing.T, b *bench) {
	const mean, vary = 40 * time.Millisecond, 30 * time.Millisecond
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.shape(t, b.edge(0, 1), link.Shape{Delay: mean, Jitter: vary})
	ds := travel(t, near, far, 25)
	within(t, "jittered", ds, mean-vary, mean+vary+slack)
	// 25 uniform draws leave out two thirds of their range with a chance of 1e-10.
	if spread := slices.Max(ds) - slices.Min(ds); spread < 2*vary/3 {
		t.Errorf("%v lie within %v, want more variation", ds, spread)
	}
}
