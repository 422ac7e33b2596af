package embedded

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

	"github.com/jepgo/jepgo/devnet"
)

// Sweep finds the validators that have lost the process which started them, and
// kills them. It goes by observation: it looks through all processes for
// validators whose configuration is at or below root. It returns those it killed,
// once they are gone. There should be none: validators die with their parent.
func Sweep(ctx context.Context, root string) ([]Orphan, error) {
	root, err := resolve(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("devnet: %w", err)
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
		o, ok := validatorAt(pid, root)
		if !ok || supervised(o) {
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

// validatorAt says whether the process with that pid is a validator of a network
// at or below root.
func validatorAt(pid int, root string) (Orphan, bool) {
	// Identity first: if the pid changes hands before the next look, the signal
	// will miss.
	id, err := devnet.Lookup(pid)
	if err != nil || !devnet.Alive(id) {
		return Orphan{}, false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return Orphan{}, false
	}
	var args []string
	for _, a := range bytes.Split(cmdline, []byte{0}) {
		args = append(args, string(a))
	}
	if len(args) < 4 || args[1] != validatorCommand || args[2] != "--config" {
		return Orphan{}, false
	}
	config := args[3]
	if filepath.Base(config) != configFile || !strings.HasPrefix(config, root+string(filepath.Separator)) {
		return Orphan{}, false
	}
	return Orphan{Node: filepath.Base(filepath.Dir(config)), Config: config, Process: id}, true
}

// supervised reports whether the process's parent is still the one that owns its
// network. A network whose state is gone or foreign has no owner.
func supervised(o Orphan) bool {
	parent, err := devnet.Parent(o.Process)
	if err != nil {
		return false
	}
	state, err := readState(filepath.Dir(filepath.Dir(o.Config)))
	return err == nil && state.running() && state.Owner.PID == parent
}
