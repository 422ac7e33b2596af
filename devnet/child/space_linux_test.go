package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// smallDisk is a file system of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
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

// TestDiskFillsUp: a node that waits for something learns that it never comes.
func TestDiskFillsUp(t *testing.T) {
	dir := smallDisk(t, "1m")
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "node.log")
	g := New(Options{Names: []string{"n1"}, Dir: dir, Log: func(string) string { return log }})
	p := &process{id: self, done: make(chan struct{})}
	g.nodes["n1"].process.Store(p)
	if err := os.WriteFile(log, []byte("all is well\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := g.spent("n1", p); err != nil {
		t.Fatalf("with room left: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	never := func(context.Context) error { return errors.New("not yet") }
	fill(t, filepath.Join(dir, "filler"))
	if err := g.Poll(ctx, "n1", "is not ready", never); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "last: not yet") {
		t.Errorf("without room: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("all is well\nwrite /db/000002.log: no space left on device\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := g.Poll(ctx, "n1", "is not ready", never); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/db/000002.log") {
		t.Errorf("by the log: %v", err)
	}
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
