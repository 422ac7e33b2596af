package chain_test

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// hugePages lets the heap come in pages of 2 MiB, as judge does (where it says why).
func hugePages() {
	space := make([]byte, 512<<20)
	_ = unix.Madvise(space, unix.MADV_HUGEPAGE)
	space = nil
	debug.FreeOSMemory()
}
