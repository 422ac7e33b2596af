package linktest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/bits"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// slack is how much longer than asked the median of some times may be.
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
		send(t, from, to, message)
		ds[i] = time.Since(start)
	}
	return ds
}

func median(ds []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(ds))[len(ds)/2]
}

// within checks that none is under least and the median not over most.
func within(t *testing.T, what string, ds []time.Duration, least, most time.Duration) {
	t.Helper()
	if shortest := slices.Min(ds); shortest < least {
		t.Errorf("%s: %v, want at least %v", what, shortest, least)
	}
	if m := median(ds); m > most {
		t.Errorf("%s: median %v of %v, want at most %v", what, m, ds, most)
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
	send(t, near, far, "nothing is broken")
}

// resetNow breaks connections of either direction at once, and only those.
func resetNow(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	var broken []net.Conn
	for _, dialer := range []int{0, 1, 0} {
		near, far := b.pair(t, b.Nodes[dialer], b.Nodes[1-dialer])
		send(t, near, far, message)
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
	send(t, apart, apartFar, "other edges go on")
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	send(t, near, far, "dialed anew")
	near.Close()
	closed(t, far)
	await(t, "no connection to be left", func() bool {
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
	await(t, "all held units to be counted", func() bool { return b.Link.Counters(e).Held >= before.Held+n })
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
	await(t, "a unit to be held", func() bool { return b.Link.Counters(e).Units > before.Units })
	silent(t, far)
	b.shape(t, e, link.Shape{})
	got := make([]byte, 3*len(message))
	if _, err := io.ReadFull(far, got); err != nil { // within the bound, which is far less than the delay
		t.Fatalf("what was held did not arrive: %v", err)
	}
	send(t, near, far, "and the stream goes on")
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
	await(t, "a unit to be held", func() bool { return b.Link.Counters(e).Units > before.Units })
	b.cut(t, e)
	cut := b.Link.Counters(e)
	far.SetReadDeadline(time.Now().Add(asked + 100*time.Millisecond))
	if n, err := far.Read(make([]byte, 1)); n != 0 && cut.Bytes == before.Bytes || err == nil && n == 0 || err != nil && !isTimeout(err) {
		t.Errorf("read %d bytes, %v across a cut edge", n, err)
	}
	if after := b.Link.Counters(e); after.Bytes != cut.Bytes {
		t.Errorf("%d bytes were delivered after Cut had returned", after.Bytes-cut.Bytes)
	}
	b.shape(t, e, link.Shape{})
	b.heal(t, e)
	near, far = b.pair(t, b.Nodes[0], b.Nodes[1])
	send(t, near, far, "whole again")
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
	await(t, "traffic on every edge", func() bool {
		return !slices.ContainsFunc(edges, func(e link.Edge) bool { return b.Link.Counters(e).Bytes == 0 })
	})
	close(stop)
	wg.Wait()
	for _, e := range edges {
		near, far := b.pair(t, e.From, e.To)
		send(t, near, far, "hello over "+e.String())
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

// throughput is the bytes a second that a full stream brings over the edge, as
// the receiver sees it once it flows.
func throughput(t *testing.T, near, far net.Conn, skip, count int) float64 {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { near.Write(make([]byte, skip+count)) })
	defer wg.Wait()
	if _, err := io.CopyN(io.Discard, far, int64(skip)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := io.CopyN(io.Discard, far, int64(count)); err != nil {
		t.Fatal(err)
	}
	return float64(count) / time.Since(start).Seconds()
}

// holdsRate measures the rate up to three times, because a busy machine may slow
// a stream down; none may be faster than asked.
func holdsRate(t *testing.T, near, far net.Conn, asked float64) {
	t.Helper()
	const skip, count = 100_000, 500_000
	var got float64
	for range 3 {
		got = throughput(t, near, far, skip, count)
		if got > 1.1*asked {
			t.Fatalf("measured %.0f bytes a second, asked for %.0f", got, asked)
		}
		if got >= 0.85*asked {
			t.Logf("measured %.0f bytes a second, asked for %.0f", got, asked)
			return
		}
	}
	t.Errorf("measured %.0f bytes a second, asked for %.0f", got, asked)
}

func rate(t *testing.T, b *bench) {
	const asked = 500_000
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Rate: asked})
	holdsRate(t, near, far, asked)
	if c := b.Link.Counters(e); c.Held == before.Held {
		t.Error("no unit was held")
	}
	// A message goes at once on a line that is free.
	within(t, "on an idle line", travel(t, near, far, 10), 0, slack)
	b.shape(t, e, link.Shape{})
	const much = 4 * asked
	start := time.Now()
	throughput(t, near, far, 1, much)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("without a rate %d bytes took %v", much, took)
	}
}

// rateAndDelay together: the delay costs the line nothing.
func rateAndDelay(t *testing.T, b *bench) {
	const asked, late = 500_000, 100 * time.Millisecond
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	b.shape(t, b.edge(0, 1), link.Shape{Rate: asked, Delay: late})
	within(t, "on an idle line", travel(t, near, far, 5), late, late+slack)
	holdsRate(t, near, far, asked)
}

func stall(t *testing.T, b *bench) {
	const share, still, n = 0.5, 60 * time.Millisecond, 30
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Stall: share, StallTime: still})
	ds := travel(t, near, far, n)
	stalls := b.Link.Counters(e).Stalls - before.Stalls
	binomial(t, "stalls", stalls, n, share)
	long := slices.DeleteFunc(ds, func(d time.Duration) bool { return d < still })
	if int64(len(long)) < stalls {
		t.Errorf("%d messages took %v or more, but %d stalls are counted", len(long), still, stalls)
	}
	within(t, "stalled", long, still, still+slack)
}

func slice(t *testing.T, b *bench) {
	const most, size = 100, 20_000
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Slice: most})
	send(t, near, far, string(pattern(size)))
	if got := b.Link.Counters(e).Units - before.Units; got < size/most {
		t.Errorf("%d bytes went in %d pieces, want at least %d", size, got, size/most)
	}
}

