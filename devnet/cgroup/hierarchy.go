package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// hierarchy is one mounted tree of control groups.
type hierarchy struct {
	version int
	mount   string
	root    string   // the group that is mounted there: / unless part of a tree is
	options []string // of version 1, with the controllers among them
}

// hierarchies lists the trees that this process sees.
func hierarchies() ([]hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("control groups: need Linux with /proc mounted")
	}
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	return parseMounts(string(text)), nil
}

// parseMounts reads a mountinfo: "36 30 0:33 / /sys/fs/cgroup/freezer rw - cgroup
// cgroup rw,freezer", see proc_pid_mountinfo(5). A mount that a later one covers
// is not ours to sort out; the last one of a place counts.
func parseMounts(text string) []hierarchy {
	var hs []hierarchy
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		h := hierarchy{mount: unescapeMount(f[4]), root: unescapeMount(f[3])}
		switch g[0] {
		case "cgroup":
			h.version, h.options = 1, strings.Split(g[2], ",")
		case "cgroup2":
			h.version = 2
		default:
			continue
		}
		hs = slices.DeleteFunc(hs, func(o hierarchy) bool { return o.mount == h.mount })
		hs = append(hs, h)
	}
	return hs
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// place is where a process is in a hierarchy, and where a group for it may be
// made.
type place struct {
	hierarchy
	dir    string // the group that it is in
	parent string // the group below which a new one may be made
}

// v1Name is what version 1 calls the controller.
func (c Controller) v1Name() string {
	if c == IO {
		return "blkio"
	}
	return string(c)
}

// find looks for a hierarchy with the controller, version 2 first; version 0 is
// both.
func find(c Controller, version int, pid int) (place, error) {
	hs, err := hierarchies()
	if err != nil {
		return place{}, err
	}
	member, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return place{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	if err != nil {
		return place{}, fmt.Errorf("control groups: %w", err)
	}
	why := fmt.Errorf("control group controller %q: mounted in no hierarchy here; mount one, as root: mount -t cgroup2 none /sys/fs/cgroup", c)
	if len(hs) == 0 {
		why = errors.New("control groups: none are mounted here; as root: mount -t cgroup2 none /sys/fs/cgroup")
	}
	for _, v := range []int{2, 1} {
		for _, h := range hs {
			if h.version != v || version != 0 && version != v || v == 1 && !slices.Contains(h.options, c.v1Name()) {
				continue
			}
			p, err := h.place(c, string(member))
			if err == nil {
				return p, nil
			}
			why = err
		}
	}
	return place{}, why
}

// place reads where a process is from its /proc/PID/cgroup.
func (h hierarchy) place(c Controller, member string) (place, error) {
	for line := range strings.Lines(member) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if h.version == 2 && f[0] != "0" || h.version == 1 && !slices.Contains(strings.Split(f[1], ","), c.v1Name()) {
			continue
		}
		rel, err := filepath.Rel(h.root, f[2])
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return place{}, fmt.Errorf("control group %q: not below %q, which is what is mounted at %q", f[2], h.root, h.mount)
		}
		p := place{hierarchy: h, dir: filepath.Join(h.mount, rel)}
		p.parent = p.dir
		if h.version == 2 {
			err = p.offer(c)
		}
		return p, err
	}
	return place{}, fmt.Errorf("control group controller %q: the process is in no group of it", c)
}

// offer chooses, in version 2, the group below which a new one has most
// controllers: the nearest of them on the way up. It does not climb out of a
// limit. A group with processes cannot hand controllers down (the "no internal
// processes" rule), so the place is mostly beside the process's own group.
func (p *place) offer(c Controller) error {
	if m, err := parseMark(filepath.Base(p.dir)); err == nil { // it is in a group of ours
		p.parent = filepath.Dir(p.dir)
		if c != Freezer && !slices.Contains(handedDown(p.parent), string(c)) {
			return fmt.Errorf("control group of node %q: made without the controller %q", m.Node, c)
		}
		return nil
	}
	best := -1
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		n := 0
		for _, have := range handedDown(dir) {
			if slices.Contains([]string{string(CPU), string(Memory), string(IO)}, have) {
				n++
			}
		}
		if n > best {
			best, p.parent = n, dir
		}
		if dir == p.mount || !strings.HasPrefix(dir, p.mount+"/") || limited(dir) {
			break
		}
	}
	if c == Freezer || slices.Contains(handedDown(p.parent), string(c)) {
		return nil
	}
	return fmt.Errorf("control group controller %q: no group from %q upwards hands it down; start jepgo with: systemd-run --scope -p Delegate=yes (with --user when you are not root), or, as root: echo +%s > %s",
		c, p.dir, c, filepath.Join(p.mount, "cgroup.subtree_control"))
}

func handedDown(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// limited reports whether a limit of version 2 holds for that group.
func limited(dir string) bool {
	g := Group{Version: 2, Path: dir}
	in, err := g.InForce()
	return err != nil || len(in) > 0
}

// advise adds to an error of the kernel what would help.
func (g *Group) advise(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: mounted read-only: remount it, or use a container with --privileged or --cgroupns=host", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: this process' own group is not below /sys/fs/cgroup: mount control groups there, or use a container with --cgroupns=host", err)
	case errors.Is(err, fs.ErrPermission) && g.Version == 2:
		return fmt.Errorf("%w: run as root, or in a group that is yours: systemd-run --user --scope -p Delegate=yes", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run as root; version 1 of control groups knows no delegation", err)
	}
	return err
}

// isGone reports that there is no such process any more.
func isGone(err error) bool { return errors.Is(err, syscall.ESRCH) }

// write writes one value to a control file at once.
func write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
