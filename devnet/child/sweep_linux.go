package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// Sweep finds the processes of nodes at or below root whose owner is gone, and
// kills them. It goes by observation: it reads the marks of all processes. It
// returns those it killed, once they are gone. There are few: what a node itself
// started in a process group of its own may be left, the node dies with its owner.
func Sweep(ctx context.Context, root string) ([]Orphan, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var orphans []Orphan
	var errs []error
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		o, ok := orphanAt(pid, root)
		if !ok {
			continue
		}
		switch err := devnet.Signal(o.Process, syscall.SIGKILL); {
		case errors.Is(err, os.ErrProcessDone):
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		orphans = append(orphans, o)
	}
	for _, o := range orphans {
		errs = append(errs, awaitGone(ctx, o.Process))
	}
	return orphans, errors.Join(errs...)
}

// orphanAt says whether the process with that pid carries our mark, for a node at
// or below root, and has no owner any more.
func orphanAt(pid int, root string) (Orphan, bool) {
	// Identity first: if the pid changes hands before the next look, the signal
	// will miss.
	id, err := devnet.Lookup(pid)
	if err != nil || !devnet.Alive(id) || pid == os.Getpid() {
		return Orphan{}, false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return Orphan{}, false
	}
	var home string
	var owner devnet.Identity
	owned := false
	for _, kv := range bytes.Split(env, []byte{0}) {
		switch key, value, _ := strings.Cut(string(kv), "="); key {
		case markHome:
			home = value
		case markOwner:
			owner, owned = parseOwner(value)
		}
	}
	if !owned || !strings.HasPrefix(home, root+string(filepath.Separator)) || devnet.Alive(owner) {
		return Orphan{}, false
	}
	return Orphan{Home: home, Process: id}, true
}

func awaitGone(ctx context.Context, id devnet.Identity) error {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for devnet.Alive(id) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %s has not ended: %w", id, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
