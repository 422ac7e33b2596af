package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// rec records ops as a run does, and lets the test see each.
type rec struct {
	start time.Time
	seen  func(op history.Op) error // may be nil

	mu  sync.Mutex
	ops []history.Op
}

func (r *rec) now() int64 { return int64(time.Since(r.start)) }

func (r *rec) record(op history.Op) error {
	r.mu.Lock()
	op.Index, op.Time = int64(len(r.ops)), r.now()
	r.ops = append(r.ops, op)
	r.mu.Unlock()
	if r.seen != nil {
		return r.seen(op)
	}
	return nil
}

func measured(op history.Op) bool {
	_, ok := op.Value.Field("measured")
	return ok
}

func options(t *testing.T, n Net, faults string, seed uint64, r *rec) Options {
	t.Helper()
	ledger, err := CreateLedger(filepath.Join(t.TempDir(), LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	r.start = time.Now()
	return Options{
		Net: n, Faults: parsed(t, faults), Interval: 50 * time.Millisecond,
		Rand: seeded(seed), Ledger: ledger, Record: r.record, Now: r.now,
	}
}

// TestRunOnRealProcesses lets three seeds break a network of real processes over
// real links, two rounds each, and ends the run while a fault is in force.
func TestRunOnRealProcesses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			n, _, proxy := testNet(t, 4)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := &rec{}
			o := options(t, n, "partition,kill,pause", seed, r)
			begun := 0
			r.seen = func(op history.Op) error {
				if _, starts, _ := entryOf(op.F); starts && !measured(op) {
					if len(o.Ledger.Pending()) != 0 {
						t.Error("a fault is requested while another is pending")
					}
				}
				if _, starts, _ := entryOf(op.F); starts && measured(op) {
					if begun++; begun == 6 {
						cancel()
					}
					if len(o.Ledger.Pending()) != 1 {
						t.Errorf("in force, but not on the ledger: %v", o.Ledger.Pending())
					}
				}
				return nil
			}
			out, err := Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if want := (Outcome{Faults: 6}); !reflect.DeepEqual(out, want) {
				t.Fatalf("outcome %+v", out)
			}
			if left, err := ReadPending(o.Ledger.file.Name()); err != nil || len(left) > 0 {
				t.Errorf("left on the ledger: %v, %v", left, err)
			}
			for _, e := range proxy.Edges() {
				if proxy.IsCut(e) {
					t.Errorf("%s is still cut", e)
				}
			}
			if up := running(n); len(up) != 4 {
				t.Errorf("only %v run", up)
			}
			for _, v := range running(n) {
				if stateOf(t, v.id) == stopped {
					t.Errorf("%s is stopped", v)
				}
			}
			checkOps(t, r.ops, 6)
		})
	}
}

// checkOps holds the schema of docs/history.md.
func checkOps(t *testing.T, ops []history.Op, faults int) {
	t.Helper()
	if len(ops) != 4*faults {
		t.Fatalf("%d ops for %d faults", len(ops), faults)
	}
	rounds := map[string]int{}
	for i := 0; i < len(ops); i += 4 {
		four := ops[i : i+4]
		e, starts, known := entryOf(four[0].F)
		if !known || !starts {
			t.Fatalf("op %d: %s", i, four[0].F)
		}
		rounds[e.Name]++
		for j, f := range []string{e.Start, e.Start, e.Stop, e.Stop} {
			op := four[j]
			if op.F != f || op.Process != history.Nemesis() || op.Type != history.Info || !op.Error.IsNil() {
				t.Fatalf("op %d: %+v", i+j, op)
			}
			if measured(op) != (j%2 == 1) {
				t.Fatalf("op %d: measured where it should not be, or not where it should: %s", i+j, op.Value)
			}
			if !measured(op) {
				continue
			}
			for _, key := range []string{"targets", "requested", "measured", "evidence"} {
				if v, ok := op.Value.Field(key); !ok || v.IsNil() {
					t.Errorf("op %d: no %s in %s", i+j, key, op.Value)
				}
			}
			targets, _ := op.Value.Field("targets")
			if targets.String() != four[0].Value.String() {
				t.Errorf("op %d: targets %s of %s", i+j, targets, four[0].Value)
			}
			requested, _ := field(op.Value, "requested")
			measuredAt, _ := field(op.Value, "measured")
			if requested > four[j-1].Time || measuredAt < four[j-1].Time || measuredAt > op.Time {
				t.Errorf("op %d: requested %d, measured %d, recorded %d and %d", i+j, requested, measuredAt, four[j-1].Time, op.Time)
			}
		}
	}
	for _, name := range []string{"partition", "kill", "pause"} {
		if rounds[name] != faults/3 {
			t.Errorf("%s came %d times in %d faults", name, rounds[name], faults)
		}
	}
	if rows := bytes.Count(Timeline(ops), []byte("\n")); rows != faults {
		t.Errorf("%d rows in the timeline", rows)
	}
}

