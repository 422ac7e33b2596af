package nemesis

import (
	"context"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// toy is a Link that lies as the test wants.
type toy struct {
	link.Link
	cut  func(link.Edge) error
	heal func(link.Edge) error
}

func (l toy) Cut(e link.Edge) error {
	if l.cut != nil {
		return l.cut(e)
	}
	return l.Link.Cut(e)
}

func (l toy) Heal(e link.Edge) error {
	if l.heal != nil {
		return l.heal(e)
	}
	return l.Link.Heal(e)
}

func TestPartitionThatDoesNotBite(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 2)
	for name, want := range map[string]string{
		"leaks":  "while cut",
		"errors": "planned by the test",
	} {
		t.Run(name, func(t *testing.T) {
			n := n
			n.Links = toy{Link: proxy, cut: func(link.Edge) error {
				if name == "errors" {
					return errPlanned
				}
				return nil
			}}
			r := &rec{}
			out, err := once(t, options(t, n, "partition:halves", 1, r), r)
			if err != nil || out.Faults != 1 || out.WithoutEvidence != 1 || out.NotUndone != 0 || len(out.Problems) != 1 {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			if e := r.ops[1].Error.String(); !strings.HasPrefix(e, "[:no-evidence ") || !strings.Contains(e, want) {
				t.Errorf("error %s", e)
			}
			if _, ok := r.ops[1].Value.Field("evidence"); ok {
				t.Errorf("evidence beside an error: %s", r.ops[1].Value)
			}
		})
	}
}

// TestPartitionOfTheSilent: a cut between nodes that say nothing proves nothing.
func TestPartitionOfTheSilent(t *testing.T) {
	t.Parallel()
	proxy, err := link.NewProxy(link.Options{Nodes: nodeNames(3)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	r := &rec{}
	o := options(t, Net{Nodes: nodeNames(3), Links: proxy}, "partition", 1, r)
	o.ProbeTimeout = 100 * time.Millisecond
	out, err := once(t, o, r)
	if err != nil || out.WithoutEvidence != 1 || out.NotUndone != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if e := r.ops[1].Error.String(); !strings.Contains(e, "no bytes dropped") {
		t.Errorf("error %s", e)
	}
}

func TestUndoThatFails(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 2)
	t.Run("once", func(t *testing.T) {
		n := n
		calls := 0
		n.Links = toy{Link: proxy, heal: func(e link.Edge) error {
			if calls++; calls == 1 {
				return errPlanned
			}
			return proxy.Heal(e)
		}}
		r := &rec{}
		o := options(t, n, "partition", 1, r)
		out, err := once(t, o, r)
		if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) || len(o.Ledger.Pending()) != 0 {
			t.Fatalf("outcome %+v, %v, pending %v", out, err, o.Ledger.Pending())
		}
	})
	t.Run("always", func(t *testing.T) {
		n := n
		n.Links = toy{Link: proxy, heal: func(link.Edge) error { return errPlanned }}
		r := &rec{}
		o := options(t, n, "partition", 1, r)
		out, err := Run(t.Context(), o) // ends by itself: nothing more is applied
		if err != nil || out.Faults != 1 || out.NotUndone != 1 || out.WithoutEvidence != 0 {
			t.Fatalf("outcome %+v, %v", out, err)
		}
		if e := r.ops[3].Error.String(); !strings.HasPrefix(e, "[:not-undone ") {
			t.Errorf("error %s", e)
		}
		if len(o.Ledger.Pending()) != 1 {
			t.Errorf("pending %v", o.Ledger.Pending())
		}
		if row := string(Timeline(r.ops)); !strings.Contains(row, ":end {:requested") || !strings.Contains(row, ":error [:not-undone") {
			t.Errorf("timeline %s", row)
		}
	})
}

func TestKillThatStartsAtTheSecondTry(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 2)
	c.mu.Lock()
	c.startErrors, c.starts = []error{errPlanned}, 0
	c.mu.Unlock()
	r := &rec{}
	out, err := once(t, options(t, n, "kill:one", 1, r), r)
	if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) || c.starts != 2 {
		t.Fatalf("outcome %+v, %v, %d starts", out, err, c.starts)
	}
}

// TestPauseOfOneThatDies: a process that is killed while it is stopped has
// nothing left to undo, and its successor is not touched.
func TestPauseOfOneThatDies(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	was, _ := c.Identity("n1")
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == pauseStart && measured(op) {
			if stateOf(t, was) != stopped {
				t.Error("not stopped while the pause is in force")
			}
			if err := devnet.Signal(was, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			wait(t, "n1 to end", func() bool { _, ok := c.Identity("n1"); return !ok })
			if _, err := c.Start(t.Context(), "n1"); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	o := options(t, n, "pause:all", 1, r)
	out, err := once(t, o, r)
	if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) || len(o.Ledger.Pending()) != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if e, _ := r.ops[3].Value.Field("evidence"); !strings.Contains(e.String(), ":gone true") {
		t.Errorf("evidence %s", e)
	}
}

// TestKillOfOneThatIsGone: what somebody else did is no evidence.
func TestKillOfOneThatIsGone(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	was, _ := c.Identity("n1")
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == killStart && !measured(op) { // planned, not applied
			if err := devnet.Signal(was, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			wait(t, "n1 to end", func() bool { return !devnet.Alive(was) })
		}
		return nil
	}
	out, err := once(t, options(t, n, "kill", 1, r), r)
	if err != nil || out.WithoutEvidence != 1 || out.NotUndone != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if up := running(n); len(up) != 1 || up[0].id == was {
		t.Errorf("running: %v", up)
	}
}

// TestHealedButSilent: links that are whole but carry nothing are not undone.
func TestHealedButSilent(t *testing.T) {
	t.Parallel()
	n, _, proxy := testNet(t, 2)
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == partitionStart && measured(op) {
			proxy.Close()
		}
		return nil
	}
	o := options(t, n, "partition", 1, r)
	o.UndoTimeout = 600 * time.Millisecond
	out, err := once(t, o, r)
	if err != nil || out.NotUndone != 1 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if e := r.ops[3].Error.String(); !strings.Contains(e, "no bytes flow") {
		t.Errorf("error %s", e)
	}
}

