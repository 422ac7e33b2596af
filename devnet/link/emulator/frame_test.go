package emulator

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"testing"
)

// segment makes a frame of TCP with a right checksum.
func segment(flags byte, payload string) []byte {
	b := make([]byte, headerEthernet+headerIPv4+headerTCP, 128)
	b = append(b, payload...)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, typeIPv4 >> 8, 0})
	ip, t := b[headerEthernet:], b[headerEthernet+headerIPv4:]
	ip[0], ip[8], ip[9] = 0x45, 64, protocolTCP
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	copy(ip[12:], []byte{10, 77, 0, 1, 10, 77, 0, 2})
	binary.BigEndian.PutUint16(ip[10:], fold(sum16(0, ip[:headerIPv4])))
	binary.BigEndian.PutUint32(t, 4000<<16|5000)
	binary.BigEndian.PutUint32(t[4:], 1000)
	binary.BigEndian.PutUint32(t[8:], 2000)
	t[12], t[13] = headerTCP/4<<4, flags
	look(b).fixSum(b)
	return b
}

func sums(t *testing.T, frame []byte) {
	t.Helper()
	p := look(frame)
	if !p.tcp {
		t.Fatalf("no frame of TCP: %x", frame)
	}
	// A sum over data that has its right checksum in it is zero.
	if got := p.sum(frame); got != 0 {
		t.Errorf("checksum of TCP is off by %#x", got)
	}
	if got := fold(sum16(0, frame[headerEthernet:headerEthernet+headerIPv4])); got != 0 {
		t.Errorf("checksum of IP is off by %#x", got)
	}
}

func TestLook(t *testing.T) {
	f := segment(flagACK, "seven b")
	sums(t, f)
	if p := look(f); p.size() != 7 || string(f[p.payload:p.end]) != "seven b" || p.opens() || p.ends() {
		t.Errorf("parts %+v", p)
	}
	if p := look(append(f, 0, 0, 0)); p.size() != 7 {
		t.Errorf("padding counts as payload: %+v", p)
	}
	if !look(segment(flagSYN, "")).opens() || look(segment(flagSYN|flagACK, "")).opens() {
		t.Error("only a SYN without ACK opens a connection")
	}
	cut := look(f[:headerEthernet+headerIPv4+10])
	if cut.tcp || cut.transport != 0 {
		t.Errorf("a frame shorter than it says has the parts %+v", cut)
	}
}

func TestCorrupt(t *testing.T) {
	for _, payload := range []string{"", "x", "eight by"} {
		f := segment(flagACK, payload)
		kept := bytes.Clone(f)
		p := look(f)
		for random := range uint64(500) {
			spoilt := p.corrupt(f, random)
			if flipped(f, spoilt) != 1 || p.sum(spoilt) == 0 {
				t.Fatalf("%d: %d bits flipped, and the checksum is off by %d", random, flipped(f, spoilt), p.sum(spoilt))
			}
			seen, ok := p.corruptVisibly(f, random)
			if ok != (payload != "") {
				t.Fatalf("%d: visible in a payload of %q: %t", random, payload, ok)
			}
			if ok {
				sums(t, seen)
				if n := flipped(f[p.payload:], seen[p.payload:]); n != 1 {
					t.Fatalf("%d: %d bits of the payload flipped", random, n)
				}
			}
		}
		if !bytes.Equal(f, kept) {
			t.Error("the frame itself was changed, which other edges carry too")
		}
	}
}

func flipped(a, b []byte) int {
	n := 0
	for i := range a {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n
}

func TestResets(t *testing.T) {
	f := segment(flagACK|flagFIN, "four")
	rs := resets(f, look(f))
	if len(rs) != 2 || !rs[0].back || rs[1].back {
		t.Fatalf("resets %+v", rs)
	}
	for i, want := range []struct{ ports, seq, ack uint32 }{{5000<<16 | 4000, 2000, 1005}, {4000<<16 | 5000, 1000, 2000}} {
		r := rs[i].frame
		sums(t, r)
		seg := r[headerEthernet+headerIPv4:]
		ports, seq, ack := binary.BigEndian.Uint32(seg), binary.BigEndian.Uint32(seg[4:]), binary.BigEndian.Uint32(seg[8:])
		if ports != want.ports || seq != want.seq || ack != want.ack || !look(r).rst() {
			t.Errorf("reset %d: ports %x, seq %d, ack %d, want %+v", i, ports, seq, ack, want)
		}
	}
	syn := segment(flagSYN, "")
	if rs := resets(syn, look(syn)); len(rs) != 1 || !rs[0].back || binary.BigEndian.Uint32(rs[0].frame[headerEthernet+headerIPv4+8:]) != 1001 {
		t.Errorf("a SYN is answered with %+v", rs)
	}
}

func TestWithoutEnd(t *testing.T) {
	f := segment(flagACK|flagFIN, "last")
	g := look(f).withoutEnd(f)
	sums(t, g)
	if p := look(g); p.ends() || p.size() != 4 || !look(f).ends() {
		t.Errorf("parts %+v", p)
	}
}

// FuzzFrame: no frame that a node can send breaks anything.
func FuzzFrame(f *testing.F) {
	f.Add(segment(flagACK, "payload"), uint64(1))
	f.Add(segment(flagSYN, ""), uint64(2))
	f.Add([]byte{}, uint64(3))
	f.Fuzz(func(t *testing.T, frame []byte, random uint64) {
		if len(frame) < headerEthernet {
			return // route drops it
		}
		kept := bytes.Clone(frame)
		p := look(frame)
		if p.payload > p.end || p.end > len(frame) || p.transport > p.payload {
			t.Fatalf("parts %+v of %d bytes", p, len(frame))
		}
		p.corrupt(frame, random)
		p.corruptVisibly(frame, random)
		if p.tcp {
			resets(frame, p)
			p.withoutEnd(frame)
		}
		if !bytes.Equal(frame, kept) {
			t.Fatal("the frame was changed")
		}
	})
}

// TestDraws: shares are uniform, and independent between frames and places.
func TestDraws(t *testing.T) {
	const n = 100000
	ed := newEdge(1, &node{name: "a"}, &node{name: "b"})
	var sum float64
	both, buckets := 0, [10]int{}
	for i := range uint64(n) {
		d := draws(ed.key + i*step)
		x := d.share(drawLoss)
		sum += x
		buckets[int(10*x)]++
		if x < 0.5 && d.share(drawDuplicate) < 0.5 && draws(ed.key+(i+1)*step).share(drawLoss) < 0.5 {
			both++
		}
	}
	if m := sum / n; m < 0.495 || m > 0.505 { // sd 0.0009
		t.Errorf("mean %g", m)
	}
	for i, b := range buckets {
		if b < 9500 || b > 10500 { // sd 95
			t.Errorf("%d of %d in tenth %d", b, n, i)
		}
	}
	if both < 12000 || both > 13000 { // sd 105
		t.Errorf("%d of %d below one half three times, want an eighth", both, n)
	}
}
