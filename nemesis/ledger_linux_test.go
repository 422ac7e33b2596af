package nemesis

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

func sampleSteps() []Step {
	return []Step{
		{Kind: stepResume, Node: "n1", Target: devnet.Identity{PID: 4242, Start: 99}},
		{Kind: stepLinks, Edges: []link.Edge{{From: "n1", To: "n2"}}},
	}
}

func TestLedgerReplays(t *testing.T) {
	path := filepath.Join(t.TempDir(), LedgerName)
	l, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var ids []int
	for range 3 {
		id, err := l.Add("pause", sampleSteps())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := l.Done(ids[1]); err != nil {
		t.Fatal(err)
	}
	if err := l.Done(ids[1]); err == nil {
		t.Error("done twice without an error")
	}
	want := []Pending{{ids[0], "pause", sampleSteps()}, {ids[2], "pause", sampleSteps()}}
	if got := l.Pending(); !reflect.DeepEqual(got, want) {
		t.Errorf("in memory: %v", got)
	}
	// The file, not the memory, is what counts, while the ledger is still open.
	got, err := ReadPending(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("on disk: %v, %v", got, err)
	}
	if _, err := CreateLedger(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("second ledger in the same place: %v", err)
	}
	if self, _ := devnet.Lookup(os.Getpid()); !owns(t, path, self) {
		t.Error("the first line does not name this process")
	}
}

func owns(t *testing.T, path string, id devnet.Identity) bool {
	t.Helper()
	j, err := readJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	return j.owner != nil && j.owner.Identity == id && j.owner.Boot == bootID()
}

// TestLedgerTornAnywhere cuts a ledger at every byte: it must read as the
// complete lines before the cut.
func TestLedgerTornAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), LedgerName)
	l, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 {
		id, err := l.Add("pause", sampleSteps())
		if err != nil {
			t.Fatal(err)
		}
		if id == 1 {
			if err := l.Done(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// owner, add 1, done 1, add 2
	want := []int{0, 0, 1, 0, 1}
	for n := range len(text) + 1 {
		j, err := replay(text[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		lines := bytes.Count(text[:n], []byte("\n"))
		if len(j.pending) != want[lines] || (j.owner != nil) != (lines > 0) {
			t.Fatalf("cut at %d after %d lines: %+v", n, lines, j)
		}
	}
}

func TestLedgerRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for text, want := range map[string]string{
		"hello\n":        "line 1",
		"{}\n":           "line 1: not a ledger of version 1",
		`{"ledger":2}\n`: "",
		"{\"ledger\":1,\"owner\":{\"pid\":1,\"start\":1}}\nhello\n":                                 "line 2",
		"{\"ledger\":1,\"owner\":{\"pid\":1,\"start\":1}}\n{}\n":                                    "line 2: neither",
		"{\"ledger\":1,\"owner\":{\"pid\":1,\"start\":1}}\n{\"add\":2}\n{\"add\":1}\n":              "line 3: neither",
		"{\"ledger\":1,\"owner\":{\"pid\":1,\"start\":1}}\n{\"add\":1}\n\x00\x00\x00\n{\"done\":1}": "line 3",
	} {
		_, err := replay([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestLedgerStopsAfterAFailedWrite: half a line may be on disk, so nothing may
// follow it, or a reader would take the two for one.
func TestLedgerStopsAfterAFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), LedgerName)
	l, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Add("pause", sampleSteps())
	if err != nil {
		t.Fatal(err)
	}
	whole := l.file
	defer whole.Close()
	if l.file, err = os.Open(path); err != nil { // for reading only
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Add("kill", sampleSteps()); err == nil {
		t.Fatal("written to a file that is open for reading")
	}
	l.file = whole
	if err := l.Done(id); err == nil {
		t.Error("went on after a failed write")
	}
	if left, err := ReadPending(path); err != nil || len(left) != 1 {
		t.Errorf("pending: %v, %v", left, err)
	}
}

// abandoned writes the ledger of an owner that is dead.
func abandoned(t *testing.T, boot string, adds ...line) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), LedgerName)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	lines := append([]line{{Version: ledgerVersion, Owner: &owner{bury(t), boot}}}, adds...)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func halt(t *testing.T, id devnet.Identity) {
	t.Helper()
	if err := devnet.Signal(id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait(t, "the process to stop", func() bool { return stateOf(t, id) == stopped })
}

// TestHealSparesStrangers: the pid of a step now belongs to another process, or
// the step is of another boot. Neither may be signalled.
func TestHealSparesStrangers(t *testing.T) {
	stranger := loner(t)
	halt(t, stranger)
	reused := devnet.Identity{PID: stranger.PID, Start: stranger.Start - 1}
	for _, c := range []struct {
		boot   string
		target devnet.Identity
		did    string
	}{
		{bootID(), reused, "is gone"},
		{"another-boot", stranger, "ended when the machine did"},
	} {
		path := abandoned(t, c.boot, line{Add: 1, Fault: "pause", Steps: []Step{{Kind: stepResume, Node: "n1", Target: c.target}}})
		report, err := Heal(t.Context(), path)
		if err != nil || len(report.Actions) != 1 || !strings.Contains(report.Actions[0].Did, c.did) {
			t.Errorf("report %+v, %v", report, err)
		}
		if state := stateOf(t, stranger); state != stopped {
			t.Fatalf("the stranger was woken up: state %c", state)
		}
	}
}

// TestHealInReverseAndPast a step that cannot be taken back: it is an error and
// stays on the ledger, and the others are done.
func TestHealInReverseAndPast(t *testing.T) {
	first, last := loner(t), loner(t)
	halt(t, first)
	halt(t, last)
	path := abandoned(t, bootID(),
		line{Add: 1, Fault: "pause", Steps: []Step{{Kind: stepResume, Node: "n1", Target: first}}},
		line{Add: 2, Fault: "clock", Steps: []Step{{Kind: "unskew", Node: "n1", Target: first}}},
		line{Add: 3, Fault: "pause", Steps: []Step{{Kind: stepResume, Node: "n2", Target: last}}},
	)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"done":3,"at":"20`); err != nil { // torn: 3 is still pending
		t.Fatal(err)
	}
	f.Close()

	report, err := Heal(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), `"unskew"`) {
		t.Errorf("error: %v", err)
	}
	var order []string
	for _, a := range report.Actions {
		order = append(order, a.Fault+" "+a.Step.Node)
		if (a.Error != "") != (a.Fault == "clock") {
			t.Errorf("action: %s", a)
		}
	}
	if got := strings.Join(order, ", "); got != "pause n2, clock n1, pause n1" {
		t.Errorf("order: %s", got)
	}
	for _, id := range []devnet.Identity{first, last} {
		if stateOf(t, id) == stopped {
			t.Errorf("%s is still stopped", id)
		}
	}
	left, err := ReadPending(path)
	if err != nil || len(left) != 1 || left[0].ID != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
	if again, err := Heal(t.Context(), path); err == nil || len(again.Actions) != 1 {
		t.Errorf("second heal: %v, %v", again.Actions, err)
	}
}

func TestHealWithoutLedger(t *testing.T) {
	dir := t.TempDir()
	if report, err := Heal(t.Context(), dir); err != nil || len(report.Actions) > 0 {
		t.Errorf("empty directory: %v, %v", report, err)
	}
	if _, err := Heal(t.Context(), filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such path: %v", err)
	}
	path := filepath.Join(dir, LedgerName)
	if err := os.WriteFile(path, []byte(`{"ledger":1,"own`), 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err := Heal(t.Context(), dir); err != nil || len(report.Actions) > 0 {
		t.Errorf("ledger torn in its first line: %v, %v", report, err)
	}
	if err := os.WriteFile(path, []byte("\x7fELF\x00\n\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Heal(t.Context(), dir); err == nil {
		t.Error("a binary file was taken for a ledger")
	}
}

// TestHealGarbage: a ledger that is none names itself, the line, and a way out.
func TestHealGarbage(t *testing.T) {
	const owner = `{"ledger":1,"owner":{"pid":1,"start":1},"at":"2026-01-01T00:00:00Z"}`
	for text, want := range map[string]string{
		"garbage\n":                         "line 1: expected JSON: invalid character 'g'",
		"{}\n":                              "line 1: not a ledger of version 1",
		owner + "\n\x00\x00\n":              "line 2: expected JSON: invalid character",
		owner + "\n{\"fault\":\"pause\"}\n": "line 2: neither a fault added nor one done",
	} {
		path := filepath.Join(t.TempDir(), LedgerName)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Heal(t.Context(), path)
		var broken *LedgerError
		if !errors.As(err, &broken) || broken.Path != path {
			t.Fatalf("%q: got %v", text, err)
		}
		for _, part := range []string{path, want, "move the file away", "jepgo heal again"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %q is not in %q", text, part, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q: it was changed: %q, %v", text, after, err)
		}
	}
}

func TestHealWhileOwnerLives(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LedgerName)
	l, err := CreateLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Add("pause", sampleSteps()); err != nil {
		t.Fatal(err)
	}
	var alive *OwnerError
	if _, err := Heal(t.Context(), path); !errors.As(err, &alive) || alive.Owner.PID != os.Getpid() {
		t.Errorf("open: %v", err)
	}
	// Closing the ledger does not make its owner dead.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Heal(t.Context(), path); !errors.As(err, &alive) {
		t.Errorf("closed: %v", err)
	}
}
