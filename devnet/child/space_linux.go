package child

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// leastSpace is when a file system counts as full: databases give up before the
// last block is gone.
const leastSpace = 256 << 10

// EnoughSpace returns an error that wraps syscall.ENOSPC when the file system of
// dir has less room than that.
func EnoughSpace(dir string, bytes uint64) error {
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
func (g *Group) spent(name string, p *process) error {
	if err := EnoughSpace(g.o.Dir, leastSpace); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	log := g.o.Log(name)
	for line := range strings.Lines(Tail(log, p.log)) {
		if strings.Contains(line, syscall.ENOSPC.Error()) || strings.Contains(line, syscall.EDQUOT.Error()) {
			return fmt.Errorf("node %s: %w; %s says: %s", name, syscall.ENOSPC, log, strings.TrimSpace(line))
		}
	}
	return nil
}
