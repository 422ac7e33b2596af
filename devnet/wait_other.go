//go:build !linux

package devnet

import "os/exec"

// Wait is cmd.Wait: nothing is traced here.
func Wait(cmd *exec.Cmd) error { return cmd.Wait() }

// AwaitEnd is for Linux.
func AwaitEnd(*exec.Cmd) (ended bool) { return false }
