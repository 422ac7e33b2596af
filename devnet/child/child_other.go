//go:build !linux

package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// errNotLinux is the answer of everything here on other systems.
var errNotLinux = errors.New("nodes of jepgo's own need Linux, where they die with it; elsewhere, attach to a running network with --rpc")

// Spawner needs Linux.
type Spawner struct{}

// NewSpawner needs Linux.
func NewSpawner() *Spawner { return &Spawner{} }

func (*Spawner) Start(*exec.Cmd) error { return errNotLinux }

func (*Spawner) Close() {}

// Tie needs Linux.
func Tie(cmd *exec.Cmd, log *os.File) *exec.Cmd { return cmd }

func endGroup(*exec.Cmd) {}

func signalOf(*os.ProcessState) syscall.Signal { return 0 }

// EnoughSpace needs Linux.
func EnoughSpace(dir string, bytes uint64) error { return errNotLinux }

func (g *Group) spent(string, *process) error { return nil }

// Sweep needs Linux.
func Sweep(ctx context.Context, root string) ([]Orphan, error) { return nil, errNotLinux }
