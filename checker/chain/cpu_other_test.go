//go:build !unix

package chain_test

import "time"

// cpuSeconds is the time on the wall, where no other is told.
func cpuSeconds() float64 { return float64(time.Now().UnixNano()) / 1e9 }
