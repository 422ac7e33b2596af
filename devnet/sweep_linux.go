package devnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Living lists the processes of this machine that run. Cost: one read of /proc for
// each.
func Living() ([]Identity, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var living []Identity
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if st, err := readStat(pid); err == nil && !dead(st.state) {
			living = append(living, Identity{PID: pid, Start: st.start})
		}
	}
	return living, nil
}

// Sweep looks at all processes that run and kills those that are orphans. It
// returns what orphan said of them, once they are gone. If a pid changes hands
// before orphan looks at it, the signal misses.
func Sweep[O any](ctx context.Context, orphan func(Identity) (O, bool)) ([]O, error) {
	living, err := Living()
	if err != nil {
		return nil, err
	}
	var orphans []O
	var killed []Identity
	var errs []error
	for _, id := range living {
		o, ok := orphan(id)
		if !ok {
			continue
		}
		switch err := Signal(id, syscall.SIGKILL); {
		case err == nil:
			orphans, killed = append(orphans, o), append(killed, id)
		case !errors.Is(err, os.ErrProcessDone):
			errs = append(errs, err)
		}
	}
	for _, id := range killed {
		errs = append(errs, AwaitGone(ctx, id))
	}
	return orphans, errors.Join(errs...)
}
