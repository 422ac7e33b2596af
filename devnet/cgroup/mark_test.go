package cgroup

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet"
)

func TestMark(t *testing.T) {
	for _, m := range []Mark{
		{Owner: devnet.Identity{PID: 7, Start: 99}, Node: "n1", target: devnet.Identity{PID: 8, Start: 100}, space: "4026531836"},
		{Owner: devnet.Identity{PID: 7, Start: 99}, Node: "a:b/c d", home: "x.slice/a:b", space: "1"},
	} {
		name, err := m.name()
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(name, "/ ") {
			t.Errorf("%q is no name of a directory", name)
		}
		if got, err := parseMark(name); err != nil || got != m {
			t.Errorf("%q: got %+v, %v", name, got, err)
		}
		if got, want := m.homeOf("/top/"+name), filepath.Join("/top", m.home); got != want {
			t.Errorf("home of %q: %q", name, got)
		}
	}
	for _, name := range []string{"", "user.slice", "jepgo", "jepgo:1:2:3:n1", "jepgo:x:2:3:n1:1:2:", "jepgo:1:2:3:n1:1:2:3:4", "jepgo:1:2:3:n1:1:x:"} {
		if m, err := parseMark(name); err == nil {
			t.Errorf("%q: read as %+v", name, m)
		}
	}
	if _, err := (Mark{Node: "n1", home: strings.Repeat("x", 250)}).name(); err == nil {
		t.Error("a name that is too long was made")
	}
}

func TestParseMounts(t *testing.T) {
	got := parseMounts(`22 26 0:21 / /sys rw,relatime - sysfs sysfs rw
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
39 30 0:36 /docker/abc /sys/fs/cg\040roup/memory ro - cgroup cgroup rw,memory
40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
broken`)
	if len(got) != 3 {
		t.Fatalf("got %+v", got)
	}
	if h := got[0]; h.version != 1 || h.options[2] != "cpuacct" {
		t.Errorf("got %+v", h)
	}
	if h := got[1]; h.mount != "/sys/fs/cg roup/memory" || h.root != "/docker/abc" {
		t.Errorf("got %+v", h)
	}
	if got[2].version != 2 {
		t.Errorf("got %+v", got[2])
	}
}

func TestPlace(t *testing.T) {
	h := hierarchy{version: 1, mount: "/m", root: "/docker/abc", options: []string{"rw", "memory"}}
	member := "4:memory:/docker/abc/x:y\n3:cpu:/other\n0::/\n"
	if p, err := h.place(Memory, member); err != nil || p.dir != "/m/x:y" || p.parent != p.dir {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := h.place(CPU, member); err == nil {
		t.Errorf("outside of the mount: got %+v", p)
	}
}
