package weak

import (
	"strings"
	"testing"
)

// litmus reads a history: sessions divided by bars, their transactions by commas. A
// transaction is words such as wx1 and rx1; each value of a key is written once, and 0
// is there at the start.
func litmus(t *testing.T, text string) *History {
	t.Helper()
	type word struct {
		read       bool
		key, value byte
	}
	var txns [][]word
	var sessions []int32
	writer := make(map[[2]byte]int32)
	for session, list := range strings.Split(text, "|") {
		for txn := range strings.SplitSeq(list, ",") {
			var words []word
			for _, f := range strings.Fields(txn) {
				words = append(words, word{f[0] == 'r', f[1], f[2]})
				if f[0] == 'w' {
					writer[[2]byte{f[1], f[2]}] = int32(len(txns))
				}
			}
			txns = append(txns, words)
			sessions = append(sessions, int32(session))
		}
	}
	h := &History{}
	for i, words := range txns {
		h.Add(sessions[i], -1, Never)
		for _, w := range words {
			key := int32(w.key - 'a')
			if !w.read {
				h.Write(key)
				continue
			}
			from, known := writer[[2]byte{w.key, w.value}]
			if !known {
				if w.value != '0' {
					t.Fatalf("%s: nobody writes %c%c", text, w.key, w.value)
				}
				from = Initial
			}
			h.Read(key, from)
		}
	}
	return h
}

// TestLitmus holds each level to histories that tell it from its neighbours: the
// weakest level that is broken, with the order of sessions and without.
func TestLitmus(t *testing.T) {
	const none = Level(0)
	for _, c := range []struct {
		name, history string
		with, without Level
	}{
		{"nothing", "", none, none},
		{"serial", "wx1 wy1, rx1 wx2 | rx2 ry1", none, none},
		{"blind writes", "wx1, wy1 | wx2, wy2 | rx1 ry2", none, none},
		{"circular information flow", "wx1 ry1 | wy1 rx1", ReadCommitted, ReadCommitted},
		{"circular through a session", "rx1, wy1 | ry1, wx1", ReadCommitted, none},
		{"observed transaction vanishes", "wx1 wy1 | wx2 wy2 | rx2 ry1 | rx1 ry2", ReadCommitted, ReadCommitted},
		{"new, then old", "wx1 wy1 | rx1 ry0", ReadCommitted, ReadCommitted},
		{"old, then new: fractured", "wx1 wy1 | ry0 rx1", ReadAtomic, ReadAtomic},
		{"two reads of a key", "wx1 | rx0 rx1", ReadAtomic, ReadAtomic},
		{"read your writes", "wx1, rx0", ReadAtomic, none},
		{"monotonic reads", "wx1 | rx1, rx0", Causal, none},
		{"monotonic writes", "wx1, wy1 | ry1, rx0", Causal, none},
		{"writes follow reads", "wx1 | rx1 wy1 | ry1 rx0", Causal, Causal},
		{"causality between reads", "wx1, wx2 | rx2 wy1 | ry1 rx1", Causal, none},
		{"causality violated by arbitration", "wx1, wx2 | rx2 wy1 | rx1 ry1", Causal, none},
		{"long fork", "wx1 | wy1 | rx1 ry0 | rx0 ry1", Prefix, Prefix},
		{"long fork of sessions", "wx1 | wy1 | rx1, ry0 | ry1, rx0", Prefix, none},
		{"lost update", "rx0 wx1 | rx0 wx2", SnapshotIsolation, SnapshotIsolation},
		{"lost update, seen", "rx0 wx1 | rx0 wx2 | rx1 | rx2", SnapshotIsolation, SnapshotIsolation},
		{"write skew", "rx0 ry0 wx1 | rx0 ry0 wy1", Serializable, Serializable},
		{"read-only anomaly", "rx0 ry0 wx1 | ry0 wy1 | rx0 ry1", Serializable, Serializable},
		{"stale read of a session", "wx1, ry0 | wy1, rx0", Prefix, none},
		{"stale snapshot", "wx1, wy1 | ry0 wz1 | rz1 rx0", none, none},
	} {
		h := litmus(t, c.history)
		for _, sessions := range []bool{true, false} {
			want := c.with
			if !sessions {
				want = c.without
			}
			for l := ReadCommitted; l <= Serializable; l++ {
				a := Ask{Level: l, Sessions: sessions}
				got := answer(h, a)
				if wantHolds := want == none || l < want; got.Holds != wantHolds || (got.Broken == nil) != wantHolds {
					t.Errorf("%s (%s), %+v: holds %v, want %v; %+v", c.name, c.history, a, got.Holds, wantHolds, got.Broken)
				}
				if holds(h, a) != got.Holds {
					t.Errorf("%s (%s), %+v: all orders disagree with %v", c.name, c.history, a, got.Holds)
				}
				if got.Broken != nil && got.Broken.Level > want && want != Prefix {
					t.Errorf("%s (%s), %+v: said to break %s, but breaks %s", c.name, c.history, a, got.Broken.Level, want)
				}
			}
		}
	}
}
