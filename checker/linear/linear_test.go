package linear

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// bruteForce tries every order of the calls, the definition of linearizability
// written down. Crashed calls may be left out.
func bruteForce(calls []call, state int32, nilAny bool) bool {
	done := make([]bool, len(calls))
	var search func(state int32) bool
	search = func(state int32) bool {
		pending, earliest := false, never
		for i := range calls {
			if !done[i] && !calls[i].crashed {
				pending = true
				earliest = min(earliest, calls[i].end)
			}
		}
		if !pending {
			return true
		}
		for i := range calls {
			c := &calls[i]
			if done[i] || c.begin > earliest {
				continue
			}
			after, ok := state, false
			switch c.action {
			case read:
				ok = state == c.value || nilAny && c.value == 0
			case write:
				after, ok = c.value, true
			case cas:
				after, ok = c.value, state == c.old
			}
			if !ok {
				continue
			}
			done[i] = true
			if search(after) {
				return true
			}
			done[i] = false
		}
		return false
	}
	return search(state)
}

// drawHistory makes a small history of a few processes on one register: what
// they see is now and then wrong, and some never learn what became of their op.
func drawHistory(t *rapid.T) *history.History {
	h := &history.History{}
	processes := rapid.IntRange(1, 4).Draw(t, "processes")
	values := rapid.Int64Range(2, 6).Draw(t, "values")
	unique := rapid.Bool().Draw(t, "unique")
	next := values
	open := make(map[int64]history.Op)
	id := make([]int64, processes)
	for p := range id {
		id[p] = int64(p)
	}
	state := history.Value{}
	value := func() history.Value {
		if unique {
			next++
			return history.Int(next)
		}
		return history.Int(rapid.Int64Range(1, values).Draw(t, "value"))
	}
	add := func(op history.Op) {
		op.Index, op.Time = int64(len(h.Ops)), history.Absent
		h.Ops = append(h.Ops, op)
	}
	for range rapid.IntRange(1, 20).Draw(t, "events") {
		slot := rapid.IntRange(0, processes-1).Draw(t, "slot")
		p := id[slot]
		op, busy := open[p]
		if !busy {
			op = history.Op{Type: history.Invoke, Process: history.Client(p)}
			op.F = rapid.SampledFrom([]string{"read", "read", "write", "cas"}).Draw(t, "f")
			switch op.F {
			case "write":
				op.Value = value()
			case "cas":
				op.Value = history.Vec(history.Int(rapid.Int64Range(1, next).Draw(t, "old")), value())
			}
			open[p] = op
			add(op)
			continue
		}
		delete(open, p)
		op.Type = rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "type")
		if op.Type == history.OK || op.Type == history.Info && rapid.Bool().Draw(t, "happened") {
			switch op.F {
			case "read":
				op.Value = state
				if rapid.IntRange(0, 5).Draw(t, "wrong") == 0 {
					op.Value = history.Int(rapid.Int64Range(1, next).Draw(t, "seen"))
				}
			case "write":
				state = op.Value
			case "cas":
				state = op.Value.Elems()[1]
			}
		}
		if op.Type == history.Info {
			id[slot] += int64(processes)
		}
		add(op)
	}
	return h
}

func decodeAll(h *history.History, o Options) (*register, []call) {
	r := &register{}
	r.initial = r.values.Number(o.Initial)
	m := registerModel()
	var calls []call
	for _, p := range h.Pairs() {
		c := call{invoke: p.Invoke, done: p.Complete, begin: p.Invoke, end: p.Complete}
		f, v := outcomeOf(h, &c)
		if !c.failed && m.handles(f) && m.decode(f, v, &r.values, &c) {
			calls = append(calls, c)
		}
	}
	return r, calls
}

func TestRegisterAgreesWithBruteForce(t *testing.T) {
	counts := make(map[checker.Verdict]int)
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		o := Options{NilAny: rapid.Bool().Draw(t, "nil-any"), EmptyValid: true}
		r, calls := decodeAll(h, o)
		want := checker.Invalid
		if bruteForce(calls, r.initial, o.NilAny) {
			want = checker.Valid
		}
		c := Register(o)
		got := c.Check(context.Background(), h)
		if got.Verdict != want {
			t.Fatalf("checker says %v, every order tried says %v: %+v", got.Verdict, want, got)
		}
		counts[want]++
		if want == checker.Invalid {
			witnessStands(t, c, got)
		}
	})
	if counts[checker.Valid] == 0 || counts[checker.Invalid] == 0 {
		t.Errorf("only one kind of history was drawn: %v", counts)
	}
}

// witnessStands judges the text of each witness as a history of its own.
func witnessStands(t rapid.TB, c checker.Checker, r checker.Result) {
	t.Helper()
	if len(r.Anomalies) == 0 {
		t.Fatalf("invalid without an anomaly: %+v", r)
	}
	for _, a := range r.Anomalies {
		var text strings.Builder
		for i, ref := range a.Witness {
			if i > 0 && a.Witness[i-1].Index >= ref.Index {
				t.Fatalf("witness is not in history order: %+v", a.Witness)
			}
			text.WriteString(ref.Op + "\n")
		}
		alone, err := history.ReadAll(strings.NewReader(text.String()), history.EDN())
		if err != nil {
			t.Fatal(err)
		}
		if again := c.Check(context.Background(), alone); again.Verdict != checker.Invalid {
			t.Fatalf("witness alone is %v: %s\n%s", again.Verdict, a.Message, text.String())
		}
	}
}

