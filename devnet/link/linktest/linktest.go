// Package linktest holds a link mechanism to the contract of link.Link: cuts that
// bite before they return, one direction at a time; heals after which both ends
// dial anew or go on; shapes that do what was asked, no less and not much more; counters
// that agree with what the ends saw.
//
// Every mechanism runs the same suite. What concerns a feature is skipped where
// Link.Features does not offer it; the rest relies on nothing but TCP, and a dial
// on a cut edge may hang or succeed and lead nowhere. It waits for conditions; the
// bound of a minute only turns a hang into a failure. Times may not fall below
// what was asked, but a busy machine may exceed them: only the median is held to
// an upper bound. Shares are held to 4.5 standard deviations.
package linktest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// Bed is three or more nodes joined by the links under test, none of them cut.
type Bed struct {
	Link  link.Link
	Nodes []string
	// Listeners holds, for each node, the place where it accepts connections.
	Listeners map[string]net.Listener
	// Dial connects one node to the listener of another through the links.
	Dial func(ctx context.Context, from, to string) (net.Conn, error)
	// Packets joins one node to another by datagrams through the links, out at from
	// and in at to; nil where the links carry only streams. The test closes both.
	Packets func(ctx context.Context, from, to string) (out net.Conn, in net.PacketConn, err error)
	// Resumes says that TCP itself runs over the links: it sends again what a cut
	// swallowed, so that connections outlive a short one.
	Resumes bool
}

// bound is long beyond doubt: no test passes or fails on how fast things are.
const bound = time.Minute

// Run runs the suite; start makes a fresh bed and cleans up after itself.
func Run(t *testing.T, start func(t *testing.T) Bed) {
	for _, test := range []struct {
		name  string
		run   func(*testing.T, *bench)
		needs []link.Feature
	}{
		{"CarriesBothWays", carriesBothWays, nil},
		{"FullCut", fullCut, nil},
		{"OneWayCut", oneWayCut, nil},
		{"NothingAfterCut", nothingAfterCut, nil},
		{"CutEndsBlockedWrite", cutEndsBlockedWrite, nil},
		{"HealClosesWhatLostBytes", healClosesWhatLostBytes, nil},
		{"HealResumes", healResumes, nil},
		{"HealSparesWhatLostNothing", healSparesWhatLostNothing, nil},
		{"DialDuringCut", dialDuringCut, nil},
		{"EndIsSwallowed", endIsSwallowed, nil},
		{"Idempotent", idempotent, nil},
		{"UnknownEdge", unknownEdge, nil},
		{"Concurrent", concurrent, nil},
		{"ShapesThatMakeNoSense", nonsense, nil},
		{"ResetNow", resetNow, nil},
		{"Delay", delay, []link.Feature{link.FeatureDelay}},
		{"DelayPipelines", delayPipelines, []link.Feature{link.FeatureDelay}},
		{"UnshapeReleases", unshapeReleases, []link.Feature{link.FeatureDelay}},
		{"ShapeOutlivesCut", shapeOutlivesCut, []link.Feature{link.FeatureDelay}},
		{"CutStopsWhatIsHeld", cutStopsWhatIsHeld, []link.Feature{link.FeatureDelay}},
		{"ConcurrentShapes", concurrentShapes, []link.Feature{link.FeatureDelay}},
		{"Jitter", jitter, []link.Feature{link.FeatureDelay, link.FeatureJitter}},
		{"Rate", rate, []link.Feature{link.FeatureRate}},
		{"RateAndDelay", rateAndDelay, []link.Feature{link.FeatureRate, link.FeatureDelay}},
		{"Stall", stall, []link.Feature{link.FeatureStall}},
		{"Slice", slice, []link.Feature{link.FeatureSlice}},
		{"SlowClose", slowClose, []link.Feature{link.FeatureSlowClose}},
		{"HalfOpen", halfOpen, []link.Feature{link.FeatureHalfOpen}},
		{"ResetWhereEndsAreHeld", resetHeld, []link.Feature{link.FeatureHalfOpen}},
		{"ResetShare", resetShare, []link.Feature{link.FeatureReset}},
		{"CorruptVisible", corruptVisible, []link.Feature{link.FeatureCorruptVisible}},
		{"Loss", loss, []link.Feature{link.FeatureLoss}},
		{"StreamSurvivesLoss", streamSurvivesLoss, []link.Feature{link.FeatureLoss}},
		{"Burst", burst, []link.Feature{link.FeatureBurst}},
		{"Duplicate", duplicate, []link.Feature{link.FeatureDuplicate}},
		{"Reorder", reorder, []link.Feature{link.FeatureReorder}},
		{"Corrupt", corrupt, []link.Feature{link.FeatureCorrupt}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, start(t))
			for _, f := range test.needs {
				if !link.Offers(b.Link.Features(), f) {
					t.Skipf("%s is not among the features of this mechanism", f)
				}
			}
			test.run(t, b)
		})
	}
}

