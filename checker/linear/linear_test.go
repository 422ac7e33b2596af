package linear

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

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
				witnessStands(t, test.c, Options{Keyed: true}, r)
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

// TestLongLock holds that a fault late in the life of a lock is shown by itself,
// though every operation of a lock hangs together with all before it.
func TestLongLock(t *testing.T) {
	h := &history.History{}
	add := func(p int64, f string) {
		for _, typ := range []history.Type{history.Invoke, history.OK} {
			h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(p), F: f})
		}
	}
	for p := range int64(200) {
		add(p%5, "acquire")
		add(p%5, "release")
	}
	add(1, "acquire")
	add(2, "acquire")
	r := Mutex(Options{}).Check(context.Background(), h)
	if r.Verdict != checker.Invalid {
		t.Fatalf("%v: %s", r.Verdict, r.Reason)
	}
	a := r.Anomalies[0]
	if len(a.Witness) != 4 || !strings.Contains(a.Message, "Whatever the lock held before, the 2 operations") ||
		a.State != "taken" || len(a.Blocked) != 1 || a.Blocked[0].Why != "needs free, but the lock is taken" {
		t.Errorf("%+v", a)
	}
	witnessStands(t, Mutex(Options{}), Options{}, r)
}
