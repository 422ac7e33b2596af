//go:build !linux

package userns

import (
	"errors"
	"os/exec"
)

// Command is this program to be executed again: not here.
func Command(args ...string) *exec.Cmd { return exec.Command("", args...) }

// Run runs a Command: not here.
func Run(*exec.Cmd) (status int, err error) {
	return 0, errors.New("user namespaces: only Linux has them")
}
