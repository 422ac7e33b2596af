package judge

import (
	"bytes"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// The first touch of a page costs what the checker takes for a dozen operations:
// in a virtual machine up to 15 us for 4 KiB, but hardly more for 2 MiB at once.
// The heap asks for pages of 2 MiB only where the kernel gives them to everybody,
// which few distributions let it.
const (
	worthPages = 4 << 20   // text; a shorter history is judged before this pays
	mostPages  = 512 << 20 // heap; the rest grows in small pages
	perByte    = 2         // bytes of heap that may be needed for one of text
)

// hugePages lets the heap that judging so many bytes of text will need come in
// pages of 2 MiB: it takes that much address space, marks it, and gives it back to
// the allocator, which takes from it first. Nothing is touched, so it uses no
// memory, and some milliseconds. Where the kernel does not allow it, or
// address space is limited, nothing happens.
func hugePages(text int64) {
	const setting = "/sys/kernel/mm/transparent_hugepage/enabled"
	if text < worthPages {
		return
	}
	if now, err := os.ReadFile(setting); err != nil || !bytes.Contains(now, []byte("[madvise]")) {
		return // never, or everybody has them
	}
	var space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err != nil || space.Cur != unix.RLIM_INFINITY {
		return // threads need some too
	}
	size := int(min(perByte*text, mostPages))
	// The allocator would end the program where there is no space.
	probe, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil || unix.Munmap(probe) != nil {
		return
	}
	reserve(size)
	debug.FreeOSMemory()
}

// reserve lets go of what it took when it returns.
func reserve(size int) {
	space := make([]byte, size)
	_ = unix.Madvise(space, unix.MADV_HUGEPAGE) // small ones do
}
