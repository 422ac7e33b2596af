package nemesis

import (
	"strings"
	"syscall"
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/load"
	"github.com/jepgo/jepgo/history"
)

// aboutN1 reads one number of the evidence about n1.
func aboutN1(t *testing.T, evidence history.Value, key string) int64 {
	t.Helper()
	for i, e := range evidence.Elems() {
		if e.Text() == "n1" {
			if n, ok := field(evidence.Elems()[i+1], key); ok {
				return n
			}
		}
	}
	t.Fatalf("no %s of n1 in %s", key, evidence)
	return 0
}

func TestBurn(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 1, &children{does: "tick"})
	id, _ := c.Identity("n1")
	waited, err := load.Waited(id)
	if err != nil {
		t.Fatal(err)
	}
	bites, _ := oneFault(t, n, "burn:50%", nil)
	now, err := load.Waited(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("n1 waited %v for a core", now-waited)
	if aboutN1(t, bites, "window-ms") < burnWindow.Milliseconds() || aboutN1(t, bites, "cores") == 0 {
		t.Errorf("evidence %s", bites)
	}
	untouched(t, id)
}

// TestBurnerEndsEarly: somebody else ends the burner.
func TestBurnerEndsEarly(t *testing.T) {
	t.Parallel()
	n, _, _ := testNet(t, 1)
	ctx := t.Context()
	app, err := parsed(t, "burn:20%")[0].Plan(ctx, n, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Undo(ctx); err != nil { // never applied
		t.Fatal(err)
	}
	if err := app.Apply(ctx); err != nil {
		t.Fatal(err)
	}
	burner := app.(*burning).fires[0].helper
	if err := devnet.Signal(burner.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "the burner to end", func() bool { return !burner.Alive() })
	if _, err := app.Probe(ctx); err == nil || !strings.Contains(err.Error(), "burner") {
		t.Errorf("a burner that has ended bites: %v", err)
	}
	for range 2 {
		if err := app.Undo(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := app.VerifyUndone(ctx); err != nil || !strings.Contains(v.String(), ":ended-early true") {
		t.Errorf("evidence %s, %v", v, err)
	}
}

func TestMemoryCap(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 1, &children{does: "grow"})
	was, _ := c.Identity("n1")
	bites, _ := oneFault(t, n, "memory-cap:n1", func() {
		wait(t, "n1 to end", func() bool { return !devnet.Alive(was) }) // the kernel counts the kill before
	})
	if aboutN1(t, bites, "oom-kills") != 1 {
		t.Errorf("evidence %s", bites)
	}
	if now, up := c.Identity("n1"); !up || now == was || inGroups(t, now) != "" {
		t.Errorf("runs as %s, %v", now, up)
	}
}

// TestMemoryCapOfOneThatIsKilled: another death is no evidence.
func TestMemoryCapOfOneThatIsKilled(t *testing.T) {
	possibleHere(t, "memory-cap:n1")
	t.Parallel()
	n, c, _ := testNet(t, 1)
	ctx := t.Context()
	app, err := parsed(t, "memory-cap:n1")[0].Plan(ctx, n, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Apply(ctx); err != nil {
		t.Fatal(err)
	}
	id, _ := c.Identity("n1")
	if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "n1 to end", func() bool { return !devnet.Alive(id) })
	if _, err := app.Probe(ctx); err == nil || !strings.Contains(err.Error(), "not by the OOM killer") {
		t.Errorf("got %v", err)
	}
	if err := app.Undo(ctx); err != nil {
		t.Fatal(err)
	}
	if v, err := app.VerifyUndone(ctx); err != nil {
		t.Errorf("evidence %s, %v", v, err)
	}
}

func TestMemoryPressure(t *testing.T) {
	t.Parallel()
	n, c, _ := testNetThat(t, 1, &children{does: "store"})
	id, _ := c.Identity("n1")
	bites, _ := oneFault(t, n, "memory-pressure:20%", func() {
		if inGroups(t, id) == "" {
			t.Error("in no control group")
		}
	})
	if aboutN1(t, bites, "hits") == 0 {
		t.Errorf("evidence %s", bites)
	}
	untouched(t, id)
}

func TestIOThrottle(t *testing.T) {
	// Alone: a disk that others keep busy shows no limit.
	n, c, _ := testNetThat(t, 1, &children{does: "store"})
	id, _ := c.Identity("n1")
	bites, _ := oneFault(t, n, "io-throttle:512KiB", nil)
	if seen := aboutN1(t, bites, "rate-seen-bytes"); seen > 512<<10*13/10 {
		t.Errorf("evidence %s", bites)
	}
	untouched(t, id)
}