// TestHealBesideADeadNode: silence of a node that does not run is no remnant of
// the cut.
func TestHealBesideADeadNode(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"dead": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			n, c, _ := testNet(t, 3)
			r := &rec{}
			r.seen = func(op history.Op) error {
				if op.F == partitionStart && measured(op) {
					id, _ := c.Identity("n2")
					if err := devnet.Signal(id, sig); err != nil {
						t.Error(err)
					}
					wait(t, "n2 to be "+name, func() bool {
						state, _, err := devnet.State(id)
						return !devnet.Alive(id) || err == nil && state == stopped
					})
				}
				return nil
			}
			out, err := once(t, options(t, n, "partition:one", 1, r), r)
			if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) {
				t.Fatalf("outcome %+v, %v", out, err)
			}
		})
	}
}

// TestProbesDoubt holds each proof against a network to which nothing was done.
func TestProbesDoubt(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 2)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for _, e := range []Entry{partitionEntry(), killEntry(), pauseEntry()} {
		spec := e.Name
		if spec == "partition" {
			spec += ":halves" // it does not move
		}
		app, err := parsed(t, spec)[0].Plan(t.Context(), n, seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == "partition" {
			app.(*cut).cutAt = app.(*cut).counters()
		}
		if v, err := app.Probe(short()); err == nil {
			t.Errorf("%s was not applied, but there is evidence: %s", e.Name, v)
		}
		if err := app.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := app.Probe(t.Context()); err != nil || v.IsNil() {
			t.Errorf("%s: %s, %v", e.Name, v, err)
		}
		if e.Name != "kill" { // VerifyUndone of kill follows from Undo's new incarnation
			if v, err := app.VerifyUndone(short()); err == nil {
				t.Errorf("%s was not undone, but there is evidence: %s", e.Name, v)
			}
		}
		for range 2 { // idempotent
			if err := app.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := app.VerifyUndone(t.Context()); err != nil || v.IsNil() {
			t.Errorf("%s: %s, %v", e.Name, v, err)
		}
	}
}

// TestTakenOff: what somebody else took off before its time was not in force to the
// end, and a target that has ended is no reason to doubt.
func TestTakenOff(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct {
		do   func(t *testing.T, app Application) error
		says string
	}{
		"partition:halves": {func(_ *testing.T, app Application) error { return app.Undo(t.Context()) }, "not cut to the end"},
		"pause:all": {func(_ *testing.T, app Application) error {
			return devnet.Signal(app.(*pausing).victims[0].id, syscall.SIGCONT)
		}, "somebody let it go on"},
		"burn:all:20%": {func(t *testing.T, app Application) error {
			helper := app.(*burning).fires[0].helper
			err := devnet.Signal(helper.Process, syscall.SIGKILL)
			wait(t, "the burner to end", func() bool { return !helper.Alive() })
			return err
		}, "ended before its time"},
		"clock-bump:all:+10s": {func(_ *testing.T, app Application) error {
			return clock.Restore(app.(*skewing).victims[0].id)
		}, "asked was 10s"},
		"throttle:all:20%": {func(_ *testing.T, app Application) error {
			return app.(*throttling).groups[0].Lift(t.Context())
		}, "control group"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n, _, _ := testNetThat(t, 2, &children{does: "tick"})
			f := parsed(t, fault)[0]
			if err := f.Possible(n.reach()); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			app, err := f.Plan(t.Context(), n, seeded(7)) // marks of helpers follow from it
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(fault, "partition") || strings.HasPrefix(fault, "pause") {
				if _, err := app.Probe(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := app.(Standing).Stands(); err != nil {
				t.Errorf("in force, and doubted: %v", err)
			}
			if err := c.do(t, app); err != nil {
				t.Fatal(err)
			}
			if err := app.(Standing).Stands(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("taken off, and said: %v", err)
			}
			if err := app.Undo(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := app.VerifyUndone(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPauseThatSomebodyEnds is told as one without evidence, and undone.
func TestPauseThatSomebodyEnds(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	r := &rec{}
	r.seen = func(op history.Op) error {
		if op.F == pauseStart && measured(op) {
			id, _ := c.Identity("n1")
			return devnet.Signal(id, syscall.SIGCONT)
		}
		return nil
	}
	out, err := once(t, options(t, n, "pause:all", 1, r), r)
	if err != nil || out.WithoutEvidence != 1 || out.NotUndone != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if e := r.ops[3].Error.String(); !strings.HasPrefix(e, "[:lapsed ") || !strings.Contains(e, "somebody let it go on") {
		t.Errorf("error %s", e)
	}
}

// TestDiskThatSomebodyTakes: the fault fell with the disk, and on what lies under it
// no node is started, as one that had never been would be.
func TestDiskThatSomebodyTakes(t *testing.T) {
	n := diskNetFor(t, 2, true)
	f := parseDisk(t, "disk-slow:n1")
	app, err := f.Plan(t.Context(), n.net(), seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := app.(Standing).Stands(); err != nil {
		t.Errorf("in force, and doubted: %v", err)
	}
	if err := syscall.Unmount(n.disks["n1"].Dir(), syscall.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"stands": app.(Standing).Stands(), "undone": app.Undo(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "somebody unmounted it") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
