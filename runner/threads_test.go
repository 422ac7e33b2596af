package runner

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/workloads"
)

// script is a thread whose outcomes are written down beforehand.
type script struct {
	outcomes []history.Type
	crashes  int
	endless  bool
	node     string
}

func (s *script) Interval() time.Duration { return 0 }

func (s *script) Next() (history.Op, bool) {
	return history.Op{F: "write", Value: history.Int(1), Node: s.node}, s.endless || len(s.outcomes) > 0
}

func (s *script) Invoke(_ context.Context, op history.Op) history.Op {
	done := history.Op{Type: history.OK, Value: op.Value}
	if len(s.outcomes) > 0 {
		done.Type = s.outcomes[0]
		s.outcomes = s.outcomes[1:]
	}
	return done
}

func (s *script) Crash() error {
	s.crashes++
	if s.crashes > 2 {
		return errors.New("no account is left")
	}
	return nil
}

func newCrew(t *testing.T) (*crew, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.edn")
	rec, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return &crew{journal: &journal{rec, newMeter()}, limit: rate.NewLimiter(rate.Inf, 1), log: slog.New(slog.DiscardHandler)}, path
}

func read(t *testing.T, c *crew, path string) *history.History {
	t.Helper()
	if err := c.journal.rec.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestCrashedProcessIsNeverUsedAgain holds the rule that soundness rests on.
func TestCrashedProcessIsNeverUsedAgain(t *testing.T) {
	c, path := newCrew(t)
	threads := []workloads.Thread{
		&script{outcomes: []history.Type{history.OK, history.Info, history.Fail, history.Info, history.OK}, node: "n1"},
		&script{outcomes: []history.Type{history.OK, 0, history.OK}, node: "n2"}, // 0: an outcome that is not stated
	}
	if err := c.drive(t.Context(), t.Context(), threads); err != nil {
		t.Fatal(err)
	}
	if err := c.drive(t.Context(), t.Context(), []workloads.Thread{&script{outcomes: []history.Type{history.OK}}}); err != nil {
		t.Fatal(err)
	}
	h := read(t, c, path)
	if want := 2 * (5 + 3 + 1); len(h.Ops) != want {
		t.Fatalf("%d ops, want %d", len(h.Ops), want)
	}
	crashed := map[history.Process]bool{}
	byNode := map[string][]int64{}
	for _, op := range h.Ops {
		if crashed[op.Process] {
			t.Errorf("op %d: process %s had crashed", op.Index, op.Process)
		}
		if op.Type == history.Info {
			crashed[op.Process] = true
		}
		n, _ := op.Process.Client()
		if op.Type == history.Invoke {
			byNode[op.Node] = append(byNode[op.Node], n)
		}
	}
	if got := byNode["n1"]; len(got) != 5 || got[0] != 0 || got[2] != 2 || got[4] != 4 {
		t.Errorf("processes of the first thread: %v, want 0 0 2 2 4: old + number of threads", got)
	}
	if len(crashed) != 3 {
		t.Errorf("%d processes crashed, want 3", len(crashed))
	}
}

func TestThreadThatCannotGoOnEndsAlone(t *testing.T) {
	c, path := newCrew(t)
	in := []history.Type{history.Info, history.Info, history.Info, history.OK}
	threads := []workloads.Thread{&script{outcomes: in}, &script{outcomes: []history.Type{history.OK, history.OK, history.OK}}}
	if err := c.drive(t.Context(), t.Context(), threads); err != nil {
		t.Fatal(err)
	}
	if h := read(t, c, path); len(h.Ops) != 2*(3+3) {
		t.Errorf("%d ops, want 12: three crashes of the first thread, three ops of the second", len(h.Ops))
	}
}

func TestEndOfLoadEndsEveryThread(t *testing.T) {
	c, _ := newCrew(t)
	c.limit = rate.NewLimiter(1e-9, 1) // the second op would be due in centuries
	load, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- c.drive(t.Context(), load, []workloads.Thread{&script{endless: true}, &script{endless: true}})
	}()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestJournalThatFailsStopsTheCrew(t *testing.T) {
	c, _ := newCrew(t)
	c.journal.rec.Close()
	if err := c.drive(t.Context(), t.Context(), []workloads.Thread{&script{endless: true}}); err == nil {
		t.Error("no error although nothing could be journaled")
	}
}
