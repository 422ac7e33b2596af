package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// runHalting runs one fault once and stands still around its acts.
func runHalting(net Net, f Fault, ledger *Ledger, at func(step string)) {
	start := time.Now()
	out, err := Run(context.Background(), Options{
		Net: net, Faults: []Fault{halting{f, at}}, Interval: time.Millisecond,
		Rand: seeded(1), Ledger: ledger,
		Record: func(op history.Op) error {
			if _, measured := op.Value.Field("evidence"); measured && op.F == f.Stop() {
				at("after done")
			}
			return nil
		},
		Now: func() int64 { return int64(time.Since(start)) },
	})
	fmt.Println("never stood still:", out, err)
}

// parseDisk parses a fault with the reach of a network on disks.
func parseDisk(t *testing.T, text string) Fault {
	t.Helper()
	r := reach(2)
	r.Disks, r.Irreversible = true, true
	faults, err := Parse(text, r)
	if err != nil {
		t.Fatal(err)
	}
	return faults[0]
}

// life takes a fault through its life on n1, and returns the evidence.
func life(t *testing.T, n *diskNet, text string, inForce func()) (value, bites, undone history.Value) {
	t.Helper()
	f := parseDisk(t, text+":n1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	app, err := f.Plan(ctx, n.net(), seeded(3))
	if err != nil {
		t.Fatal(err)
	}
	if len(app.UndoSteps()) == 0 {
		t.Error("no steps for the ledger")
	}
	if err := app.Apply(ctx); err != nil {
		t.Fatal(err)
	}
	bites, err = app.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if inForce != nil {
		inForce()
	}
	for range 2 { // idempotent
		if err := app.Undo(ctx); err != nil {
			t.Fatal(err)
		}
	}
	undone, err = app.VerifyUndone(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("value %s\nbites %s\nundone %s", app.Value(), bites, undone)
	return app.Value(), bites, undone
}

func dig(t *testing.T, v history.Value, names ...string) history.Value {
	t.Helper()
	for _, name := range names {
		f, ok := v.Field(name)
		if !ok {
			for i, e := 0, v.Elems(); i+1 < len(e); i += 2 {
				if e[i].Text() == name {
					f, ok = e[i+1], true
				}
			}
		}
		if !ok {
			t.Fatalf("no %q in %s", name, v)
		}
		v = f
	}
	return v
}

func figure(t *testing.T, v history.Value, names ...string) float64 {
	t.Helper()
	v = dig(t, v, names...)
	if n, ok := v.Int(); ok {
		return float64(n)
	}
	f, ok := v.Float()
	if !ok {
		t.Fatalf("%v: %s is no number", names, v)
	}
	return f
}

// TestDiskFaults takes each fault of a disk through its life on one of two nodes.
// The victim sees it, or ends of it; the other goes on; afterwards both do.
func TestDiskFaults(t *testing.T) {
	for text, c := range map[string]struct {
		ends bool // the node ends of it
		seen func(t *testing.T, bites, undone history.Value)
	}{
		"disk-error:write:100%": {ends: true, seen: counted("failed-writes")},
		"disk-error:fsync:100%": {ends: true, seen: counted("failed-fsyncs")},
		"disk-error:read:100%":  {ends: true, seen: counted("failed-reads")},
		"disk-full:16KiB":       {ends: true, seen: counted("full")},
		"disk-readonly":         {ends: true, seen: counted("read-only")},
		"disk-flip:50%":         {},
		"disk-torn:50%":         {seen: counted("torn-writes")},
		"disk-fill:1MiB":        {ends: true, seen: func(t *testing.T, _, undone history.Value) { counted("refused")(t, undone, undone) }},
		"disk-slow:40ms": {seen: func(t *testing.T, bites, undone history.Value) {
			for _, mean := range []float64{figure(t, bites, "n1", "canary-mean-ms"), figure(t, undone, "n1", "mean-delay-ms")} {
				if mean < 40 || mean > 140 { // a busy machine adds its own
					t.Errorf("asked for 40 ms, measured %v", mean)
				}
			}
		}},
	} {
		t.Run(text, func(t *testing.T) {
			if text != "disk-slow:40ms" { // measures times
				t.Parallel()
			}
			n := diskNetFor(t, 2, true)
			victim, _ := n.Identity("n1")
			other, _ := n.Identity("n2")
			_, bites, undone := life(t, n, text, func() {
				if c.ends {
					wait(t, "the node to end", func() bool { return !devnet.Alive(victim) })
				} else {
					was := n.disks["n1"].Counters()
					wait(t, "the node to use its disk", func() bool { return n.disks["n1"].Counters().Sub(was).Writes > 3 })
				}
				if err := n.Ready(t.Context(), "n2"); err != nil {
					t.Error(err)
				}
			})
			if c.seen != nil {
				c.seen(t, bites, undone)
			}
			if ready, _ := dig(t, undone, "n1", "ready").Flag(); !ready && !strings.HasPrefix(text, "disk-torn") {
				t.Errorf("the node did not come back: %s", undone)
			}
			if now, _ := n.Identity("n2"); now != other {
				t.Error("the other node was restarted")
			}
		})
	}
}

func counted(name string) func(t *testing.T, _, undone history.Value) {
	return func(t *testing.T, _, undone history.Value) {
		if figure(t, undone, "n1", name) == 0 {
			t.Errorf("no %s: %s", name, undone)
		}
	}
}

func TestPower(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"power:clean", "power:50%"} {
		t.Run(text, func(t *testing.T) {
			n := diskNetFor(t, 2, true)
			before, err := n.records(t.Context(), "n1")
			if err != nil {
				t.Fatal(err)
			}
			value, bites, undone := life(t, n, text, func() {
				if entries, err := os.ReadDir(n.dirs["n1"]); err != nil || len(entries) > 0 {
					t.Errorf("the disk without power: %v, %v", entries, err)
				}
			})
			if figure(t, bites, "n1", "lost-bytes") == 0 {
				t.Errorf("nothing was lost: %s", bites)
			}
			if kept := figure(t, bites, "n1", "kept-sectors"); (kept > 0) != (text == "power:50%") {
				t.Errorf("kept sectors: %s", bites)
			}
			if ready, _ := dig(t, undone, "n1", "ready").Flag(); !ready {
				t.Errorf("the node did not come back: %s", undone)
			}
			if restarts, _ := dig(t, value, "restarts").Flag(); !restarts {
				t.Error("it does not say that it restarts")
			}
			if after, err := n.records(t.Context(), "n1"); err != nil || after < before {
				t.Errorf("%d records were durable, %d are there: %v", before, after, err)
			}
		})
	}
}

// TestHarm takes each irreversible fault through its life, on a disk of ours and
// in a plain directory. A node that refuses its data is a finding, not an error.
func TestHarm(t *testing.T) {
	for _, onDisks := range []bool{true, false} {
		for text, back := range map[string]bool{
			"file-flip:log":     false,
			"file-truncate:1B:": true,
			"file-delete:*log":  true,
			"wipe":              true,
			"rollback:1s":       true,
		} {
			text = strings.TrimSuffix(text, ":")
			if text == "file-flip:log" {
				text = "file-flip:db/l*"
			}
			t.Run(fmt.Sprintf("%s on disks %v", text, onDisks), func(t *testing.T) {
				t.Parallel()
				n := diskNetFor(t, 1, onDisks)
				wait(t, "records", func() bool {
					r, err := n.records(t.Context(), "n1")
					return err == nil && r > 20
				})
				before, err := n.records(t.Context(), "n1")
				if err != nil {
					t.Fatal(err)
				}
				_, _, undone := life(t, n, text, nil)
				if ready, _ := dig(t, undone, "n1", "ready").Flag(); ready != back {
					t.Errorf("ready is %v: %s", ready, undone)
				}
				if !back {
					if f := dig(t, undone, "n1", "finding").Text(); !strings.Contains(f, "its process ended") {
						t.Errorf("finding: %q", f)
					}
					return
				}
				if text == "wipe" {
					if after, err := n.records(t.Context(), "n1"); err != nil || after >= before+1000 {
						t.Errorf("%d records after the wipe of %d: %v", after, before, err)
					}
				}
				left, err := filepath.Glob(filepath.Join(filepath.Dir(n.dirs["n1"]), ".jepgo*"))
				if err != nil || len(left) > 0 {
					t.Errorf("left: %v, %v", left, err)
				}
			})
		}
	}
}

func TestDiskFaultsPossible(t *testing.T) {
	r := reach(4)
	for text, want := range map[string]string{
		"disk-slow":          `nemesis "disk-slow": the data directories of this network's nodes are not on disks of jepgo's, as only those of the embedded devnet are: leave out --devnet FILE`,
		"power":              `nemesis "power": the data directories of this network's nodes are not on disks of jepgo's, as only those of the embedded devnet are: leave out --devnet FILE`,
		"wipe":               `nemesis "wipe": destroys data that no undo brings back: on a network of jepgo's own, say --allow-irreversible`,
		"power:clean:50%":    `nemesis "power:50%:clean": expected a share of sectors that survive, or clean`,
		"disk-slow:1h":       `nemesis "disk-slow:1h": "1h": expected a latency such as 50ms, from 1ms to 5s`,
		"disk-error:5%:read": `nemesis "disk-error:read:5%": the data directories of this network's nodes are not on disks of jepgo's, as only those of the embedded devnet are: leave out --devnet FILE`,
	} {
		if _, err := Parse(text, r); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
	}
	r.Irreversible = true
	if _, err := Parse("wipe,rollback:3s,file-flip:*.log:one", r); err != nil {
		t.Error(err)
	}
	if disk.Probe() != nil {
		return
	}
	r.Disks, r.Irreversible = true, false
	if _, err := Parse("disk-torn", r); err == nil || !strings.Contains(err.Error(), "--allow-irreversible") {
		t.Errorf("disk-torn: %v", err)
	}
	faults, err := Parse("all", r)
	if err != nil {
		t.Fatal(err)
	}
	if !NeedsOf(faults).Disks {
		t.Error("all needs no disks")
	}
	for _, f := range faults {
		for _, bad := range []string{"wipe", "rollback", "file-", "disk-torn"} {
			if strings.HasPrefix(f.Name(), bad) {
				t.Errorf("all has %s", f.Name())
			}
		}
	}
}

// disksBelow finds only what is left below dir: beside this test others leave
// things on this machine, and look for them.
func disksBelow(dir string) Mechanism {
	m := diskMechanism()
	all := m.Leftovers
	m.Leftovers = func() ([]Leftover, error) {
		left, err := all()
		return slices.DeleteFunc(left, func(l Leftover) bool { return !strings.Contains(l.What, dir) }), err
	}
	return m
}

// TestDiskOwnerKilled kills the owner of nodes and disks at the steps of every
// fault that leaves something, and Heal leaves nothing.
func TestDiskOwnerKilled(t *testing.T) {
	if err := disk.Probe(); err != nil {
		t.Skipf("SKIPPED, NOTHING WAS TESTED: %v", err)
	}
	for fault, at := range map[string]func(string) bool{
		"disk-fill:1MiB:all": every, "rollback:1s:all": every, // they leave files
		"disk-slow:20ms:all": turning, "power:all": turning, // the disk is the owner's
	} {
		for i, step := range ownerSteps() {
			if !*everyStep && !at(step) {
				continue
			}
			t.Run(fault+" "+step, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				args := ownerArgs{Ledger: filepath.Join(dir, LedgerName), Fault: fault, Step: step}
				_, owner := standStillAs(t, "disk-owner", args)
				self, err := devnet.Lookup(owner.Process.Pid)
				if err != nil {
					t.Fatal(err)
				}
				owner.Process.Kill()
				wait(t, "the owner to die", func() bool { return !devnet.Alive(self) })
				report, err := Heal(t.Context(), dir)
				if err != nil {
					t.Fatal(err, report)
				}
				pending := 0 < i && i < len(ownerSteps())-1
				if got := len(report.Actions) > 0; got != pending {
					t.Errorf("actions: %v", report.Actions)
				}
				if _, err := sweep(t.Context(), []Mechanism{disksBelow(dir)}); err != nil {
					t.Error(err)
				}
				if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
					t.Errorf("mounts are left: %v", err)
				}
				err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
					if strings.HasPrefix(filepath.Base(path), ".jepgo-") {
						t.Errorf("left: %s", path)
					}
					return err
				})
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
				if again, err := Heal(t.Context(), dir); err != nil || len(again.Actions) > 0 {
					t.Errorf("second heal: %v, %v", again.Actions, err)
				}
			})
		}
	}
}
