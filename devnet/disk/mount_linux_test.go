package disk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// TestOwnerKilled kills the process that a disk belongs to. Its mount is dead,
// also while a child of it lives; it is found and removed, what was durable is
// there, and the disk can be mounted again.
func TestOwnerKilled(t *testing.T) {
	newDisk(t, Options{}) // or skip
	dir := t.TempDir()
	cmd, out := process(t, "owner "+dir)
	lines := bufio.NewScanner(out)
	lines.Scan()
	var child int
	if _, err := fmt.Sscanf(lines.Text(), "mounted %d", &child); err != nil {
		t.Fatal(lines.Text())
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	point := filepath.Join(dir, "mount")
	for _, l := range leftovers(t, point) {
		t.Errorf("a living owner: %+v", l)
	}
	ms, err := mounts()
	if err != nil {
		t.Fatal(err)
	}
	live := ms[last(ms, point)]
	self, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := Detach(Leftover{Mount: point, Source: live.source, Owner: self}); err == nil {
		t.Error("a mount was taken from its living owner")
	}

	kill(t, cmd)
	if _, err := os.ReadDir(point); !errors.Is(err, syscall.ENOTCONN) {
		t.Errorf("after the owner's end: %v", err)
	}
	ls := leftovers(t, point)
	if len(ls) != 1 || ls[0].Owner != self || ls[0].Name != "owned" {
		t.Fatalf("leftovers: %+v", ls)
	}
	if _, err := Mount(Options{Dir: filepath.Join(dir, "dir"), Mount: point}); err == nil {
		t.Error("mounted over a dead mount")
	}
	for range 2 {
		if err := Detach(ls[0]); err != nil {
			t.Fatal(err)
		}
	}
	if ls := leftovers(t, point); len(ls) > 0 {
		t.Errorf("left: %+v", ls)
	}
	d, err := Mount(Options{Dir: filepath.Join(dir, "dir"), Mount: point})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := read(t, filepath.Join(point, "durable")); string(got) != "durable" {
		t.Errorf("durable file: %q", got)
	}
	if got := read(t, filepath.Join(point, "dirty")); len(got) > 0 {
		t.Errorf("dirty file: %q", got)
	}
}

func leftovers(t *testing.T, point string) (here []Leftover) {
	t.Helper()
	ls, err := Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ls {
		if l.Mount == point {
			here = append(here, l)
		}
	}
	return here
}

// TestHolder unmounts and crashes a disk while a process has a file of it open.
func TestHolder(t *testing.T) {
	for _, crash := range []bool{false, true} {
		d := newDisk(t, Options{Name: "with a blank"})
		_, out, in := processIn(t, "holder "+filepath.Join(d.Dir(), "f"))
		lines := bufio.NewScanner(out)
		if lines.Scan(); lines.Text() != "holds" {
			t.Fatal(lines.Text())
		}
		want := "held"
		if crash {
			want = ""
			if _, err := d.Crash(0); err != nil {
				t.Fatal(err)
			}
		} else if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := absent(d.Dir(), d.Source()); err != nil {
			t.Error(err)
		}
		if got := read(t, filepath.Join(d.Backing(), "f")); string(got) != want {
			t.Errorf("crash %v: %q", crash, got)
		}
		if err := d.Remount(); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if lines.Scan(); lines.Text() != "true" {
			t.Errorf("the holder could still write")
		}
		if got := read(t, filepath.Join(d.Dir(), "f")); string(got) != want {
			t.Errorf("crash %v, after the holder's write: %q", crash, got)
		}
	}
}

// TestMap holds that shared maps, reads and writes of a file agree, and that what
// msync made durable survives a crash.
func TestMap(t *testing.T) {
	d := newDisk(t, Options{})
	path := filepath.Join(d.Dir(), "f")
	write(t, path, make([]byte, 4*pageSize), true)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 4*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(m[100:], "by map")
	buf := make([]byte, 6)
	if _, err := f.ReadAt(buf, 100); err != nil || string(buf) != "by map" {
		t.Errorf("read after map: %q, %v", buf, err)
	}
	if _, err := f.WriteAt([]byte("by write"), pageSize); err != nil || string(m[pageSize:pageSize+8]) != "by write" {
		t.Errorf("map after write: %q, %v", m[pageSize:pageSize+8], err)
	}
	if err := unix.Msync(m[:pageSize], unix.MS_SYNC); err != nil {
		t.Fatal(err)
	}
	copy(m[2*pageSize:], "never synced")
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := d.Crash(0); err != nil {
		t.Fatal(err)
	}
	got := read(t, filepath.Join(d.Backing(), "f"))
	if string(got[100:106]) != "by map" || !bytes.Equal(got[2*pageSize:], make([]byte, 2*pageSize)) {
		t.Errorf("after the crash: %q", bytes.TrimRight(got, "\x00"))
	}
}

// TestFiles does random things to files on a disk and to the same files in
// memory, and compares.
func TestFiles(t *testing.T) {
	d := newDisk(t, Options{MaxDirty: 64 << 10})
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 40_000
	want := map[string][]byte{}
	names := []string{"a", "b", "sub/c"}
	if err := os.Mkdir(filepath.Join(d.Dir(), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for step := range 1500 {
		name := names[rng.IntN(len(names))]
		path := filepath.Join(d.Dir(), name)
		b, there := want[name]
		if !there {
			write(t, path, nil, false)
			want[name] = []byte{}
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		switch rng.IntN(8) {
		case 0:
			size := rng.IntN(most)
			if err := f.Truncate(int64(size)); err != nil {
				t.Fatal(err)
			}
			want[name] = append(b, make([]byte, most)...)[:size]
			if size > len(b) {
				clear(want[name][len(b):])
			}
		case 1:
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		case 2:
			to := names[rng.IntN(len(names))]
			if err := os.Rename(path, filepath.Join(d.Dir(), to)); err != nil {
				t.Fatal(err)
			}
			delete(want, name)
			want[to] = b
		case 3:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			delete(want, name)
			if info, err := f.Stat(); err != nil || info.Size() != int64(len(b)) {
				t.Fatalf("step %d: removed and open: %v, %v", step, info, err)
			}
		case 4:
			if step%3 == 0 {
				f.Close()
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				if err := d.Remount(); err != nil {
					t.Fatal(err)
				}
			}
		default:
			off, data := rng.IntN(most), make([]byte, rng.IntN(9000))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			if _, err := f.WriteAt(data, int64(off)); err != nil {
				t.Fatal(err)
			}
			if len(data) > 0 && len(b) < off+len(data) {
				b = append(bytes.Clone(b), make([]byte, off+len(data)-len(b))...)
			}
			copy(b[min(off, len(b)):], data)
			want[name] = b
		}
		f.Close()
		for name, b := range want {
			if got := read(t, filepath.Join(d.Dir(), name)); !bytes.Equal(got, b) {
				t.Fatalf("step %d: %s differs: %d bytes, expected %d", step, name, len(got), len(b))
			}
		}
	}
	for _, name := range names {
		if _, there := want[name]; !there {
			if _, err := os.Stat(filepath.Join(d.Dir(), name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestMountErrors(t *testing.T) {
	d := newDisk(t, Options{})
	full := t.TempDir()
	write(t, filepath.Join(full, "f"), nil, false)
	dir := t.TempDir()
	for want, o := range map[string]Options{
		"backing directory: empty":          {Mount: dir},
		"mount point: empty":                {Dir: dir},
		"expected neither inside the other": {Dir: dir, Mount: filepath.Join(dir, "m")},
		"is mounted there already":          {Dir: dir, Mount: d.Dir()},
		`holds "f" and more`:                {Dir: dir, Mount: full},
	} {
		if _, err := Mount(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}
