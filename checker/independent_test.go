package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

func TestIndependent(t *testing.T) {
	sets := func() Stream { return Independent("sets", func() Stream { return SetFull(SetFullOptions{}) }) }
	counters := func() Stream {
		return Independent("counters", func() Stream { return Counter(CounterOptions{}) })
	}
	hold(t, []fixture{
		{"the worst counts, and unknown keys are listed", sets, `
			0 invoke add [:a 1]
			0 ok add [:a 1]
			1 invoke read [:a nil]
			1 ok read [:a []]
			0 invoke add [:b 1]
			0 ok add [:c 1]
			2 invoke read [:c nil]
			2 ok read [:c [1]]`, Invalid, "lost", "1 of 3 keys fail: [:a]; 1 of 3 keys unknown: [:b]",
			map[string]string{"keys": "3", "valid": "1", "failing-keys": "[:a]", "unknown-keys": "[:b]", "key :b": "unknown: the set was never read"}},
		{"the key is in the message", sets, `
			0 invoke add [3 1]
			0 ok add [3 1]
			1 invoke read [3 nil]
			1 ok read [3 []]`, Invalid, "lost", "Key 3: 1 was known", nil},
		{"valid", counters, `
			0 invoke add [1 5]
			0 ok add [1 5]
			0 invoke read [1 nil]
			0 ok read [1 5]
			:nemesis info start nil
			0 invoke read [2 nil]
			0 ok read [2 nil]`, Valid, "", "all of 2 keys valid", nil},
		{"a completion that lost its key", counters, `
			0 invoke add [1 5]
			0 fail add nil
			0 invoke read [1 nil]
			0 ok read [1 5]`, Invalid, "read-too-high", "Key 1", nil},
		{"ops without a key", counters, `
			0 invoke add [1 5]
			0 ok add [1 5]
			0 invoke read [1 nil]
			0 ok read 7
			0 ok read [1 5]`, Unknown, "", "1 ok operation without [key value] as the value, such as op 3", nil},
		{"no key at all", counters, `
			0 invoke add 5
			0 ok add 5`, Unknown, "", "no operation has a key", nil},
		{"another key", counters, `
			0 invoke add [1 5]
			0 ok add [2 5]
			0 invoke read [1 nil]
			0 ok read [1 0]`, Valid, "", "another key than the invocation, such as op 1", nil},
	})
}

// TestIndependentReads holds that a key's stream sees the ops of its witness
// without the key, and a report sees them with it.
func TestIndependentReads(t *testing.T) {
	var lines strings.Builder
	for key := range 200 {
		fmt.Fprintf(&lines, "%d invoke write [%d 1]\n%d ok write [%d 1]\n", key, key, key, key)
		fmt.Fprintf(&lines, "%d ok read [%d [2]]\n%d invoke write [%d 2]\n", key, key, key, key)
	}
	h := ops(t, lines.String())
	src := &countingSource{Source: h.Source()}
	s := Independent("reversed", CausalReverse)
	for e := range h.Events() {
		s.Take(e)
	}
	r := s.Finish(t.Context(), src)
	if r.Verdict != Invalid || !strings.HasPrefix(r.Reason, "200 of 200 keys fail") {
		t.Fatalf("says %v: %s", r.Verdict, r.Reason)
	}
	if len(r.Anomalies) != manyKeys {
		t.Errorf("explains %d anomalies, want those of %d keys", len(r.Anomalies), manyKeys)
	}
	if got := r.Anomalies[1].Witness[2].Op; !strings.Contains(got, ":value [1 [2]]") {
		t.Errorf("witness has %s, want the op with its key", got)
	}
	if src.asked > 2 {
		t.Errorf("the source was asked %d times, want once for the ops and once for the witnesses", src.asked)
	}
}

type countingSource struct {
	history.Source
	asked int
}

func (s *countingSource) Ops(positions []int) ([]history.Op, error) {
	s.asked++
	return s.Source.Ops(positions)
}

// TestBrokenSource holds that nothing is claimed, and nothing panics, when a
// history cannot be read again.
func TestBrokenSource(t *testing.T) {
	h := ops(t, `
		0 invoke write [1 1]
		0 ok write [1 1]
		0 ok read [1 [2]]
		0 invoke write [1 2]
		0 ok read-init [1 0]
		0 info write [1 3]
		:nemesis info bump nil`)
	for _, begin := range []func() Stream{
		func() Stream { return Independent("x", CausalReverse) }, func() Stream { return Independent("x", Causal) },
		Causal, Exceptions, func() Stream { return ClockPlot() },
	} {
		s := begin()
		for e := range h.Events() {
			s.Take(e)
		}
		if r := s.Finish(t.Context(), brokenSource{}); r.Verdict != Unknown || !strings.Contains(r.Reason, "disk on fire") {
			t.Errorf("%s says %v: %s", s.Name(), r.Verdict, r.Reason)
		}
	}
}

type brokenSource struct{}

func (brokenSource) Ops([]int) ([]history.Op, error) { return nil, fmt.Errorf("disk on fire") }
