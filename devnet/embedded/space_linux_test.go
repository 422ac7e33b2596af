package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a file system of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := tempDir(t)
	if err := syscall.Mount("jepgo-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("NOT TESTED: a full file system needs a mount of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestStartOnAFullDisk: it fails at once, with the reason.
func TestStartOnAFullDisk(t *testing.T) {
	dir := smallDisk(t, "1m")
	n, err := Start(within(t), Options{Dir: filepath.Join(dir, "net")})
	if err == nil {
		n.Close(context.Background())
		t.Fatal("a devnet on a file system of 1 MiB")
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "KiB left, expected at least") {
		t.Errorf("got %v", err)
	}
}
