package linktest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

// datagrams is what became of numbered datagrams.
type datagrams struct {
	sent     int64
	received int64 // all that came, also for the second time
	missing  int64
	doubled  int64
	overtook int64 // came before one that was sent earlier
	wrong    int64 // came with other bytes than were sent
	c        link.Counters
}

const datagramSize = 64

// last is the number of the datagram that says that no more will come.
const last = ^uint64(0)

// fire sends n datagrams over an edge with that shape, one by one, takes the
// shape away and returns what arrived. It skips the test where the links carry
// only streams.
func (b *bench) fire(t *testing.T, s link.Shape, n int) datagrams {
	t.Helper()
	if b.Packets == nil {
		t.Skip("the bed has no datagrams")
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	out, in, err := b.Packets(ctx, b.Nodes[0], b.Nodes[1])
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	e := b.edge(0, 1)
	before := b.Link.Counters(e)
	b.shape(t, e, s)
	got := &datagrams{sent: int64(n)}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { got.receive(t, in, n, ended) })
	for i := range n {
		if _, err := out.Write(datagram(uint64(i))); err != nil {
			t.Errorf("datagram %d: %v", i, err)
		}
		if i%8 == 7 {
			time.Sleep(time.Millisecond) // so that no buffer overflows
		}
	}
	b.shape(t, e, link.Shape{})
	got.c = less(b.Link.Counters(e), before)
	for over := false; !over; {
		out.Write(datagram(last))
		select {
		case <-ended:
			over = true
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Error("the last datagram, sent over and over, never arrived")
			in.Close()
			over = true
		}
	}
	wg.Wait()
	return *got
}

// receive reads until the last datagram has come and nothing but it follows.
func (d *datagrams) receive(t *testing.T, in net.PacketConn, n int, ended chan<- struct{}) {
	seen := make([]int, n)
	next := 0
	buf := make([]byte, 2*datagramSize)
	over := false
	for {
		size, _, err := in.ReadFrom(buf)
		if over && errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Errorf("receive: %v", err)
			break
		}
		i := binary.BigEndian.Uint64(buf)
		switch {
		case size == datagramSize && string(buf[:size]) == string(datagram(last)):
			if !over {
				over = true
				close(ended)
				in.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			}
			continue
		case size != datagramSize || i >= uint64(n) || string(buf[:size]) != string(datagram(i)):
			d.wrong++
			continue
		}
		d.received++
		seen[i]++
		if int(i) < next && seen[i] == 1 {
			d.overtook++
		}
		next = max(next, int(i)+1)
	}
	for _, times := range seen {
		switch times {
		case 0:
			d.missing++
		case 1:
		default:
			d.doubled++
		}
	}
}

func datagram(i uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, i)
	return append(b, pattern(datagramSize-len(b))...)
}

func less(a, b link.Counters) link.Counters {
	a.Units -= b.Units
	a.Lost -= b.Lost
	a.Duplicated -= b.Duplicated
	a.Reordered -= b.Reordered
	a.Corrupted -= b.Corrupted
	a.Overflow -= b.Overflow
	return a
}

// agree checks a counter against what the receiver saw. Frames that are not the
// test's, such as neighbour discovery, may add a few.
func agree(t *testing.T, what string, counted, seen int64) {
	t.Helper()
	if counted < seen || counted > seen+8 {
		t.Errorf("%s: the receiver saw %d, the counter says %d", what, seen, counted)
	}
}

func loss(t *testing.T, b *bench) {
	const share = 0.1
	d := b.fire(t, link.Shape{Loss: share}, 3000)
	binomial(t, "datagrams missing", d.missing, d.sent, share)
	agree(t, "lost", d.c.Lost, d.missing)
	binomial(t, "units lost", d.c.Lost, d.c.Units, share)
	if d.doubled+d.overtook+d.wrong > 0 {
		t.Errorf("loss alone gave %+v", d)
	}
	t.Logf("asked %g, lost %d of %d", share, d.missing, d.sent)
}

// streamSurvivesLoss: TCP makes up for it.
func streamSurvivesLoss(t *testing.T, b *bench) {
	e := b.edge(0, 1)
	near, far := b.pair(t, b.Nodes[0], b.Nodes[1])
	before := b.Link.Counters(e)
	b.shape(t, e, link.Shape{Loss: 0.02})
	const size = 1 << 19
	go near.Write(pattern(size))
	got := make([]byte, size)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	equal(t, got, pattern(size))
	if c := b.Link.Counters(e); c.Lost == before.Lost {
		t.Errorf("nothing was lost of %d units", c.Units-before.Units)
	}
}

func burst(t *testing.T, b *bench) {
	const enter, leave, n = 0.02, 0.18, 6000
	d := b.fire(t, link.Shape{Burst: link.Burst{Enter: enter, Leave: leave}}, n)
	agree(t, "lost", d.c.Lost, d.missing)
	// The mean share is enter/(enter+leave). Neighbouring units are correlated by
	// r = 1-enter-leave, which makes the variance of the mean (1+r)/(1-r) larger.
	const share, r = enter / (enter + leave), 1 - enter - leave
	fewer := (1 - r) / (1 + r)
	binomial(t, "datagrams missing, as independent ones", int64(float64(d.missing)*fewer), int64(float64(n)*fewer), share)
	t.Logf("asked for a mean of %g, lost %d of %d", share, d.missing, d.sent)
}

func duplicate(t *testing.T, b *bench) {
	const share = 0.2
	d := b.fire(t, link.Shape{Duplicate: share}, 1000)
	binomial(t, "datagrams doubled", d.doubled, d.sent, share)
	agree(t, "duplicated", d.c.Duplicated, d.doubled)
	if d.missing+d.wrong > 0 || d.received != d.sent+d.doubled {
		t.Errorf("duplication alone gave %+v", d)
	}
}

// reorder: the overtaken ones are seen late, the overtaking ones are counted.
func reorder(t *testing.T, b *bench) {
	const share = 0.2
	d := b.fire(t, link.Shape{Delay: 50 * time.Millisecond, Reorder: share}, 1000)
	if d.overtook == 0 || d.missing+d.doubled+d.wrong > 0 {
		t.Errorf("reordering alone gave %+v", d)
	}
	binomial(t, "units that overtook", d.c.Reordered, d.c.Units, share)
}

func corrupt(t *testing.T, b *bench) {
	const share = 0.2
	d := b.fire(t, link.Shape{Corrupt: share}, 1000)
	binomial(t, "datagrams missing", d.missing, d.sent, share)
	agree(t, "corrupted", d.c.Corrupted, d.missing)
	if d.wrong > 0 {
		t.Errorf("%d datagrams with wrong bytes reached the application", d.wrong)
	}
}
