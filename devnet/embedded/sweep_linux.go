package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	return devnet.Sweep(ctx, func(id devnet.Identity) (Orphan, bool) {
		o, ok := validatorOf(id, root)
		return o, ok && !supervised(o)
	})
}

// validatorOf says whether the process is a validator of a network at or below
// root.
func validatorOf(id devnet.Identity, root string) (Orphan, bool) {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
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
