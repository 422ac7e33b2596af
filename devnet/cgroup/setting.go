package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// setting is one control file with a limit in it.
type setting struct {
	controller Controller
	file       string
	none       string // what is written to have no limit; "" for a file of one line a device
	optional   bool   // not on every machine
}

// v1Settings and v2Settings are in the order in which they are taken back.
func v1Settings() []setting {
	return []setting{
		{Freezer, "freezer.state", "THAWED", false},
		{CPU, "cpu.cfs_quota_us", "-1", false},
		{Memory, "memory.limit_in_bytes", "-1", false},
		{IO, "blkio.throttle.read_bps_device", "", false},
		{IO, "blkio.throttle.write_bps_device", "", false},
	}
}

func v2Settings() []setting {
	return []setting{
		{Freezer, "cgroup.freeze", "0", false},
		{CPU, "cpu.max", "max 100000", false},
		{Memory, "memory.swap.max", "max", true},
		{Memory, "memory.high", "max", false},
		{Memory, "memory.max", "max", false},
		{IO, "io.max", "", false},
	}
}

func allSettings(version int) []setting {
	if version == 1 {
		return v1Settings()
	}
	return v2Settings()
}

// settings are those of the group's controller; all, where it has none.
func (g *Group) settings() []setting {
	return slices.DeleteFunc(allSettings(g.Version), func(s setting) bool { return g.Controller != "" && s.controller != g.Controller })
}

// value reads a setting; ok is false when the group has none of the kind.
func (g *Group) value(s setting) (text string, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(g.Path, s.file))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("control group: %w", err)
	}
	return strings.TrimSpace(string(b)), true, nil
}

// lifted reports whether the value is that of a new group.
func (s setting) lifted(value string) bool {
	if value == s.none || s.none == "max 100000" && strings.HasPrefix(value, "max ") {
		return true
	}
	// Version 1 renders no limit of memory as the largest multiple of a page.
	n, err := strconv.ParseUint(value, 10, 64)
	return err == nil && s.controller == Memory && s.none == "-1" && n >= 1<<62
}

func (g *Group) inForce(ss []setting) ([]string, error) {
	var in []string
	for _, s := range ss {
		v, ok, err := g.value(s)
		if err != nil {
			return nil, err
		}
		if ok && !s.lifted(v) {
			in = append(in, s.file+": "+v)
		}
	}
	return in, nil
}

// reset takes limits back and waits until the kernel has done it.
func (g *Group) reset(ctx context.Context, ss []setting) error {
	for _, s := range ss {
		err := until(ctx, func() (string, error) {
			v, ok, err := g.value(s)
			if err != nil || !ok || s.lifted(v) {
				return "", err
			}
			if err := g.unset(s, v); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("control group %q: %s: %w", g.Path, s.file, err)
			}
			return fmt.Sprintf("control group %q: %s is still %q", g.Path, s.file, v), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) unset(s setting, value string) error {
	if s.none != "" {
		return write(g.Path, s.file, s.none)
	}
	none := " 0"
	if g.Version == 2 {
		none = " rbps=max wbps=max riops=max wiops=max"
	}
	var errs []error
	for line := range strings.Lines(value) {
		if device, _, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			errs = append(errs, write(g.Path, s.file, device+none))
		}
	}
	return errors.Join(errs...)
}

// period is the time in which a CPU quota is given out, in microseconds: the
// kernel's default.
const period = 100_000

// SetCPU limits the group to a share of one core: 0.1 is a tenth. The kernel
// gives it out every 100 ms and knows no less than a hundredth.
func (g *Group) SetCPU(share float64) error {
	quota := int64(share * period)
	if quota < 1000 {
		return fmt.Errorf("cpu share %v: expected at least 0.01 of a core", share)
	}
	if g.Version == 2 {
		return g.set("cpu.max", fmt.Sprintf("%d %d", quota, period))
	}
	return errors.Join(g.set("cpu.cfs_period_us", strconv.Itoa(period)), g.set("cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
}

// SetMemory limits what the group has in memory: at the limit the kernel frees
// what it can, and then its OOM killer ends a process of the group. The error
// wraps syscall.EBUSY when, in version 1, more is in use that cannot be freed;
// version 2 kills at once. On a machine with swap version 1 swaps first; version
// 2 does not.
func (g *Group) SetMemory(bytes int64) error {
	text := strconv.FormatInt(bytes, 10)
	if g.Version == 1 {
		// The limit of memory with swap stays as it is: where that is set too, the
		// kernel counts no failures.
		return g.set("memory.limit_in_bytes", text)
	}
	return errors.Join(ignoreMissing(g.set("memory.swap.max", "0")), g.set("memory.max", text))
}

// SetPressure makes the kernel free the group's memory above that, and slow the
// group down meanwhile. Version 2 does not kill for it. Version 1 knows only the
// limit of SetMemory.
func (g *Group) SetPressure(bytes int64) error {
	if g.Version == 1 {
		return g.SetMemory(bytes)
	}
	return g.set("memory.high", strconv.FormatInt(bytes, 10))
}

// SetIO limits what the group reads from and writes to a whole disk (see
// DeviceOf), in bytes a second each. Version 1 does not count writes that wait
// in the page cache: they are slowed only where the process waits for them, by
// fsync or direct I/O.
func (g *Group) SetIO(device string, bytes int64) error {
	if g.Version == 2 {
		return g.set("io.max", fmt.Sprintf("%s rbps=%d wbps=%d", device, bytes, bytes))
	}
	line := fmt.Sprintf("%s %d", device, bytes)
	return errors.Join(g.set("blkio.throttle.read_bps_device", line), g.set("blkio.throttle.write_bps_device", line))
}

// Freeze stops every process of the group and waits until the kernel says that
// they stand still. In version 1 a process that is killed meanwhile ends only
// when it is thawed.
func (g *Group) Freeze(ctx context.Context) error {
	file, value := "cgroup.freeze", "1"
	if g.Version == 1 {
		file, value = "freezer.state", "FROZEN"
	}
	if err := g.set(file, value); err != nil {
		return err
	}
	return until(ctx, func() (string, error) {
		frozen, err := g.Frozen()
		if err != nil || frozen {
			return "", err
		}
		return fmt.Sprintf("control group %q: not frozen yet", g.Path), nil
	})
}

// Frozen reports whether every process of the group stands still by Freeze.
func (g *Group) Frozen() (bool, error) {
	if g.Version == 1 {
		state, _, err := g.value(setting{file: "freezer.state"})
		return state == "FROZEN", err
	}
	n, err := g.count("cgroup.events", "frozen")
	return n == 1, err
}

// set writes one control file of the group.
func (g *Group) set(file, value string) error {
	if err := write(g.Path, file, value); err != nil {
		return g.advise(fmt.Errorf("control group: %q: %w", value, err))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
