package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/history"
)

// requests lists the ops that start faults.
func requests(ops []history.Op) []history.Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op history.Op) bool {
		_, starts, _ := entryOf(op.F)
		return !starts || measured(op)
	})
}

// triggered runs faults with triggers on a chain of three real processes.
func triggered(t *testing.T, faults string, limit time.Duration, change func(o *Options, c *clockwork)) (Outcome, []history.Op, *clockwork) {
	t.Helper()
	return triggeredUntil(t, faults, 0, limit, change)
}

// triggeredUntil ends when so many faults are undone.
func triggeredUntil(t *testing.T, faults string, enough int, limit time.Duration, change func(o *Options, c *clockwork)) (Outcome, []history.Op, *clockwork) {
	t.Helper()
	n, _, _ := testNet(t, 3)
	r := &rec{}
	o := options(t, n, "none", 1, r)
	chain := newClockwork(n.Nodes, 20*time.Millisecond)
	o.Net.Chain, o.Net.Proposers = chain, chain
	if change != nil {
		change(&o, chain)
	}
	reach := o.Net.reach()
	var err error
	if o.Faults, err = Parse(faults, reach); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r.seen = after(enough, cancel)
	out, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Ledger.Pending()) > 0 {
		t.Errorf("left on the ledger: %v", o.Ledger.Pending())
	}
	return out, r.ops, chain
}

// after calls enough when so many faults are undone.
func after(faults int, enough func()) func(history.Op) error {
	return func(op history.Op) error {
		if _, starts, known := entryOf(op.F); known && !starts && measured(op) {
			if faults--; faults == 0 {
				enough()
			}
		}
		return nil
	}
}

const whole = 20 * time.Second // longer than any of these runs, which end by themselves

func TestTriggerByHeightAndAfter(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggered(t, "pause:n2@height=10+5blocks,pause:n3@height=30", whole, nil)
	if !reflect.DeepEqual(out, Outcome{Faults: 2}) {
		t.Fatalf("outcome %+v", out)
	}
	var heads []int64
	for i, op := range requests(ops) {
		head, _ := field(op.Value, "head")
		heads = append(heads, head)
		if want := []string{"n2", "n3"}[i]; strings.Join(nodesOf(op.Value), " ") != want {
			t.Errorf("fault %d: %s", i, op.Value)
		}
	}
	if heads[0] < 10 || heads[1] < 30 || heads[1] < heads[0]+5 {
		t.Errorf("heads %v", heads)
	}
	if v, _ := requests(ops)[0].Value.Field("trigger"); v.Text() != "height=10" {
		t.Errorf("trigger %s", v)
	}
}

func TestTriggerAfterAnother(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 2)
	r := &rec{}
	o := options(t, n, "none", 1, r)
	chain := newClockwork(n.Nodes, 20*time.Millisecond)
	o.Net.Chain, o.Net.Proposers = chain, chain
	var err error
	if o.Faults, err = Parse("pause:n1@height=5+1ms,pause:n2@after=7+1ms", o.Net.reach()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var undoneAt uint64
	begun := 0
	r.seen = func(op history.Op) error {
		switch {
		case op.F == pauseStop && measured(op) && undoneAt == 0:
			undoneAt = chain.height()
		case op.F == pauseStart && measured(op):
			if begun++; begun == 2 {
				cancel()
			}
		}
		return nil
	}
	out, err := Run(ctx, o)
	if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 2}) {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	second := requests(r.ops)[1]
	if head, _ := field(second.Value, "head"); uint64(head) < undoneAt+7 {
		t.Errorf("undone at block %d, next at %d", undoneAt, head)
	}
}

func TestTriggerByProposer(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggered(t, "pause:proposer@proposer=n3+1ms", whole, func(_ *Options, c *clockwork) { c.block = time.Second })
	if !reflect.DeepEqual(out, Outcome{Faults: 1}) {
		t.Fatalf("outcome %+v", out)
	}
	// A block takes a second here, so the proposer is still the same.
	if got := nodesOf(requests(ops)[0].Value); !slices.Equal(got, []string{"n3"}) {
		t.Errorf("paused %v", got)
	}
}

