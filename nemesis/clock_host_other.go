//go:build !linux

package nemesis

import (
	"errors"
	"time"
)

func hostClock() (time.Duration, error) { return 0, errors.New("clock faults need Linux") }