// TestClosedPartsProve holds the claim of sources: a closed part that fails
// never comes from a whole that does not.
func TestClosedPartsProve(t *testing.T) {
	failed := 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		r, calls := decodeAll(h, Options{})
		calls = dropCrashedReads(calls)
		src := findSources(calls, false)
		mask := rapid.SliceOfN(rapid.Bool(), len(calls), len(calls)).Draw(t, "drop")
		part := src.closed(calls, func(i int) bool { return mask[i] })
		if bruteForce(part, r.initial, false) {
			return
		}
		failed++
		if bruteForce(calls, r.initial, false) {
			t.Fatalf("a closed part fails, the whole does not: %+v of %+v", part, calls)
		}
	})
	if failed == 0 {
		t.Error("no closed part that fails was drawn")
	}
}

func TestPruneKeepsTheVerdict(t *testing.T) {
	pruned := 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		nilAny := rapid.Bool().Draw(t, "nil-any")
		r, calls := decodeAll(h, Options{})
		calls = dropCrashedReads(calls)
		kept := prune(calls, r.values.Len(), nilAny)
		pruned += len(calls) - len(kept)
		if before, after := bruteForce(calls, r.initial, nilAny), bruteForce(kept, r.initial, nilAny); before != after {
			t.Fatalf("linearizable: %v with the crashed calls, %v without: %+v", before, after, calls)
		}
	})
	if pruned == 0 {
		t.Error("nothing was ever pruned")
	}
}

func dropCrashedReads(calls []call) []call {
	var kept []call
	for _, c := range calls {
		if !c.crashed || c.action != read {
			kept = append(kept, c)
		}
	}
	return kept
}

// TestFixtures judges the pairs of good and bad histories in testdata.
func TestFixtures(t *testing.T) {
	for _, test := range []struct {
		file string
		c    checker.Checker
		want checker.Verdict
		says []string // of the first anomaly, or of the reason
		ops  int      // of the first witness
	}{
		{"register-ok.edn", Register(Options{Keyed: true}), checker.Valid, []string{"8 operations on 2 registers"}, 0},
		{"stale-read-bad.edn", Register(Options{Keyed: true}), checker.Invalid,
			[]string{"key 3", "read of 1 by process 4 on n2 (ops 7 and 8)", "1 comes from write of 1", "latest first: write of 2"}, 6},
		{"failed-write-bad.edn", Register(Options{Keyed: true}), checker.Invalid,
			[]string{"No operation that may have happened by then wrote 9", "write of 9 by process 0 on n1 (ops 2 and 3) would have, but it failed"}, 4},
		{"lost-update-bad.edn", Register(Options{Keyed: true}), checker.Invalid, []string{"cas from 1 to 3"}, 6},
		{"cas-in-doubt-ok.edn", Register(Options{Keyed: true}), checker.Valid, []string{"3 operations"}, 0},
		{"odd-values.edn", Register(Options{Keyed: true}), checker.Unknown, []string{"not one of their :f"}, 0},
		{"mutex-ok.edn", Mutex(Options{}), checker.Valid, []string{"4 operations"}, 0},
		{"mutex-bad.edn", Mutex(Options{}), checker.Invalid, []string{"acquire by process 1"}, 4},
	} {
		t.Run(test.file, func(t *testing.T) {
			h, err := history.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			r := test.c.Check(context.Background(), h)
			if r.Verdict != test.want {
				t.Fatalf("verdict %v, want %v: %+v", r.Verdict, test.want, r)
			}
			text := r.Reason
			if len(r.Anomalies) > 0 {
				text = r.Anomalies[0].Message
				if got := len(r.Anomalies[0].Witness); got != test.ops {
					t.Errorf("witness has %d ops, want %d: %+v", got, test.ops, r.Anomalies[0])
				}
				witnessStands(t, test.c, r)
			}
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not said in: %s", want, text)
				}
			}
		})
	}
}

func TestEmptyIsUnknown(t *testing.T) {
	if r := Register(Options{}).Check(context.Background(), &history.History{}); r.Verdict != checker.Unknown {
		t.Errorf("an empty history is %v", r.Verdict)
	}
}

// TestLimits holds that a search that meets a limit ends, names the key, and
// answers unknown.
func TestLimits(t *testing.T) {
	h := &history.History{}
	add := func(p int64, typ history.Type, f string, v history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(p), F: f,
			Value: history.Vec(history.Text("k"), v)})
	}
	// Twenty-four writes at once, in an order that reads make impossible only at
	// the very end and with values that repeat: nothing short can be shown.
	for p := range int64(24) {
		add(p, history.Invoke, "write", history.Int(p%2))
	}
	for p := range int64(24) {
		add(100+p, history.Invoke, "cas", history.Vec(history.Int(p%2), history.Int((p+1)%2)))
	}
	for p := range int64(24) {
		add(p, history.OK, "write", history.Int(p%2))
		add(100+p, history.OK, "cas", history.Vec(history.Int(p%2), history.Int((p+1)%2)))
	}
	add(300, history.Invoke, "cas", history.Vec(history.Int(7), history.Int(8)))
	add(301, history.Invoke, "write", history.Int(7))
	add(301, history.OK, "write", history.Int(7))
	add(300, history.OK, "cas", history.Vec(history.Int(7), history.Int(8)))
	add(302, history.Invoke, "read", history.Value{})
	add(302, history.OK, "read", history.Int(0))
	r := Register(Options{Keyed: true, Memory: 1 << 16}).Check(context.Background(), h)
	if r.Verdict != checker.Unknown || !strings.Contains(r.Reason, `key "k"`) || !strings.Contains(r.Reason, "memory limit") {
		t.Errorf("with little memory: %v: %s", r.Verdict, r.Reason)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := Register(Options{Keyed: true}).Check(ctx, h); r.Verdict != checker.Unknown {
		t.Errorf("with an ended context: %v: %s", r.Verdict, r.Reason)
	}
}