func TestTriggerByEpochComesAgain(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggered(t, "pause:n2@epoch=50+1ms", 4*time.Second, nil)
	if out.Faults < 2 || out.WithoutEvidence+out.NotUndone+out.NotInjected > 0 {
		t.Fatalf("outcome %+v", out)
	}
	for _, op := range requests(ops) {
		// Seen within a few looks of the edge; generous for a busy machine.
		if head, _ := field(op.Value, "head"); head < 50 || head%50 > 40 {
			t.Errorf("at block %d", head)
		}
	}
}

func TestTriggerByOps(t *testing.T) {
	t.Parallel()
	start := time.Now()
	out, ops, _ := triggered(t, "pause:n1@op=20+1ms,pause:n2@op=p3:20+1ms", whole, func(o *Options, _ *clockwork) {
		o.Net.Ops = func(process int64) int64 {
			n := int64(time.Since(start) / (10 * time.Millisecond))
			if process == 3 {
				return n / 5
			}
			return n
		}
	})
	if !reflect.DeepEqual(out, Outcome{Faults: 2}) {
		t.Fatalf("outcome %+v", out)
	}
	if first, second := requests(ops)[0], requests(ops)[1]; nodesOf(first.Value)[0] != "n1" || nodesOf(second.Value)[0] != "n2" {
		t.Errorf("%s, then %s", first.Value, second.Value)
	}
}

func TestTriggerByStall(t *testing.T) {
	t.Parallel()
	var from time.Time
	out, ops, _ := triggered(t, "pause:n1@stall=300ms+1ms", whole, func(_ *Options, c *clockwork) {
		c.stopped = c.height() + 30
		from = c.begun.Add(time.Duration(c.stopped-1) * c.block)
	})
	if !reflect.DeepEqual(out, Outcome{Faults: 1}) {
		t.Fatalf("outcome %+v", out)
	}
	if len(requests(ops)) != 1 || time.Since(from) < 300*time.Millisecond {
		t.Errorf("%v after the last block", time.Since(from))
	}
}

func TestTriggerByMetric(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, "# TYPE lag gauge\nlag{peer=\"a\"} %d\nlag{peer=\"b\"} 1\n", 10*asked)
	}))
	t.Cleanup(server.Close)
	out, _, _ := triggered(t, "pause:n1@metric=n2:lag>45+1ms", whole, func(o *Options, _ *clockwork) {
		o.Net.Metrics = map[string][]string{"n2": {server.URL}}
	})
	if !reflect.DeepEqual(out, Outcome{Faults: 1}) || asked != 5 {
		t.Fatalf("outcome %+v after %d looks", out, asked)
	}
}

func TestTriggerByTime(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggeredUntil(t, "pause:n1@every=300ms+1ms,pause:n2@time=200ms+1ms", 3, time.Minute, nil)
	if out.Faults < 3 || out.NotInjected > 0 || out.WithoutEvidence > 0 {
		t.Fatalf("outcome %+v", out)
	}
	if first := requests(ops)[0]; nodesOf(first.Value)[0] != "n2" || first.Time < int64(200*time.Millisecond) {
		t.Errorf("first %s at %d", first.Value, first.Time)
	}
}

// TestTriggerThatNeverFires is said in the outcome and in the history.
func TestTriggerThatNeverFires(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggered(t, "pause:n1@height=1000000,pause:n2@height=2+1ms", 2*time.Second, nil)
	if out.Faults != 1 || out.NotInjected != 1 || len(out.Problems) != 1 ||
		!strings.Contains(out.Problems[0], "pause:n1@height=1000000 was not injected: its moment, height=1000000, did not come: the highest head was ") {
		t.Fatalf("outcome %+v", out)
	}
	last := ops[len(ops)-1]
	if last.F != notInjected || !strings.HasPrefix(last.Error.String(), `[:not-injected "its moment, height=1000000, did not come`) {
		t.Errorf("last op %+v", last)
	}
}