// bench is a bed with an acceptor on each node, which hands over a connection by
// the token that its dialer sent first.
type bench struct {
	Bed
	mu    sync.Mutex
	next  uint64
	taken map[uint64]chan net.Conn
	conns []net.Conn // all that were accepted
	ended bool       // no more are wanted
}

func newBench(t *testing.T, bed Bed) *bench {
	if len(bed.Nodes) < 3 {
		t.Fatalf("bed has nodes %q, expected at least 3", bed.Nodes)
	}
	b := &bench{Bed: bed, taken: make(map[uint64]chan net.Conn)}
	var wg sync.WaitGroup
	for _, ln := range bed.Listeners {
		wg.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				b.mu.Lock()
				b.conns = append(b.conns, c)
				if b.ended {
					c.Close()
				}
				b.mu.Unlock()
				wg.Go(func() { b.take(c) })
			}
		})
	}
	t.Cleanup(func() {
		for _, ln := range bed.Listeners {
			ln.Close()
		}
		b.mu.Lock()
		b.ended = true
		for _, c := range b.conns {
			c.Close()
		}
		b.mu.Unlock()
		wg.Wait()
	})
	return b
}

// slot is where the connection with that token is handed over.
func (b *bench) slot(token uint64) chan net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken[token] == nil {
		b.taken[token] = make(chan net.Conn, 1)
	}
	return b.taken[token]
}

func (b *bench) take(c net.Conn) {
	var token [8]byte
	c.SetReadDeadline(time.Now().Add(2 * bound))
	if _, err := io.ReadFull(c, token[:]); err != nil {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Now().Add(bound))
	b.slot(binary.BigEndian.Uint64(token[:])) <- c
}

// knock dials and sends a token; the other end comes out of accepted when the
// token arrives.
func (b *bench) knock(t *testing.T, from, to string) (near net.Conn, accepted <-chan net.Conn, err error) {
	return b.knockFor(t, from, to, 2*time.Second)
}

// knockFor is knock for who waits no longer than that.
func (b *bench) knockFor(t *testing.T, from, to string, patience time.Duration) (near net.Conn, accepted <-chan net.Conn, err error) {
	b.mu.Lock()
	b.next++
	token := b.next
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	near, err = b.Dial(ctx, from, to)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { near.Close() })
	near.SetDeadline(time.Now().Add(bound))
	_, err = near.Write(binary.BigEndian.AppendUint64(nil, token))
	return near, b.slot(token), err
}

// pair opens a connection and returns both of its ends. Across a heal a dial may
// meet the last of the cut, so it tries again until the bound.
func (b *bench) pair(t *testing.T, from, to string) (near, far net.Conn) {
	t.Helper()
	end := time.Now().Add(bound)
	for {
		near, accepted, err := b.knock(t, from, to)
		if err == nil {
			select {
			case far = <-accepted:
				far.SetDeadline(time.Now().Add(bound))
				return near, far
			case <-time.After(2 * time.Second):
				near.Close()
				err = errors.New("the first bytes did not arrive")
			}
		}
		if time.Now().After(end) {
			t.Fatalf("dial %s→%s: %v", from, to, err)
		}
	}
}

