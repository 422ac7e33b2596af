package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// CPUCount is what a CPU quota has done.
type CPUCount struct {
	Periods   int64 // periods of 100 ms in which the group ran
	Throttled int64 // of those, in which it used its quota up and had to wait
	WaitedUS  int64 // microseconds that its processes waited for that, on all cores together
}

// CPU reads the counters of the CPU quota.
func (g *Group) CPU() (c CPUCount, err error) {
	if c.Periods, err = g.count("cpu.stat", "nr_periods"); err != nil {
		return c, err
	}
	if c.Throttled, err = g.count("cpu.stat", "nr_throttled"); err != nil {
		return c, err
	}
	if g.Version == 2 {
		c.WaitedUS, err = g.count("cpu.stat", "throttled_usec")
		return c, err
	}
	ns, err := g.count("cpu.stat", "throttled_time")
	c.WaitedUS = ns / 1000
	return c, err
}

// MemoryCount is what a limit of memory has done.
type MemoryCount struct {
	Usage int64 // bytes charged to the group now
	Limit int64 // how often the limit was hit, of SetMemory or SetPressure
	Kills int64 // processes that the OOM killer ended in the group
}

// Memory reads the counters of memory.
func (g *Group) Memory() (c MemoryCount, err error) {
	if g.Version == 1 {
		if c.Usage, err = g.number("memory.usage_in_bytes"); err != nil {
			return c, err
		}
		if c.Limit, err = g.number("memory.failcnt"); err != nil {
			return c, err
		}
		c.Kills, err = g.count("memory.oom_control", "oom_kill")
		return c, err
	}
	if c.Usage, err = g.number("memory.current"); err != nil {
		return c, err
	}
	most, err := g.count("memory.events", "max")
	if err != nil {
		return c, err
	}
	high, err := g.count("memory.events", "high")
	if err != nil {
		return c, err
	}
	c.Limit = most + high
	c.Kills, err = g.count("memory.events", "oom_kill")
	return c, err
}

// IO reads how many bytes the group has read from and written to a whole disk.
func (g *Group) IO(device string) (read, written int64, err error) {
	file := "blkio.throttle.io_service_bytes"
	if g.Version == 2 {
		file = "io.stat"
	}
	text, err := g.text(file)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != device {
			continue
		}
		if g.Version == 1 { // 8:0 Write 4096
			switch n, err := strconv.ParseInt(f[len(f)-1], 10, 64); {
			case err != nil:
				return 0, 0, fmt.Errorf("control group: %s: %q: expected a whole number", file, line)
			case f[1] == "Read":
				read = n
			case f[1] == "Write":
				written = n
			}
			continue
		}
		for _, kv := range f[1:] { // 8:0 rbytes=0 wbytes=4096 …
			key, value, _ := strings.Cut(kv, "=")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch key {
			case "rbytes":
				read = n
			case "wbytes":
				written = n
			}
		}
	}
	return read, written, nil
}

func (g *Group) text(file string) (string, error) {
	b, err := os.ReadFile(filepath.Join(g.Path, file))
	if err != nil {
		return "", fmt.Errorf("control group: %w", err)
	}
	return string(b), nil
}

// number reads a file of one number.
func (g *Group) number(file string) (int64, error) {
	text, err := g.text(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("control group: %s of %q: %q: expected a whole number", file, g.Path, strings.TrimSpace(text))
	}
	return n, nil
}

// count reads one line "key number" of a file.
func (g *Group) count(file, key string) (int64, error) {
	text, err := g.text(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("control group: %s of %q: %q: expected a whole number", file, g.Path, line)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("control group: %s of %q: has no %q", file, g.Path, key)
}
