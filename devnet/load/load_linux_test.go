package load

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

const roleEnv = "LOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	if Main(os.Args[1:]) {
		return
	}
	if mark := os.Getenv(roleEnv); mark != "" {
		ownerMain(mark)
		return
	}
	os.Exit(m.Run())
}

// ownerMain starts a helper and stands still, to be killed.
func ownerMain(mark string) {
	if _, err := Start(context.Background(), mark, Work{Cores: []int{0}, Duty: 0.1}); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("started")
	time.Sleep(time.Hour)
}

func self(t *testing.T) devnet.Identity {
	t.Helper()
	id, err := devnet.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestBurn(t *testing.T) {
	cores, err := Cores(self(t))
	if err != nil || len(cores) == 0 {
		t.Fatal(cores, err)
	}
	mark := Mark(self(t), "n1", 1)
	h, err := Start(t.Context(), mark, Work{Cores: cores[:1]})
	if err != nil {
		t.Fatal(err)
	}
	for ticks := uint64(0); ticks < 10; {
		if _, ticks, err = devnet.State(h.Process); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if found, err := find(func(m string) bool { return m == mark }); err != nil || len(found) != 1 || found[0] != h.Process {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := Waited(self(t)); err != nil {
		t.Error(err)
	}
	for range 2 { // idempotent
		if err := h.Stop(t.Context()); err != nil || h.Alive() {
			t.Fatal("alive", err)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	h, err := Start(t.Context(), Mark(self(t), "n1", 2), Work{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for h.Written() < 1<<17 && h.Alive() {
		time.Sleep(5 * time.Millisecond)
	}
	if err := h.Stop(t.Context()); err != nil || h.Written() < 1<<17 {
		t.Errorf("wrote %d bytes, %v", h.Written(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if h, err := Start(t.Context(), Mark(self(t), "n1", 3), Work{Dir: dir + "/none"}); err == nil {
		// It may have begun before it found out.
		for h.Alive() {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestOwnerKilled: no helper outlives its owner.
func TestOwnerKilled(t *testing.T) {
	mark := Mark(self(t), "n1", 4)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), roleEnv+"="+mark)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	ours := func(m string) bool { return m == mark }
	found, err := find(ours)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	owner.Process.Kill()
	for devnet.Alive(found[0]) {
		time.Sleep(time.Millisecond)
	}
	owner.Wait()
	if n, err := End(t.Context(), mark); err != nil || n != 0 {
		t.Errorf("%d helpers were left, %v", n, err)
	}
}

// TestNotAHelper: a program that does not call Main is found out.
func TestNotAHelper(t *testing.T) {
	h := &Helper{begun: make(chan struct{}), ended: make(chan struct{})}
	if h.listen(strings.NewReader("usage: …\n")) {
		t.Error("something else was taken for a helper")
	}
	t.Setenv(nestedEnv, "1")
	if _, err := Start(t.Context(), "m", Work{}); err == nil {
		t.Error("a helper started a helper")
	}
}

func TestWorkRoundTrip(t *testing.T) {
	for _, w := range []Work{{Duty: 1}, {Cores: []int{0, 3}, Duty: 0.25}, {Duty: 1, Dir: "/a b"}} {
		got, err := parseWork(w.args())
		if err != nil || len(got.Cores) != len(w.Cores) || got.Duty != w.Duty || got.Dir != w.Dir {
			t.Errorf("%+v: got %+v, %v", w, got, err)
		}
	}
	for _, args := range [][]string{nil, {"x", "1", ""}, {"", "2", ""}, {"", "NaN", ""}} {
		if w, err := parseWork(args); err == nil {
			t.Errorf("%q: read as %+v", args, w)
		}
	}
	if owner, ok := ownerOf(Mark(devnet.Identity{PID: 3, Start: 9}, "n1", 7)); !ok || owner.PID != 3 || owner.Start != 9 {
		t.Errorf("owner %v, %v", owner, ok)
	}
	if Main([]string{"test"}) || Main(nil) {
		t.Error("another command was taken for a helper's")
	}
}