func slowClose(t *testing.T, b *bench) {
	const asked = 200 * time.Millisecond
	e := b.edge(0, 1)
	b.shape(t, e, link.Shape{SlowClose: asked})
	var ds []time.Duration
	for range 3 {
		before := b.Link.Counters(e)
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		within(t, "messages of an open connection", travel(t, near, far, 5), 0, asked/2)
		start := time.Now()
		near.Close()
		closed(t, far)
		ds = append(ds, time.Since(start))
		if b.Link.Counters(e).HeldEnds == before.HeldEnds {
			t.Error("no held end is counted")
		}
	}
	within(t, "the end", ds, asked, asked+slack)
}

func halfOpen(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	reset, resetFar := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{HalfOpen: true})
	send(t, near, far, "it carries")
	send(t, far, near, "both ways")
	near.Close()
	if c, ok := reset.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	reset.Close()
	await(t, "two held ends", func() bool { return b.Link.Counters(e).HeldEnds >= before.HeldEnds+2 })
	for _, c := range []net.Conn{far, resetFar} {
		silent(t, c)
		io.WriteString(c, "to one who has left")
		silent(t, c)
	}
	b.shape(t, e, link.Shape{})
	closed(t, far)
	closed(t, resetFar)
}

// resetHeld: a reset where the shape holds ends is news for one end only.
func resetHeld(t *testing.T, b *bench) {
	for _, shaped := range [][]link.Edge{{b.edge(0, 1)}, {b.edge(0, 1), b.edge(1, 0)}} {
		resetHeldOn(t, b, shaped)
	}
}

// resetHeldOn resets the first of the edges that are half-open.
func resetHeldOn(t *testing.T, b *bench, shaped []link.Edge) {
	e := shaped[0]
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	far2, near2 := b.pair(t, b.Nodes[1], b.Nodes[0]) // dialed from the other side
	before := b.Link.Counters(e)
	for _, e := range shaped {
		b.shape(t, e, link.Shape{HalfOpen: true})
	}
	if n, err := b.Link.Reset(e); n != 2 || err != nil {
		t.Errorf("reset: %d, %v, want 2", n, err)
	}
	wasReset(t, near)
	wasReset(t, near2)
	await(t, "two held ends", func() bool { return b.Link.Counters(e).HeldEnds >= before.HeldEnds+2 })
	for _, c := range []net.Conn{far, far2} {
		silent(t, c)
		io.WriteString(c, "to one who has left")
		silent(t, c)
	}
	for _, e := range shaped {
		b.shape(t, e, link.Shape{})
	}
	io.WriteString(far, "to one who has left")
	io.WriteString(far2, "to one who has left")
	closed(t, far)
	closed(t, far2)
}

func resetShare(t *testing.T, b *bench) {
	const share, n = 0.3, 60
	e := b.edge(0, 1)
	var nears, fars []net.Conn
	for range n {
		near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
		nears, fars = append(nears, near), append(fars, far)
	}
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Reset: share})
	var broken int64
	for i := range nears {
		if _, err := io.WriteString(nears[i], message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(fars[i], make([]byte, len(message))); err != nil {
			broken++
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) {
				t.Errorf("read %v, want a reset connection", err)
			}
			wasReset(t, nears[i])
		}
	}
	binomial(t, "resets", broken, n, share)
	if got := b.Link.Counters(e).Resets - before.Resets; got != broken {
		t.Errorf("%d connections are broken, but %d resets counted", broken, got)
	}
}

// corruptVisible counts the bits that arrive wrong in a stream: one a unit.
func corruptVisible(t *testing.T, b *bench) {
	const share, n = 0.3, 300
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{CorruptVisible: share})
	var wrong int64
	got := make([]byte, len(message))
	for range n {
		if _, err := io.WriteString(near, message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(far, got); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			wrong += int64(bits.OnesCount8(got[i] ^ message[i]))
		}
	}
	c := b.Link.Counters(e)
	if counted := c.Corrupted - before.Corrupted; counted != wrong {
		t.Errorf("%d bits are wrong, but %d units counted as corrupted", wrong, counted)
	}
	binomial(t, "corrupted units", wrong, n, share)
	b.shape(t, e, link.Shape{})
	send(t, near, far, "as it was sent")
}
