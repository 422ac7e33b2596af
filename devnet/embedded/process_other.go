//go:build !linux

package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// errNotLinux is the answer of everything here on other systems.
var errNotLinux = errors.New("the embedded devnet needs Linux: its nodes must die with jepgo, and live on many loopback addresses; elsewhere, attach to a running network with --rpc")

func supported() error { return errNotLinux }

func enoughFiles(int) error { return errNotLinux }

const startSpace = 0

func enoughSpace(string, uint64) error { return errNotLinux }

func (n *node) spent(string, *process) error { return nil }

type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(*exec.Cmd) error { return errNotLinux }

func (*spawner) close() {}

func tied(*os.File, ...string) *exec.Cmd { return nil }

func startDetached(log *os.File, args ...string) (*exec.Cmd, error) { return nil, errNotLinux }

func lockDir(dir string) (*os.File, error) { return nil, errNotLinux }

func signalOf(*os.ProcessState) syscall.Signal { return 0 }

// Sweep needs Linux.
func Sweep(ctx context.Context, root string) ([]Orphan, error) { return nil, errNotLinux }
