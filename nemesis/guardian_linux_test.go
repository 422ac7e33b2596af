package nemesis

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// TestGuardianHealsAfterOwnerKilled: nobody calls heal here.
func TestGuardianHealsAfterOwnerKilled(t *testing.T) {
	for _, step := range ownerSteps() {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			victim, owner := standStill(t, ownerArgs{
				Ledger: filepath.Join(dir, LedgerName), Fault: "pause:all", Step: step, Target: loner(t), Guard: true,
			})
			if step == "after probe" {
				wait(t, "the target to stop", func() bool { return stateOf(t, victim) == stopped })
			}
			owner.Process.Kill()
			wait(t, "an empty ledger and a target that runs", func() bool {
				left, err := ReadPending(dir)
				return err == nil && len(left) == 0 && stateOf(t, victim) != stopped
			})
			if !devnet.Alive(victim) {
				t.Error("the target did not survive")
			}
		})
	}
}

// TestGuardianOfOneThatStandsStill: the owner lives, so its ledger stays as it is.
func TestGuardianOfOneThatStandsStill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledger := filepath.Join(dir, LedgerName)
	victim, _ := standStill(t, ownerArgs{Ledger: ledger, Fault: "pause:all", Step: "after probe", Target: loner(t)})
	lapse(t.Context(), ledger, slog.New(slog.DiscardHandler))
	if state := stateOf(t, victim); state == stopped {
		t.Errorf("state %c", state)
	}
	if left, err := ReadPending(dir); err != nil || len(left) != 1 {
		t.Errorf("on the ledger: %v, %v", left, err)
	}
	var alive *OwnerError
	if _, err := Heal(t.Context(), dir); !errors.As(err, &alive) {
		t.Errorf("heal: %v", err)
	}
}

func TestGuardianEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), LedgerName)
	ledger, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	begun := time.Now()
	g, err := StartGuardian(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.Lapsed(begun) != nil {
		t.Error("lapsed at once")
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if log, err := os.ReadFile(filepath.Join(filepath.Dir(path), GuardianLog)); err != nil || len(log) > 0 {
		t.Errorf("log %q, %v", log, err)
	}
}

// TestGuardianDies: the owner says so at once, and not when it is asked.
func TestGuardianDies(t *testing.T) {
	path := filepath.Join(t.TempDir(), LedgerName)
	ledger, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	said, says := io.Pipe()
	defer said.Close()
	g, err := StartGuardian(path, slog.New(slog.NewTextHandler(says, nil)))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	guardian, err := os.FindProcess(g.pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := guardian.Kill(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "guardian ended before its time") || !strings.Contains(line, "signal: killed") {
		t.Errorf("it said %q, %v", line, err)
	}
	wait(t, "what was in force to have lapsed", func() bool { return g.Lapsed(begun) != nil })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestLapsedIsAboutItsTime: a standstill before a fault says nothing of it.
func TestLapsedIsAboutItsTime(t *testing.T) {
	ended := make(chan struct{})
	g := &Guardian{ended: ended}
	woke := time.Now()
	g.awake.Store(woke.UnixNano())
	if g.Lapsed(woke.Add(-time.Second)) == nil || g.Lapsed(woke.Add(time.Second)) != nil {
		t.Error("a standstill counts for what began before it, and for nothing else")
	}
	close(ended)
	if g.Lapsed(woke.Add(time.Second)) == nil {
		t.Error("without a guardian everything has lapsed")
	}
}
