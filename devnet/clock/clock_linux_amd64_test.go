package clock

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
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

// TestDrift reads a clock that goes fast, and one that goes slow.
func TestDrift(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := startTarget(t, kind, []allowed{{-int64(10 * time.Second), int64(10 * time.Second)}})
			s, err := Install(g.id)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Remove()
			for _, ppm := range []float64{10_000, -10_000, 500_000, -500_000, 500} {
				if err := s.Set(time.Second, ppm); err != nil {
					t.Fatal(err)
				}
				first := mustRead(t, g.id)
				time.Sleep(50 * time.Millisecond)
				last := mustRead(t, g.id)
				for _, r := range []Reading{first, last} {
					if want := s.Asked(r.Host); !near(r, want) {
						t.Errorf("%v ppm: asked %v, read %+v", ppm, want, r)
					}
				}
				rate := float64(last.Offset-first.Offset) / float64(last.Host.Sub(first.Host)) * 1e6
				if slack := 2e6 * float64(first.Bound+last.Bound) / float64(50*time.Millisecond); math.Abs(rate-ppm) > slack {
					t.Errorf("asked %v ppm, measured %v ± %v", ppm, rate, slack)
				}
			}
			if err := s.Remove(); err != nil {
				t.Fatal(err)
			}
			g.end(t)
		})
	}
}

// TestStrobe changes the clock as fast as it goes while the target reads it: each
// value must be explained by one of the offsets, none by a mixture.
func TestStrobe(t *testing.T) {
	offsets := []time.Duration{-7200*time.Second - 999_999_999, 10*time.Second + 1, 0}
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := startTarget(t, kind, exactly(offsets...))
			s, err := Install(g.id)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Remove()
			for n := range 3000 {
				if err := s.Set(offsets[n%3], 0); err != nil {
					t.Fatal(err)
				}
				if n%30 == 0 {
					time.Sleep(2 * time.Millisecond)
				}
			}
			if err := s.Remove(); err != nil {
				t.Fatal(err)
			}
			for i, n := range g.end(t).Seen {
				if n == 0 {
					t.Errorf("offset %v was never seen", offsets[i])
				}
			}
		})
	}
}

// TestAgainAndAgain installs and removes a hundred times, in the same two pages.
func TestAgainAndAgain(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := startTarget(t, kind, exactly(10*time.Second, 0))
			for n := range 100 {
				s, err := Install(g.id)
				if err != nil {
					t.Fatal(n, err)
				}
				if err := s.Set(10*time.Second, 0); err != nil {
					t.Fatal(n, err)
				}
				if n%10 == 0 {
					if r := mustRead(t, g.id); !near(r, 10*time.Second) {
						t.Errorf("%d: %+v", n, r)
					}
				}
				if err := s.Remove(); err != nil {
					t.Fatal(n, err)
				}
				if patched, err := Patched(g.id); patched || err != nil {
					t.Fatalf("%d: patched: %v, %v", n, patched, err)
				}
			}
			if n := dataPages(t, g.id); n != 1 {
				t.Errorf("%d data pages", n)
			}
			fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.id.PID))
			if err != nil {
				t.Fatal(err)
			}
			for _, fd := range fds {
				if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", g.id.PID, fd.Name())); strings.Contains(to, memfdName) {
					t.Errorf("left open in the target: %s", to)
				}
			}
			g.end(t)
		})
	}
}
