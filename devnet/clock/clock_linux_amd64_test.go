package clock

import (
	"encoding/hex"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"

	"github.com/jepgo/jepgo/devnet"
)

// TestHookIsWhatItSays decodes the bytes that are put into other processes.
func TestHookIsWhatItSays(t *testing.T) {
	for name, code := range map[string][]instruction{"hook": hookCode(), "probe": probeCode()} {
		at := 0
		for i, in := range code {
			b, err := hex.DecodeString(in.bytes)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x86asm.Decode(b, 64)
			if err != nil || got.Len != len(b) {
				t.Fatalf("%s %#x: %v", name, in.at, err)
			}
			if text := x86asm.IntelSyntax(got, uint64(in.at), nil); text != in.text {
				t.Errorf("%s %#x: %x is %q, the table says %q", name, in.at, b, text, in.text)
			}
			// Instructions follow each other; the three functions begin at multiples of 16.
			if i > 0 && in.at != at && !(in.at == (at+15)&^15 && (in.at == timeofdayAt || in.at == timeAt)) {
				t.Errorf("%s %#x: expected at %#x", name, in.at, at)
			}
			at = in.at + len(b)
		}
		if name == "hook" && (code[0].at != gettimeAt || at > trampolineAt) {
			t.Errorf("hook from %#x to %#x", code[0].at, at)
		}
	}
}

// offset waits for nothing: what is set is seen by the next reading.
func mustRead(t *testing.T, id devnet.Identity) Reading {
	t.Helper()
	r, err := Read(id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(r Reading, want time.Duration) bool {
	d := r.Offset - want
	return max(d, -d) <= r.Bound+time.Microsecond
}

func TestSkew(t *testing.T) {
	offsets := []time.Duration{10 * time.Second, -10 * time.Second, 2 * time.Hour, -2 * time.Hour, 1500 * time.Millisecond, -999_999_999}
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			g := startTarget(t, kind, exactly(append(offsets, 0)...))
			if r := mustRead(t, g.id); !near(r, 0) {
				t.Errorf("before: %+v", r)
			}
			s, err := Install(g.id)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Remove()
			for _, d := range append(offsets, 0) {
				if err := s.Set(d, 0); err != nil {
					t.Fatal(err)
				}
				r := mustRead(t, g.id)
				if !near(r, d) {
					t.Errorf("asked %v, measured %+v", d, r)
				}
				t.Logf("asked %v, measured %v ± %v", d, r.Offset, r.Bound)
				time.Sleep(20 * time.Millisecond) // for the target's own readings
			}
			if patched, err := Patched(g.id); !patched || err != nil {
				t.Errorf("patched: %v, %v", patched, err)
			}
			for range 2 {
				if err := s.Remove(); err != nil {
					t.Fatal(err)
				}
			}
			if patched, err := Patched(g.id); patched || err != nil {
				t.Errorf("patched: %v, %v", patched, err)
			}
			if r := mustRead(t, g.id); !near(r, 0) {
				t.Errorf("after: %+v", r)
			}
			r := g.end(t)
			for i, n := range r.Seen {
				if n == 0 {
					t.Errorf("offset %v was never seen", append(offsets, 0)[i])
				}
			}
			if err := s.Remove(); err != nil {
				t.Error(err)
			}
			if err := Restore(g.id); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("restore of one that has ended: %v", err)
			}
		})
	}
}
