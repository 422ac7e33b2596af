//go:build live

package live

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snapshot is what faults could leave on the machine, as lines.
func snapshot(t *testing.T) []string {
	t.Helper()
	var lines []string
	lines = append(lines, mounts(t)...)
	for _, pattern := range []string{"/sys/class/net/*", "/run/netns/*", "/sys/block/loop*/loop/backing_file"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, found...)
	}
	lines = append(lines, cgroups()...)
	lines = append(lines, stopped(t)...)
	if b, err := os.ReadFile("/proc/net/route"); err == nil {
		lines = append(lines, strings.Split(string(b), "\n")...)
	}
	slices.Sort(lines)
	return lines
}

func mounts(t *testing.T) []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		lines = append(lines, "mount "+s.Text())
	}
	return lines
}

// cgroups lists control groups that jepgo could have made: those with its name,
// but for those that carry the mark of another space of process numbers, which a
// run beside this one has made.
func cgroups() []string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = ""
	}
	ours := strings.Trim(space, "pid:[]")
	var found []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.Contains(d.Name(), "jepgo") {
			return nil
		}
		if mark := strings.Split(d.Name(), ":"); len(mark) < 4 || mark[3] == ours || ours == "" {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// stopped lists processes that a signal has stopped.
func stopped(t *testing.T) []string {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(b), ") "); ok && strings.HasPrefix(rest, "T") {
			found = append(found, "stopped "+path)
		}
	}
	return found
}

// changes lists how the machine differs from before.
func changes(t *testing.T, before []string) []string {
	t.Helper()
	var diff []string
	after := snapshot(t)
	for _, line := range after {
		if !slices.Contains(before, line) {
			diff = append(diff, "left on the machine: "+line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			diff = append(diff, "gone from the machine: "+line)
		}
	}
	return diff
}

// untouched checks that the machine is as it was.
func untouched(t *testing.T, before []string) {
	t.Helper()
	for _, line := range changes(t, before) {
		t.Error(line)
	}
}
