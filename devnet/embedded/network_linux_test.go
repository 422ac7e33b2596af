package embedded

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
)

func TestReserve(t *testing.T) {
	a, guard, err := reserve(Subnet{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	if !strings.HasPrefix(a.Prefix, "127.") {
		t.Errorf("subnet %+v is not on the loopback network", a)
	}
	// Its guard keeps everybody else out, also one who asks for it.
	b, second, err := reserve(a, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if a == b {
		t.Errorf("two networks got subnet %+v", a)
	}
	// When it is free it can be had again.
	guard.Close()
	again, third, err := reserve(a, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if again != a {
		t.Errorf("a free old subnet %+v was not taken again, but %+v", a, again)
	}
}

func TestReserveSharesAmongMany(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[Subnet]bool)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			s, guard, err := reserve(Subnet{Prefix: "127.64.1"}, 2)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { guard.Close() })
			mu.Lock()
			defer mu.Unlock()
			if seen[s] {
				t.Errorf("subnet %+v was given twice", s)
			}
			seen[s] = true
		})
	}
	wg.Wait()
}

// Somebody who listens on a usual port of all addresses makes all ports move.
func TestReserveAvoidsAWildcard(t *testing.T) {
	ln, err := net.Listen("tcp", ":8545")
	if err != nil {
		t.Skipf("port 8545 cannot be taken on all addresses: %v", err)
	}
	defer ln.Close()
	s, guard, err := reserve(Subnet{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	if s.Shift == 0 {
		t.Fatalf("subnet %+v uses port 8545, which is taken", s)
	}
	use, err := net.Listen("tcp", s.listen(0).HTTP)
	if err != nil {
		t.Fatalf("a reserved address cannot be bound: %v", err)
	}
	use.Close()
}

func TestOptionsRefused(t *testing.T) {
	dir := tempDir(t)
	for _, test := range []struct {
		opts Options
		want string
	}{
		{Options{}, "directory"},
		{Options{Dir: dir, Nodes: -1}, "-1"},
		{Options{Dir: dir, Nodes: 254}, "1 to 253"},
		{Options{Dir: dir, Bug: "moth"}, "stale-read"},
	} {
		if n, err := Start(t.Context(), test.opts); err == nil {
			n.Close(context.Background())
			t.Errorf("Start(%+v): no error", test.opts)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("Start(%+v): error %q does not say %q", test.opts, err, test.want)
		}
		if s, err := Up(t.Context(), test.opts); err == nil {
			t.Errorf("Up(%+v): no error, but %+v", test.opts, s)
		}
	}
	if _, err := readState(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused network left its state behind: %v", err)
	}
}

// What cannot start must say why and leave nothing behind.
func TestStartReportsTheReason(t *testing.T) {
	dir := filepath.Join(tempDir(t), "net")
	n, err := Start(within(t), Options{Dir: dir, Nodes: 1, Alloc: []string{"no address"}})
	if err == nil {
		n.Close(context.Background())
		t.Fatal("a network with a bad address started")
	}
	if !strings.Contains(err.Error(), "n1") || !strings.Contains(err.Error(), "no address") {
		t.Errorf("error %q does not name the node and the reason", err)
	}
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.running() || len(s.Processes) != 0 || s.Ready {
		t.Errorf("state after a failed start: %+v", s)
	}
	if lock, err := lockDir(dir); err != nil {
		t.Errorf("the directory is still locked: %v", err)
	} else {
		lock.Close()
	}
}

func TestCreateOnce(t *testing.T) {
	dir := filepath.Join(tempDir(t), "a", "b")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		wg.Go(func() {
			_, err := create(Options{Dir: dir})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else if !errors.Is(err, fs.ErrExist) {
				t.Errorf("create: %v, want fs.ErrExist", err)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d creations succeeded, want 1", made)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Start on the directory of a network: %v, want fs.ErrExist", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files left: %q, %v", left, err)
	}
}

func TestLockDir(t *testing.T) {
	dir := tempDir(t)
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := lockDir(dir); err == nil {
		second.Close()
		t.Error("two networks hold one directory")
	}
	lock.Close()
	if lock, err = lockDir(dir); err != nil {
		t.Errorf("the lock outlives its owner: %v", err)
	}
	lock.Close()
}

func TestBadDirectories(t *testing.T) {
	ctx := t.Context()
	empty := tempDir(t)
	broken := tempDir(t)
	if err := os.WriteFile(filepath.Join(broken, stateFile), []byte("{}\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := tempDir(t)
	if err := os.WriteFile(filepath.Join(foreign, stateFile), []byte(`{"hello": "world"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, filepath.Join(empty, "absent"), broken, foreign} {
		if h, err := Status(ctx, dir); err == nil {
			t.Errorf("Status(%q) = %+v, want an error", dir, h)
		}
		if err := Down(ctx, dir); err == nil {
			t.Errorf("Down(%q): no error", dir)
		}
		if err := Supervise(ctx, dir); err == nil {
			t.Errorf("Supervise(%q): no error", dir)
		}
		if orphans, err := Sweep(ctx, dir); err != nil || len(orphans) != 0 {
			t.Errorf("Sweep(%q) = %v, %v, want nothing", dir, orphans, err)
		}
	}
	for _, dir := range []string{broken, foreign} {
		if s, err := Up(ctx, UpOptions{Dir: dir}); err == nil {
			t.Errorf("Up(%q) = %+v, want an error", dir, s)
		}
	}
}

// A devnet that never started, or was stopped, is down, which is no error.
func TestDownAndStatusOfWhatIsDown(t *testing.T) {
	dir, err := create(Options{Dir: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Owner = devnet.Identity{PID: os.Getpid(), Start: 1} // an owner of an earlier boot
	s.Nodes = []devnet.Node{{Name: "n1"}}
	s.Processes = map[string]devnet.Identity{"n1": s.Owner}
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	h, err := Status(t.Context(), dir)
	if err != nil || h.Running || h.Healthy() || len(h.Nodes) != 1 || h.Nodes[0].Alive {
		t.Errorf("status %+v, %v, want all down", h, err)
	}
	for range 2 {
		if err := Down(t.Context(), dir); err != nil {
			t.Errorf("down: %v", err)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	b.WriteString("an earlier life\n")
	begin := int64(b.Len())
	for i := range 100 {
		b.WriteString(strings.Repeat("x", i) + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(child.Tail(path, begin), "\n")
	if len(lines) != 20 || lines[0] != strings.Repeat("x", 80) || lines[19] != strings.Repeat("x", 99) {
		t.Errorf("tail is %d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if got := child.Tail(path, int64(b.Len())); got != "" {
		t.Errorf("tail of an incarnation that said nothing: %q", got)
	}
	if got := child.Tail(path+".absent", 0); !strings.Contains(got, "no such file") {
		t.Errorf("tail of no file: %q", got)
	}
}
