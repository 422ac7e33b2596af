//go:build !linux

package nemesis

import (
	"os"
	"os/exec"
	"syscall"
)

func again(args ...string) *exec.Cmd { return exec.Command(os.Args[0], args...) }

func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
