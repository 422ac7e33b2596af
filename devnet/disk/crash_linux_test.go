package disk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func write(t *testing.T, path string, data []byte, sync bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCrash(t *testing.T) {
	d := newDisk(t, Options{Seed: 1})
	ten := bytes.Repeat([]byte{7}, 10_000)
	write(t, filepath.Join(d.Dir(), "durable"), ten, true)
	write(t, filepath.Join(d.Dir(), "lost"), ten, false)
	write(t, filepath.Join(d.Dir(), "part"), ten, true)
	f, err := os.OpenFile(filepath.Join(d.Dir(), "part"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{8, 8, 8}, 9_998); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 10_001 {
		t.Errorf("size before the crash: %v, %v", info.Size(), err)
	}
	f.Close()
	write(t, filepath.Join(d.Dir(), "removed"), ten, false)
	if err := os.Remove(filepath.Join(d.Dir(), "removed")); err != nil {
		t.Fatal(err)
	}

	lost, err := d.Crash(0)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Lost{Files: 2, Pages: 4, Bytes: 10_003}); lost != want {
		t.Errorf("lost %+v, expected %+v", lost, want)
	}
	if _, err := d.Crash(0); err != ErrDead {
		t.Errorf("second crash: %v", err)
	}
	if entries, err := os.ReadDir(d.Dir()); err != nil || len(entries) > 0 {
		t.Errorf("mount point after the crash: %v, %v", entries, err)
	}
	if err := d.Remount(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"durable": ten, "part": ten, "lost": {}} {
		if got := read(t, filepath.Join(d.Dir(), name)); !bytes.Equal(got, want) {
			t.Errorf("%s after the crash: %d bytes, expected %d", name, len(got), len(want))
		}
	}
	if c := d.Counters(); c.Crashes != 1 || c.LostBytes != lost.Bytes {
		t.Errorf("counters: %+v", c)
	}
}

// TestCrashTorn holds that sectors survive whole, by the share, and that the same
// seed and writes lose the same.
func TestCrashTorn(t *testing.T) {
	const pages = 200
	var before []byte
	for range 2 {
		d := newDisk(t, Options{Seed: 3})
		path := filepath.Join(d.Dir(), "f")
		write(t, path, bytes.Repeat([]byte{1}, pages*pageSize), true)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(bytes.Repeat([]byte{2}, pages*pageSize)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		lost, err := d.Crash(0.5)
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, filepath.Join(d.Backing(), "f"))
		kept := 0
		for s := 0; s < len(got); s += sectorSize {
			sector := got[s : s+sectorSize]
			if n := bytes.Count(sector, []byte{2}); n != 0 && n != sectorSize {
				t.Fatalf("sector at %d is half written", s)
			} else if n > 0 {
				kept++
			}
		}
		// 1600 draws of a half: sd 20.
		if kept < 700 || kept > 900 || int64(kept) != lost.Kept || lost.Bytes != int64(len(got)-kept*sectorSize) {
			t.Errorf("kept %d sectors of 1600, and it says %+v", kept, lost)
		}
		_ = before
	}
}

// TestTwentyCrashes kills a writer under load twenty times. What it was told to
// be durable is there each time, and the rest of the file is a clean prefix.
func TestTwentyCrashes(t *testing.T) {
	d := newDisk(t, Options{Seed: 5})
	var lostBytes int64
	for i := range 20 {
		cmd, out := process(t, "writer "+filepath.Join(d.Dir(), "log"))
		lines := bufio.NewScanner(out)
		told := -1
		for range 5 + i {
			if !lines.Scan() {
				t.Fatal("writer ended")
			}
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			told = n
		}
		kill(t, cmd)
		for lines.Scan() {
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				told = n
			}
		}
		lost, err := d.Crash(0)
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		lostBytes += lost.Bytes
		if err := d.Remount(); err != nil {
			t.Fatal(err)
		}
		b := read(t, filepath.Join(d.Dir(), "log"))
		if len(b) < (told+1)*recordSize {
			t.Fatalf("crash %d: %d bytes are left, and %d records were durable", i, len(b), told+1)
		}
		for n := 0; (n+1)*recordSize <= len(b); n++ {
			if got := binary.LittleEndian.Uint64(b[n*recordSize:]); got != uint64(n) {
				t.Fatalf("crash %d: record %d is %d", i, n, got)
			}
		}
		if err := os.Truncate(filepath.Join(d.Dir(), "log"), int64(len(b)/recordSize*recordSize)); err != nil {
			t.Fatal(err)
		}
	}
	if lostBytes == 0 {
		t.Error("twenty crashes under load lost nothing")
	}
	t.Logf("lost %d bytes", lostBytes)
}

func TestWriteback(t *testing.T) {
	d := newDisk(t, Options{Writeback: 20e6, MaxDirty: 1 << 20})
	write(t, filepath.Join(d.Dir(), "old"), []byte("old"), false)
	wait(t, "write-back by age", func() bool { return d.Dirty() == 0 })
	write(t, filepath.Join(d.Dir(), "large"), make([]byte, 3<<20), false)
	if dirty := d.Dirty(); dirty > 1<<20 {
		t.Errorf("dirty: %d bytes", dirty)
	}
	if _, err := d.Crash(0); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(d.Backing(), "old")); string(got) != "old" {
		t.Errorf("after write-back and crash: %q", got)
	}
	if d.Counters().Writebacks == 0 {
		t.Error("nothing was counted as written back")
	}
}