func (b *bench) edge(i, j int) link.Edge { return link.Edge{From: b.Nodes[i], To: b.Nodes[j]} }

func (b *bench) cut(t *testing.T, edges ...link.Edge) {
	t.Helper()
	for _, e := range edges {
		if err := b.Link.Cut(e); err != nil {
			t.Fatalf("cut %s: %v", e, err)
		}
		if !b.Link.IsCut(e) {
			t.Fatalf("%s is not cut after Cut", e)
		}
	}
}

func (b *bench) heal(t *testing.T, edges ...link.Edge) {
	t.Helper()
	for _, e := range edges {
		if err := b.Link.Heal(e); err != nil {
			t.Fatalf("heal %s: %v", e, err)
		}
		if b.Link.IsCut(e) {
			t.Fatalf("%s is cut after Heal", e)
		}
	}
}

// Send writes msg and, across an edge that carries it, reads it at the other end.
func Send(t testing.TB, from, to net.Conn, msg string) {
	t.Helper()
	if _, err := io.WriteString(from, msg); err != nil {
		t.Fatalf("write: %v", err)
	}
	got := make([]byte, len(msg))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != msg {
		t.Fatalf("read %q, %v, want %q", got, err, msg)
	}
}

// swallow writes msg and waits until the edge counts it as dropped; nothing of it
// may be readable at the other end.
func (b *bench) swallow(t *testing.T, from, to net.Conn, e link.Edge, msg string) {
	t.Helper()
	before := b.Link.Counters(e)
	if _, err := io.WriteString(from, msg); err != nil {
		t.Fatalf("write: %v", err)
	}
	Await(t, "bytes counted as dropped", func() bool {
		return b.Link.Counters(e).Dropped >= before.Dropped+int64(len(msg))
	})
	if after := b.Link.Counters(e); after.Bytes != before.Bytes {
		t.Errorf("%s delivered %d bytes while cut", e, after.Bytes-before.Bytes)
	}
	silent(t, to)
}

// silent checks that nothing is there to be read.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	defer c.SetReadDeadline(time.Now().Add(bound))
	var b [1]byte
	if n, err := c.Read(b[:]); n != 0 || !IsTimeout(err) {
		t.Errorf("read %q, %v across a cut edge, want nothing", b[:n], err)
	}
}

// IsTimeout tells a deadline of a connection.
func IsTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// closed checks that c is closed from the other side; data before the end is
// not.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	var b [1]byte
	if n, err := c.Read(b[:]); n != 0 || err == nil || IsTimeout(err) {
		t.Errorf("read %q, %v, want a closed connection", b[:n], err)
	}
}

// Await waits for the condition; what says in a failure what it is.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// pattern is n bytes of which any wrong, lost or doubled run shows.
func pattern(n int) []byte {
	b := make([]byte, 0, n+8)
	for i := uint64(0); len(b) < n; i++ {
		b = binary.BigEndian.AppendUint64(b, i*0x9e3779b97f4a7c15)
	}
	return b[:n]
}

func equal(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("received %d bytes that differ from the %d expected", len(got), len(want))
	}
}

// BenchmarkStream measures how fast bytes go from one end of a connection to the
// other.
func BenchmarkStream(b *testing.B, near, far net.Conn) {
	out, in := make([]byte, 64<<10), make([]byte, 64<<10)
	b.SetBytes(int64(len(out)))
	go func() {
		for {
			if _, err := near.Write(out); err != nil {
				return
			}
		}
	}()
	for b.Loop() {
		if _, err := io.ReadFull(far, in); err != nil {
			b.Fatal(err)
		}
	}
}
