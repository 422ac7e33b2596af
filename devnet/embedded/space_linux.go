package embedded

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// startSpace is what a node writes in its first minute, with room to spare.
	startSpace = 8 << 20
	// leastSpace is when a file system counts as full: databases give up before the
	// last block is gone.
	leastSpace = 256 << 10
)

// enoughSpace returns an error that wraps syscall.ENOSPC when the file system of
// dir has less room than that.
func enoughSpace(dir string, bytes uint64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("directory %q: %w", dir, err)
	}
	if left := st.Bavail * uint64(st.Bsize); left < bytes {
		return fmt.Errorf("directory %q: its file system has %d KiB left, expected at least %d: %w", dir, left>>10, bytes>>10, syscall.ENOSPC)
	}
	if st.Files > 0 && st.Ffree == 0 {
		return fmt.Errorf("directory %q: its file system has no inode left: %w", dir, syscall.ENOSPC)
	}
	return nil
}

// spent returns why the node cannot go on although its process lives: no space
// left where the network is, or by what the node itself says in its log, as where
// a quota ends.
func (n *node) spent(dir string, p *process) error {
	if err := enoughSpace(dir, leastSpace); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	for line := range strings.Lines(tail(n.Log, p.log)) {
		if strings.Contains(line, syscall.ENOSPC.Error()) || strings.Contains(line, syscall.EDQUOT.Error()) {
			return fmt.Errorf("node %s: %w; %s says: %s", n.Name, syscall.ENOSPC, n.Log, strings.TrimSpace(line))
		}
	}
	return nil
}
