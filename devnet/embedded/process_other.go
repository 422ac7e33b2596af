//go:build !linux

package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// errNotLinux is the answer of everything here on other systems.
var errNotLinux = errors.New("the embedded devnet needs Linux: its nodes must die with jepgo, and live on many loopback addresses; elsewhere, attach to a running network with --rpc")

func supported() error { return errNotLinux }

func enoughFiles(int) error { return errNotLinux }

func tied(*os.File, ...string) *exec.Cmd { return nil }

func startDetached(log *os.File, args ...string) (*exec.Cmd, error) { return nil, errNotLinux }

func lockDir(dir string) (*os.File, error) { return nil, errNotLinux }

// Sweep needs Linux.
func Sweep(ctx context.Context, root string) ([]Orphan, error) { return nil, errNotLinux }
