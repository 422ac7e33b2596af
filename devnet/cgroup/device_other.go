//go:build !linux

package cgroup

import "errors"

// DeviceOf needs Linux.
func DeviceOf(path string) (string, error) { return "", errors.New("control groups need Linux") }
