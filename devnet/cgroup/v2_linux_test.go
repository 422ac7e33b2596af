package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests hold version 2 to the files of its documentation on a tree that is
// none: that the kernel then does what they say is TestCPU's and the like to see,
// on a machine that hands the controllers down.

// fakeGroup is a directory with the control files of a new group of version 2.
func fakeGroup(t *testing.T, c Controller) *Group {
	t.Helper()
	g := &Group{Controller: c, Version: 2, Path: t.TempDir()}
	for _, f := range []struct{ name, text string }{
		{"cgroup.procs", ""}, {"cgroup.freeze", "0\n"}, {"cgroup.events", "populated 0\nfrozen 0\n"},
		{"cpu.max", "max 100000\n"}, {"memory.swap.max", "max\n"}, {"memory.high", "max\n"}, {"memory.max", "max\n"}, {"io.max", ""},
	} {
		put(t, g, f.name, f.text)
	}
	return g
}

func put(t *testing.T, g *Group, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.Path, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, g *Group, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.Path, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestV2Writes: each limit is what cgroup-v2.txt wants in its file, is seen to be
// in force there, and is taken back by what a new group has.
func TestV2Writes(t *testing.T) {
	for _, c := range []struct {
		controller  Controller
		limit       func(g *Group) error
		file, wrote string
		reads       string // what the kernel shows then; "" for the same
		lifts       string
	}{
		{CPU, func(g *Group) error { return g.SetCPU(0.1) }, "cpu.max", "10000 100000", "", "max 100000"},
		{CPU, func(g *Group) error { return g.SetCPU(1.5) }, "cpu.max", "150000 100000", "", "max 100000"},
		{Memory, func(g *Group) error { return g.SetMemory(64 << 20) }, "memory.max", "67108864", "", "max"},
		{Memory, func(g *Group) error { return g.SetMemory(64 << 20) }, "memory.swap.max", "0", "", "max"},
		{Memory, func(g *Group) error { return g.SetPressure(64 << 20) }, "memory.high", "67108864", "", "max"},
		{IO, func(g *Group) error { return g.SetIO("8:16", 2<<20) }, "io.max", "8:16 rbps=2097152 wbps=2097152",
			"8:16 rbps=2097152 wbps=2097152 riops=max wiops=max", "8:16 rbps=max wbps=max riops=max wiops=max"},
	} {
		g := fakeGroup(t, c.controller)
		if in, err := g.InForce(); err != nil || len(in) > 0 {
			t.Fatalf("in a new group: %v, %v", in, err)
		}
		for _, file := range []string{"cpu.max", "memory.max", "memory.high", "memory.swap.max", "io.max"} {
			put(t, g, file, "") // a control file takes a write as a whole
		}
		if err := c.limit(g); err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		if got := get(t, g, c.file); got != c.wrote {
			t.Errorf("%s: %q was written, want %q", c.file, got, c.wrote)
		}
		if c.reads == "" {
			c.reads = c.wrote
		}
		g = fakeGroup(t, c.controller)
		put(t, g, c.file, c.reads+"\n")
		if in, err := g.OwnInForce(); err != nil || len(in) != 1 || in[0] != c.file+": "+c.reads {
			t.Errorf("%s: seen in force: %v, %v", c.file, in, err)
		}
		if err := g.Lifted(); err == nil || !strings.Contains(err.Error(), c.file) {
			t.Errorf("%s: lifted? %v", c.file, err)
		}
		for _, s := range g.settings() {
			if s.file != c.file {
				continue
			}
			put(t, g, c.file, "")
			if err := g.unset(s, c.reads); err != nil || get(t, g, c.file) != c.lifts {
				t.Errorf("%s: taken back by %q, %v, want %q", c.file, get(t, g, c.file), err, c.lifts)
			}
			if now := get(t, g, c.file); s.none != "" && !s.lifted(now) {
				t.Errorf("%s: %q does not count as lifted", c.file, now)
			}
		}
	}
}

// TestV2Freezes: by its own file, and frozen when cgroup.events says so.
func TestV2Freezes(t *testing.T) {
	g := fakeGroup(t, Freezer)
	put(t, g, "cgroup.events", "populated 1\nfrozen 1\n")
	if err := g.Freeze(t.Context()); err != nil || get(t, g, "cgroup.freeze") != "1\n" {
		t.Errorf("%q, %v", get(t, g, "cgroup.freeze"), err)
	}
	put(t, g, "cgroup.events", "populated 1\nfrozen 0\n")
	if frozen, err := g.Frozen(); err != nil || frozen {
		t.Errorf("frozen %v, %v", frozen, err)
	}
}

// TestV2Counts reads the evidence as the kernel renders it.
func TestV2Counts(t *testing.T) {
	g := fakeGroup(t, "")
	put(t, g, "cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 30\nnr_throttled 28\nthrottled_usec 2500000\nnr_bursts 0\nburst_usec 0\n")
	if c, err := g.CPU(); err != nil || c != (CPUCount{30, 28, 2500000}) {
		t.Errorf("%+v, %v", c, err)
	}
	put(t, g, "memory.current", "4096\n")
	put(t, g, "memory.events", "low 9\nhigh 2\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n")
	if c, err := g.Memory(); err != nil || c != (MemoryCount{4096, 5, 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	put(t, g, "io.stat", "7:0 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=8192 wbytes=4096 rios=2 wios=1 dbytes=0 dios=0\n")
	if r, w, err := g.IO("8:16"); err != nil || r != 8192 || w != 4096 {
		t.Errorf("%d, %d, %v", r, w, err)
	}
}

// TestV2Place: the group goes where the controller is handed down, which is beside
// the process's own, and not above a limit.
func TestV2Place(t *testing.T) {
	top := t.TempDir()
	write := func(dir, file, text string) {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("", "cgroup.subtree_control", "cpuset cpu io memory pids\n")
	write("user.slice", "cgroup.subtree_control", "cpu memory pids\n")
	write("user.slice/run.scope", "cgroup.subtree_control", "")
	h := hierarchy{version: 2, mount: top, root: "/"}
	const member = "0::/user.slice/run.scope\n"
	p, err := h.place(Freezer, member)
	if err != nil || p.dir != filepath.Join(top, "user.slice/run.scope") {
		t.Errorf("freezer: %+v, %v", p, err)
	}
	if p, err = h.place(IO, member); err != nil || p.parent != top {
		t.Errorf("where all are handed down: %+v, %v", p, err)
	}
	// What holds for the slice must go on holding.
	write("user.slice", "memory.max", "1073741824\n")
	if p, err = h.place(CPU, member); err != nil || p.parent != filepath.Join(top, "user.slice") {
		t.Errorf("below a limit: %+v, %v", p, err)
	}
	if p, err = h.place(IO, member); err == nil || !strings.Contains(err.Error(), "Delegate=yes") || !strings.Contains(err.Error(), "echo +io") {
		t.Errorf("io beyond a limit: %+v, %v", p, err)
	}
}
