package nemesis

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// oneFault runs one fault of that name through its life, lets the test look while
// it is in force, and returns the two evidences.
func oneFault(t *testing.T, n Net, fault string, inForce func()) (bites, undone history.Value) {
	t.Helper()
	possibleHere(t, fault)
	r := &rec{}
	o := options(t, n, fault, 1, r)
	start := o.Faults[0].Start()
	r.seen = func(op history.Op) error {
		if op.F == start && measured(op) && inForce != nil {
			inForce()
		}
		return nil
	}
	out, err := once(t, o, r)
	if err != nil || !reflect.DeepEqual(out, Outcome{Faults: 1}) || len(o.Ledger.Pending()) != 0 {
		t.Fatalf("outcome %+v, %v, pending %v", out, err, o.Ledger.Pending())
	}
	bites, _ = r.ops[1].Value.Field("evidence")
	undone, _ = r.ops[3].Value.Field("evidence")
	t.Logf("bites: %s", bites)
	t.Logf("undone: %s", undone)
	return bites, undone
}

func TestKillBySignal(t *testing.T) {
	t.Parallel()
	for name, exit := range map[string]string{
		"SIGTERM": "signal: terminated", "SIGSEGV": "exit status 2", "SIGABRT": "exit status 2", "SIGKILL": "signal: killed",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, c, _ := testNetThat(t, 1, &children{does: "silence"})
			was, _ := c.Identity("n1")
			bites, _ := oneFault(t, n, "kill:all:"+name, func() {
				if devnet.Alive(was) {
					t.Error("lives on")
				}
			})
			if !strings.Contains(bites.String(), ":gone true") || !strings.Contains(bites.String(), fmt.Sprintf(":exit %q", exit)) {
				t.Errorf("evidence %s", bites)
			}
			if now, up := c.Identity("n1"); !up || now == was {
				t.Errorf("runs as %s, %v", now, up)
			}
		})
	}
}

// TestDeafToSignals: what a node ignores is no evidence, and does not stay.
func TestDeafToSignals(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"kill:all:SIGTERM", "stop:all:200ms"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n, c, _ := testNetThat(t, 1, &children{does: "deaf"})
			was, _ := c.Identity("n1")
			r := &rec{}
			o := options(t, n, fault, 1, r)
			o.ProbeTimeout = 300e6
			out, err := once(t, o, r)
			if err != nil || out.WithoutEvidence != 1 || out.NotUndone != 0 || len(o.Ledger.Pending()) != 0 {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			if e := r.ops[1].Error.String(); !strings.Contains(e, "still runs after SIGTERM") {
				t.Errorf("error %s", e)
			}
			if e, _ := r.ops[3].Value.Field("evidence"); !strings.Contains(e.String(), ":forced true") {
				t.Errorf("evidence %s", e)
			}
			if now, up := c.Identity("n1"); !up || now == was {
				t.Errorf("runs as %s, %v", now, up)
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 2)
	was, _ := c.Identity("n2")
	bites, undone := oneFault(t, n, "stop:n2", func() {
		if devnet.Alive(was) {
			t.Error("n2 runs")
		}
	})
	for _, want := range []string{":gone true", ":took-ms ", `:exit "signal: terminated"`} {
		if !strings.Contains(bites.String(), want) {
			t.Errorf("%s is not in %s", want, bites)
		}
	}
	if strings.Contains(undone.String(), "forced") {
		t.Errorf("evidence %s", undone)
	}
	if now, up := c.Identity("n2"); !up || now == was {
		t.Errorf("runs as %s, %v", now, up)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	for _, order := range []string{atOnce, rolling} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			n, c, _ := testNet(t, 3)
			was := running(n)
			var least int
			c.mu.Lock()
			c.started = func(string, devnet.Identity) { // called with the lock held
				up := 0
				for _, node := range c.nodes {
					if devnet.Alive(node.id) {
						up++
					}
				}
				if least == 0 || up < least {
					least = up
				}
			}
			c.mu.Unlock()
			oneFault(t, n, "restart:"+order, nil)
			for i, now := range running(n) {
				if now.id == was[i].id {
					t.Errorf("%s was not restarted", now)
				}
			}
			// At the first start of all at once nobody else runs; a rolling one leaves two.
			if want := map[string]int{atOnce: 1, rolling: 3}[order]; least != want {
				t.Errorf("at the least %d nodes ran, expected %d", least, want)
			}
		})
	}
}