func field(v history.Value, name string) (int64, bool) {
	f, _ := v.Field(name)
	return f.Int()
}

// TestSameSeedSameFaults: what is requested follows from the seed alone.
func TestSameSeedSameFaults(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 4)
	var runs [2]string
	for i := range runs {
		ctx, cancel := context.WithCancel(t.Context())
		r := &rec{}
		o := options(t, n, "partition,pause", 7, r)
		o.Interval = time.Millisecond
		asked := 0
		r.seen = func(op history.Op) error {
			if !measured(op) {
				runs[i] += fmt.Sprintln(op.F, op.Value)
				if asked++; asked == 8 {
					cancel()
				}
			}
			return nil
		}
		if _, err := Run(ctx, o); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if runs[0] != runs[1] || strings.Count(runs[0], "\n") != 8 {
		t.Errorf("first\n%s\nthen\n%s", runs[0], runs[1])
	}
}

// once runs the faults until the first outcome of a stop.
func once(t *testing.T, o Options, r *rec) (Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := r.seen
	r.seen = func(op history.Op) error {
		if _, starts, _ := entryOf(op.F); !starts && measured(op) {
			cancel()
		}
		if seen != nil {
			return seen(op)
		}
		return nil
	}
	return Run(ctx, o)
}

// TestNobodyToHit: the request and its failure are in the history.
func TestNobodyToHit(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	was, _ := c.Identity("n1")
	if err := devnet.Signal(was, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "n1 to end", func() bool { _, ok := c.Identity("n1"); return !ok })
	ctx, cancel := context.WithCancel(t.Context())
	r := &rec{seen: func(op history.Op) error {
		if measured(op) {
			cancel()
		}
		return nil
	}}
	out, err := Run(ctx, options(t, n, "pause", 1, r))
	if err != nil || out.WithoutEvidence != 1 || len(r.ops) != 2 || !strings.HasPrefix(r.ops[1].Error.String(), "[:no-evidence ") {
		t.Fatalf("outcome %+v, %v, ops %+v", out, err, r.ops)
	}
}

// TestRecordFails at each op in turn: no fault may stay in force, whatever the
// disk does.
func TestRecordFails(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	for at := range 4 {
		count := 0
		r := &rec{seen: func(history.Op) error {
			if count++; count == at+1 {
				return errPlanned
			}
			return nil
		}}
		o := options(t, n, "pause", 1, r)
		out, err := Run(t.Context(), o)
		if !errors.Is(err, errPlanned) || out.Faults != 1 || out.NotUndone != 0 {
			t.Fatalf("op %d: outcome %+v, %v", at, out, err)
		}
		if id, ok := c.Identity("n1"); !ok || stateOf(t, id) == stopped || len(o.Ledger.Pending()) != 0 {
			t.Errorf("op %d: still in force: %v", at, o.Ledger.Pending())
		}
		if at == 0 && len(r.ops) > 1 {
			t.Errorf("applied without its request in the history: %v", r.ops)
		}
	}
}

// TestFirstFaultComesEarly: with a known end, a run does not spend its time
// waiting for the interval.
func TestFirstFaultComesEarly(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == pauseStart && measured(op) {
			cancel() // in the middle of an interval of an hour
		}
		return nil
	}
	o := options(t, n, "pause", 1, r)
	o.Interval = time.Hour
	out, err := Run(ctx, o)
	if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) || len(r.ops) != 4 {
		t.Fatalf("outcome %+v, %v, %d ops", out, err, len(r.ops))
	}
}

func TestRunRefuses(t *testing.T) {
	r := &rec{}
	good := options(t, Net{Nodes: nodeNames(4)}, "kill", 1, r)
	if _, err := Run(t.Context(), good); !errors.Is(err, devnet.ErrNoControl) {
		t.Errorf("without control: %v", err)
	}
	for name, spoil := range map[string]func(*Options){
		"interval": func(o *Options) { o.Interval = 0 },
		"ledger":   func(o *Options) { o.Ledger = nil },
	} {
		o := good
		spoil(&o)
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if out, err := Run(t.Context(), Options{}); err != nil || out.Faults != 0 {
		t.Errorf("no faults: %+v, %v", out, err)
	}
	if len(r.ops) > 0 {
		t.Errorf("recorded %v", r.ops)
	}
}