// TestFlipFlopBesideTriggers: a fault without a trigger takes its turns as ever.
func TestFlipFlopBesideTriggers(t *testing.T) {
	t.Parallel()
	out, ops, _ := triggered(t, "pause:n1,pause:n2@height=20+1ms", 2*time.Second, nil)
	count := map[string]int{}
	for _, op := range requests(ops) {
		count[nodesOf(op.Value)[0]]++
	}
	if out.WithoutEvidence+out.NotUndone+out.NotInjected > 0 || count["n2"] != 1 || count["n1"] < 2 {
		t.Fatalf("outcome %+v, %v", out, count)
	}
}

// TestReplay repeats a run with another seed for everything else.
func TestReplay(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 4)
	dir := t.TempDir()
	play := func(name string, prepare func(o Options) Options) ([]history.Op, *Schedule) {
		r := &rec{}
		o := options(t, n, "none", uint64(len(name)), r)
		chain := newClockwork(n.Nodes, 20*time.Millisecond)
		o.Net.Chain, o.Net.Proposers = chain, chain
		o.Schedule = filepath.Join(dir, name+".json")
		o = prepare(o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.seen = after(4, cancel)
		out, err := Run(ctx, o)
		if err != nil || out.WithoutEvidence+out.NotUndone+out.NotInjected > 0 {
			t.Fatalf("%s: outcome %+v, %v", name, out, err)
		}
		s, err := ReadSchedule(o.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		return requests(r.ops), s
	}
	first, s := play("first", func(o Options) Options {
		var err error
		if o.Faults, err = Parse("partition,pause,kill:proposer@height=20+2blocks", o.Net.reach()); err != nil {
			t.Fatal(err)
		}
		return o
	})
	if len(s.Faults) != len(first) || len(first) < 3 {
		t.Fatalf("%d faults in the schedule, %d requests", len(s.Faults), len(first))
	}
	// As many as surely fit into the same time again.
	s.Faults = s.Faults[:len(s.Faults)-1]
	second, again := play("second one", s.Replayed)
	if len(again.Faults) != len(s.Faults) || len(second) != len(s.Faults) {
		t.Fatalf("%d faults, then %d", len(s.Faults), len(again.Faults))
	}
	for i, was := range s.Faults {
		is := again.Faults[i]
		if is.Fault != was.Fault || is.Targets != was.Targets || is.Seed != was.Seed || is.At < was.At && was.Height == 0 {
			t.Errorf("fault %d: %+v\nthen %+v", i, was, is)
		}
		if first[i].F != second[i].F {
			t.Errorf("op %d: %s, then %s", i, first[i].F, second[i].F)
		}
	}
}

func TestReplayOfOtherTargets(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 4)
	r := &rec{}
	o := options(t, n, "pause", 1, r)
	s := newSchedule(o)
	s.Faults = []*Scheduled{{Fault: "partition:one", Targets: `{:grudge :one :cut {"n1" #{"n2"}}}`}}
	out, err := Run(t.Context(), s.Replayed(o))
	if err != nil || out.Faults != 1 || out.WithoutEvidence != 1 || !strings.Contains(out.Problems[0], "replay: the targets came out as") {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	s.Nodes = s.Nodes[:3]
	if _, err := Run(t.Context(), s.Replayed(o)); err == nil || !strings.Contains(err.Error(), "it is of 3 nodes") {
		t.Errorf("got %v", err)
	}
}

// TestScheduleCannotBeWritten: what cannot be recorded is an error of the run.
func TestScheduleCannotBeWritten(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 1)
	r := &rec{}
	o := options(t, n, "pause", 1, r)
	o.Schedule = filepath.Join(t.TempDir(), "no", "such", "directory")
	if _, err := Run(t.Context(), o); err == nil || len(r.ops) > 0 || errors.Is(err, context.Canceled) {
		t.Errorf("%v, %d ops", err, len(r.ops))
	}
}
