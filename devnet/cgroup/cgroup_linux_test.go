package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// The test binary is also the node: its environment says what that does.
const roleEnv = "CGROUP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "idle":
	case "burn":
		for range runtime.NumCPU() {
			go func() {
				for {
				}
			}()
		}
	case "grow":
		go grow()
	case "sync":
		go syncWrites(os.Getenv("CGROUP_TEST_FILE"))
	}
	io.Copy(io.Discard, os.Stdin) // until the test ends
}

// grow takes 1 MiB every 10 ms, up to 256 MiB.
func grow() {
	var kept [][]byte
	for range 256 {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
		time.Sleep(10 * time.Millisecond)
	}
	runtime.KeepAlive(kept)
}

func syncWrites(file string) {
	f, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	for b := make([]byte, 128<<10); ; {
		if _, err := f.WriteAt(b, 0); err != nil {
			panic(err)
		}
		f.Sync()
	}
}

// need skips where the machine has no such controller.
func need(t *testing.T, c Controller, version int) {
	t.Helper()
	if err := Probe(c); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	if _, err := find(c, version, os.Getpid()); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: version %d: %v", version, err)
	}
}

func start(t *testing.T, role string, env ...string) devnet.Identity {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// group is one of version (0: any) for a node of this test, gone at its end.
func group(t *testing.T, c Controller, version int, id devnet.Identity) *Group {
	t.Helper()
	m, err := Mine(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	g, err := forVersion(c, version, id, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if err := until(t.Context(), func() (string, error) {
		if ok() {
			return "", nil
		}
		return what, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func ticks(t *testing.T, id devnet.Identity) uint64 {
	t.Helper()
	_, n, err := devnet.State(id)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gone holds that the group has left no trace, on the process's own word.
func gone(t *testing.T, g *Group, id devnet.Identity) {
	t.Helper()
	if err := g.Lifted(); err != nil {
		t.Error(err)
	}
	if g.Exists() {
		t.Errorf("%s: still there", g.Path)
	}
	member, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(member), prefix+sep) {
		t.Errorf("process %s is in:\n%s", id, member)
	}
}

func TestProbeLeavesNoTrace(t *testing.T) {
	for _, c := range []Controller{CPU, Memory, Freezer, IO} {
		t.Logf("%s: %v", c, Probe(c))
	}
	m, err := Mine("probe")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := marked()
	if err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	for _, g := range groups {
		if g.Mark.Owner == m.Owner && strings.HasPrefix(g.Mark.Node, "probe") {
			t.Errorf("left %s", g.Path)
		}
	}
	if err := Probe("no such"); err == nil {
		t.Error("a controller that does not exist was found")
	}
}

func TestCPU(t *testing.T) {
	need(t, CPU, 0)
	t.Parallel()
	id := start(t, "burn")
	g := group(t, CPU, 0, id)
	if err := g.Enter(id); err != nil {
		t.Fatal(err)
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/cgroup", id.PID))
	for _, thread := range threads {
		if text, err := os.ReadFile(thread); err == nil && !strings.Contains(string(text), filepath.Base(g.Path)) {
			t.Errorf("%s is not in the group:\n%s", thread, text)
		}
	}
	if err := g.SetCPU(0.1); err != nil {
		t.Fatal(err)
	}
	if err := g.SetCPU(0.001); err == nil {
		t.Error("less than the kernel can was taken")
	}
	was, began := ticks(t, id), time.Now()
	wait(t, "15 periods", func() bool { c, err := g.CPU(); return err == nil && c.Periods >= 15 })
	used, took := ticks(t, id)-was, time.Since(began)
	count, err := g.CPU()
	if err != nil || count.Throttled < 5 || count.WaitedUS == 0 {
		t.Errorf("got %+v, %v", count, err)
	}
	// Two periods of quota, and two ticks of rounding, may come on top.
	if most := 0.1*took.Seconds()*100 + 2 + 2; float64(used) > most {
		t.Errorf("used %d ticks in %v, expected at most %.1f", used, took, most)
	}
	t.Logf("asked 10 %%, used %d ticks in %v: %.1f %%; %+v", used, took, float64(used)/took.Seconds(), count)
	if in, err := g.InForce(); err != nil || len(in) != 1 {
		t.Errorf("in force: %v, %v", in, err)
	}
	for range 2 { // idempotent
		if err := g.Lift(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, g, id)
}

func TestFreeze(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			need(t, Freezer, version)
			t.Parallel()
			id := start(t, "burn")
			g := group(t, Freezer, version, id)
			if err := g.Enter(id); err != nil {
				t.Fatal(err)
			}
			if err := g.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); !frozen {
				t.Error("not frozen", err)
			}
			was := ticks(t, id)
			time.Sleep(60 * time.Millisecond) // nothing happens: there is no condition to wait for
			if now := ticks(t, id); now != was {
				t.Errorf("used %d ticks while frozen", now-was)
			}
			if err := g.Lift(t.Context()); err != nil {
				t.Fatal(err)
			}
			gone(t, g, id)
			wait(t, "processor time", func() bool { return ticks(t, id) > was })

			// Killed while frozen: version 1 keeps the signal until the thaw.
			if err := errors.Join(g.Enter(id), g.Freeze(t.Context()), devnet.Signal(id, syscall.SIGKILL)); err != nil {
				t.Fatal(err)
			}
			if version == 2 {
				wait(t, "death while frozen", func() bool { return !devnet.Alive(id) })
			}
			if err := g.Lift(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait(t, "death", func() bool { return !devnet.Alive(id) })
			if g.Exists() {
				t.Error("the group is still there")
			}
			if err := g.Enter(id); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("a dead process entered: %v", err)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	need(t, Memory, 0)
	t.Parallel()
	id := start(t, "grow")
	g := group(t, Memory, 0, id)
	if err := g.Enter(id); err != nil {
		t.Fatal(err)
	}
	if err := g.SetMemory(48 << 20); err != nil {
		t.Fatal(err)
	}
	wait(t, "death", func() bool { return !devnet.Alive(id) })
	c, err := g.Memory()
	if err != nil || c.Kills != 1 || c.Limit == 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	t.Logf("%+v", c)
	if err := g.Lift(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.Exists() || g.Lifted() != nil {
		t.Errorf("the group after lift: %v", g.Lifted())
	}
}

func TestIO(t *testing.T) {
	need(t, IO, 0)
	dir, err := os.MkdirTemp(".", "io")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	device, err := DeviceOf(dir)
	if err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	id := start(t, "sync", "CGROUP_TEST_FILE="+filepath.Join(dir, "f"))
	g := group(t, IO, 0, id)
	if err := g.Enter(id); err != nil {
		t.Fatal(err)
	}
	const rate = 1 << 20
	if err := g.SetIO(device, rate); err != nil {
		t.Fatal(err)
	}
	written := func() int64 {
		_, n, err := g.IO(device)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	was, began := written(), time.Now()
	wait(t, "1 MiB", func() bool { return written()-was >= 1<<20 })
	got, took := written()-was, time.Since(began)
	if most := rate*took.Seconds() + 256<<10; float64(got) > most {
		t.Errorf("wrote %d bytes in %v, expected at most %.0f", got, took, most)
	}
	t.Logf("asked %d, wrote %.0f bytes/s on %s", rate, float64(got)/took.Seconds(), device)
	if in, err := g.InForce(); err != nil || len(in) == 0 {
		t.Errorf("in force: %v, %v", in, err)
	}
	if err := g.Lift(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, g, id)
}

// TestSweep leaves groups behind as an owner that was killed does.
func TestSweep(t *testing.T) {
	need(t, Freezer, 0)
	need(t, CPU, 0)
	owner := start(t, "idle")
	id := start(t, "burn")
	var groups []*Group
	for _, c := range []Controller{CPU, Freezer} {
		g, err := For(c, id, Mark{Owner: owner, Node: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Remove(context.Background()) })
		if err := g.Enter(id); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	if err := errors.Join(groups[0].SetCPU(0.05), groups[1].Freeze(t.Context())); err != nil {
		t.Fatal(err)
	}
	leftovers := func() (n int) {
		left, err := Leftovers()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range left {
			if g.Mark.Owner == owner {
				n++
			}
		}
		return n
	}
	if n := leftovers(); n != 0 {
		t.Errorf("%d groups of an owner that lives are called left over", n)
	}
	if all, err := (Mark{Owner: owner, Node: "n1"}).Groups(); err != nil || len(all) != 2 {
		t.Errorf("groups of the owner: %d, %v", len(all), err)
	}
	if err := devnet.Signal(owner, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "death of the owner", func() bool { return !devnet.Alive(owner) })
	if n := leftovers(); n != 2 {
		t.Errorf("%d groups are left over, expected 2", n)
	}
	again, err := Open(groups[1].Path)
	if err != nil || again.Version != groups[1].Version || again.Home != groups[1].Home {
		t.Errorf("opened %+v, %v", again, err)
	}
	if _, err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if n := leftovers(); n != 0 {
		t.Errorf("%d groups are left over after a sweep", n)
	}
	for _, g := range groups {
		gone(t, g, id)
	}
	was := ticks(t, id)
	wait(t, "processor time", func() bool { return ticks(t, id) > was })
	if _, err := Open("/sys/fs/cgroup/stranger"); err == nil {
		t.Error("a group without our mark was opened")
	}
}
