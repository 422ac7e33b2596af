package child

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
	return devnet.Sweep(ctx, func(id devnet.Identity) (Orphan, bool) { return orphanOf(id, root) })
}

// orphanOf says whether the process carries our mark, for a node at or below root,
// and has no owner any more.
func orphanOf(id devnet.Identity, root string) (Orphan, bool) {
	if id.PID == os.Getpid() {
		return Orphan{}, false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id.PID))
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