func TestStorm(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 2, &children{does: "tick"})
	c.mu.Lock()
	c.startErrors = []error{errPlanned} // as when a port is still taken
	c.mu.Unlock()
	bites, undone := oneFault(t, n, "storm:n1:40ms", nil)
	if !strings.Contains(bites.String(), `"n1" {:kills `) {
		t.Errorf("evidence %s", bites)
	}
	if !strings.Contains(undone.String(), ":failed-starts 1") {
		t.Errorf("evidence %s", undone)
	}
	c.mu.Lock()
	starts := c.starts
	c.mu.Unlock()
	id, _ := c.Identity("n1")
	untouched(t, id)
	if _, kills := id, undone; !strings.Contains(kills.String(), fmt.Sprintf(":pid %d", id.PID)) {
		t.Errorf("runs as %s, evidence %s", id, undone)
	}
	// Nobody kills any more: a goroutine that went on would within 40 ms.
	wait(t, "quiet", func() bool { _, _, err := devnet.State(id); return err == nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts != starts {
		t.Errorf("%d starts after the undo", c.starts-starts)
	}
}

// TestUndoOfStopFailsOnce: what is in the way at the first try may go away.
func TestUndoOfStopFailsOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"stop:all", "restart:all", "kill:all:SIGTERM"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n, c, _ := testNet(t, 1)
			c.mu.Lock()
			c.startErrors, c.starts = []error{errPlanned}, 0
			c.mu.Unlock()
			r := &rec{}
			o := options(t, n, fault, 1, r)
			out, err := once(t, o, r)
			// A restart that failed to start shows nothing; the node runs all the same.
			if err != nil || out.NotUndone != 0 || len(o.Ledger.Pending()) != 0 {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			if up := running(n); len(up) != 1 {
				t.Errorf("running: %v", up)
			}
		})
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 1, &children{does: "burn"})
	id, _ := c.Identity("n1")
	bites, _ := oneFault(t, n, "throttle:5%", func() {
		if inGroups(t, id) == "" {
			t.Error("in no control group")
		}
	})
	if !strings.Contains(bites.String(), ":throttled ") {
		t.Errorf("evidence %s", bites)
	}
	untouched(t, id)
}

// TestThrottleOfTheIdle: a quota that nobody needs is no evidence.
func TestThrottleOfTheIdle(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	possibleHere(t, "throttle:90%")
	id, _ := c.Identity("n1")
	r := &rec{}
	o := options(t, n, "throttle:90%", 1, r)
	o.ProbeTimeout = 500e6
	out, err := once(t, o, r)
	if err != nil || out.WithoutEvidence != 1 || out.NotUndone != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if e := r.ops[1].Error.String(); !strings.Contains(e, "made to wait in 0 periods") {
		t.Errorf("error %s", e)
	}
	if in := inGroups(t, id); in != "" {
		t.Errorf("is in %s", in)
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 1, &children{does: "burn"})
	id, _ := c.Identity("n1")
	oneFault(t, n, "pause:freeze", func() {
		_, was, _ := devnet.State(id)
		_, now, err := devnet.State(id)
		if err != nil || was != now {
			t.Errorf("used %d ticks while frozen, %v", now-was, err)
		}
	})
	untouched(t, id)
}

// TestGroupFaultsOnOneThatDies: the group goes, and the successor is not touched.
func TestGroupFaultsOnOneThatDies(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"pause:freeze", "throttle:5%"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n, c, _ := testNetThat(t, 1, &children{does: "burn"})
			was, _ := c.Identity("n1")
			_, undone := oneFault(t, n, fault, func() {
				if err := devnet.Signal(was, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				wait(t, "n1 to end", func() bool { _, ok := c.Identity("n1"); return !ok })
				if _, err := c.Start(t.Context(), "n1"); err != nil {
					t.Error(err)
				}
			})
			if !strings.Contains(undone.String(), ":gone true") {
				t.Errorf("evidence %s", undone)
			}
			id, _ := c.Identity("n1")
			untouched(t, id)
		})
	}
}

// TestTwoFaultsOnOneNode takes them back in both orders: the first must not take
// the other with it.
func TestTwoFaultsOnOneNode(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			possibleHere(t, "throttle:5%,pause:freeze")
			t.Parallel()
			n, c, _ := testNetThat(t, 1, &children{does: "burn"})
			id, _ := c.Identity("n1")
			ctx := t.Context()
			var apps []Application
			for _, f := range parsed(t, "throttle:5%,pause:freeze") {
				app, err := f.Plan(ctx, n, seeded(1))
				if err != nil {
					t.Fatal(err)
				}
				if err := app.Apply(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := app.Probe(ctx); err != nil {
					t.Fatal(err)
				}
				apps = append(apps, app)
			}
			again, err := parsed(t, "throttle:7%")[0].Plan(ctx, n, seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Apply(ctx); err == nil || !strings.Contains(err.Error(), "another fault is in force") {
				t.Errorf("a second throttle: %v", err)
			}
			for k, i := range order {
				if err := apps[i].Undo(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := apps[i].VerifyUndone(ctx); err != nil && k == 1 {
					t.Fatal(err)
				}
				if k == 0 && inGroups(t, id) == "" {
					t.Error("the undo of the first took the other with it")
				}
			}
			untouched(t, id)
		})
	}
}

// silent is a node that runs and never says that it is ready.
type silent struct{ *children }

func (silent) Ready(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestReadyOfOneThatEnds: nobody waits for a node whose process has ended.
func TestReadyOfOneThatEnds(t *testing.T) {
	t.Parallel()
	n, c, _ := testNet(t, 1)
	n.Processes = silent{c}
	id, _ := c.Identity("n1")
	l := newLives(n, running(n))
	l.fresh[0] = id
	if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ready(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not ready after its start: its process ended") {
		t.Errorf("got %v", err)
	}
}
