package devnet

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Holdings are what a process holds.
type Holdings struct {
	RSS     int64 // resident memory, bytes
	FDs     int   // open file descriptors
	Threads int
}

// Held returns what this very incarnation holds now. The error wraps
// os.ErrProcessDone when it has ended. Cost: two reads of /proc and a directory.
func Held(id Identity) (h Holdings, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id.PID))
	if err != nil {
		return h, fmt.Errorf("process %s: %w", id, os.ErrProcessDone)
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		switch n, _ := strconv.ParseInt(fields[0], 10, 64); name {
		case "VmRSS":
			h.RSS = n << 10
		case "Threads":
			h.Threads = int(n)
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", id.PID))
	if err != nil {
		return h, fmt.Errorf("process %s: %w", id, err)
	}
	h.FDs = len(fds)
	if !Alive(id) {
		return h, fmt.Errorf("process %s: %w", id, os.ErrProcessDone) // and all of this was a stranger's
	}
	return h, nil
}
