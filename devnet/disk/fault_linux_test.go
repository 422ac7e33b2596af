package disk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFaults sets each fault and lets a process of its own try everything; then
// it clears the fault, and another process finds a sound disk.
func TestFaults(t *testing.T) {
	sound := map[string]string{
		"open": "<nil>", "read": "<nil>", "flipped": "0", "write": "<nil>", "grow": "<nil>", "fsync": "<nil>",
		"create": "<nil>", "rename": "<nil>",
	}
	for name, c := range map[string]struct {
		fault Fault
		want  map[string]string
		count func(Counters) int64
	}{
		"read":   {Fault{Read: 1}, map[string]string{"read": "EIO", "flipped": "0"}, func(c Counters) int64 { return c.FailedReads }},
		"write":  {Fault{Write: 1}, map[string]string{"write": "EIO", "grow": "EIO"}, func(c Counters) int64 { return c.FailedWrites }},
		"fsync":  {Fault{Fsync: 1}, map[string]string{"fsync": "EIO"}, func(c Counters) int64 { return c.FailedFsyncs }},
		"full":   {Fault{Full: true}, map[string]string{"grow": "ENOSPC"}, func(c Counters) int64 { return c.Full }},
		"quota":  {Fault{Full: true, Quota: 4 << 20}, map[string]string{}, nil},
		"ro":     {Fault{ReadOnly: true}, map[string]string{"open": "EROFS", "create": "EROFS", "rename": "EROFS"}, func(c Counters) int64 { return c.ReadOnly }},
		"flip":   {Fault{Flip: 1}, map[string]string{"flipped": "some"}, func(c Counters) int64 { return c.Flipped }},
		"others": {Fault{Path: "other*", Read: 1, Write: 1, Fsync: 1, Flip: 1}, map[string]string{}, nil},
		"named":  {Fault{Path: "ol?", Write: 1}, map[string]string{"write": "EIO", "grow": "EIO"}, func(c Counters) int64 { return c.FailedWrites }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, Options{Seed: 7})
			old := filepath.Join(d.Dir(), "old")
			fill := bytes.Repeat([]byte{0x77}, 16<<10)
			write(t, old, fill, true)
			read(t, old) // so that the page cache has it
			open, err := os.OpenFile(old, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			read(t, old)

			if err := d.Set(c.fault); err != nil {
				t.Fatal(err)
			}
			got := try(t, d)
			for what, normal := range sound {
				want, changed := c.want[what]
				if !changed {
					want = normal
				}
				if want == "some" {
					if got[what] == "0" || got[what] == "" {
						t.Errorf("%s: %q", what, got[what])
					}
					continue
				}
				if c.fault.ReadOnly && got[what] == "" {
					continue // it could not open the file
				}
				if got[what] != want {
					t.Errorf("%s: %q, expected %q", what, got[what], want)
				}
			}
			if c.count != nil && c.count(d.Counters()) == 0 {
				t.Errorf("not counted: %+v", d.Counters())
			}
			if c.fault.ReadOnly {
				if _, err := open.WriteAt([]byte("x"), 0); !errors.Is(err, syscall.EROFS) {
					t.Errorf("write through an open file: %v", err)
				}
			}
			d.Clear()
			write(t, old, fill, true)
			bites := d.Counters().Bites()
			for what, want := range try(t, d) {
				if want != sound[what] {
					t.Errorf("%s after the fault: %q", what, want)
				}
			}
			if more := d.Counters().Bites() - bites; more > 0 {
				t.Errorf("after the fault it bit %d times", more)
			}
		})
	}
}

// try runs a process that tries everything and returns what it says.
func try(t *testing.T, d *Disk) map[string]string {
	t.Helper()
	_, out := process(t, "try "+d.Dir())
	got := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, said, _ := strings.Cut(lines.Text(), " ")
		got[what] = said
	}
	return got
}

// TestCache holds that a flipped page does not outlive its fault in the page
// cache of a process that keeps the file open, and a good one does not hide it.
func TestCache(t *testing.T) {
	d := newDisk(t, Options{Seed: 9})
	path := filepath.Join(d.Dir(), "f")
	write(t, path, make([]byte, pageSize), true)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := func() bool {
		buf := make([]byte, pageSize)
		if _, err := f.ReadAt(buf, 0); err != nil {
			t.Fatal(err)
		}
		return bytes.Equal(buf, make([]byte, pageSize))
	}
	if !zeros() {
		t.Fatal("before the fault: not what was written")
	}
	if err := d.Set(Fault{Flip: 1}); err != nil {
		t.Fatal(err)
	}
	if zeros() {
		t.Error("the page cache hides the fault")
	}
	d.Clear()
	if !zeros() {
		t.Error("the page cache keeps the fault")
	}
}

func TestQuota(t *testing.T) {
	d := newDisk(t, Options{})
	if err := d.Set(Fault{Full: true, Quota: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(d.Dir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for ; err == nil; n++ {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) || n != 17 {
		t.Errorf("write %d: %v", n, err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(d.Dir(), &st); err != nil || st.Bavail != 0 {
		t.Errorf("free blocks %d, %v", st.Bavail, err)
	}
	if _, err := f.WriteAt(make([]byte, 1000), 0); err != nil {
		t.Errorf("write in place: %v", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	f.Close()
	wait(t, "a removed file frees its bytes", func() bool {
		return os.WriteFile(filepath.Join(d.Dir(), "g"), make([]byte, 1<<20), 0o644) == nil
	})
}

func TestLatency(t *testing.T) {
	d := newDisk(t, Options{})
	c, err := d.NewCanary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const delay = 40 * time.Millisecond
	f, err := os.Create(filepath.Join(d.Dir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := d.Set(Fault{Latency: delay}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		took, err := c.Write(int64(i))
		if err != nil || took < delay {
			t.Errorf("canary: write took %v, %v", took, err)
		}
		began := time.Now()
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < delay {
			t.Errorf("write took %v", took)
		}
	}
	if n := d.Counters(); n.Delayed != 5 || n.DelayedTime < 5*delay {
		t.Errorf("delayed: %+v", n)
	} else {
		t.Logf("asked for %v, delayed by %v", delay, n.DelayedTime/5)
	}
	d.Clear()
	before := d.Counters().Delayed
	if _, err := f.Write([]byte("x")); err != nil || d.Counters().Delayed != before {
		t.Errorf("delayed after the fault: %v", err)
	}
}

// TestShare holds the number of faults to 4.5 standard deviations, and to the
// seed.
func TestShare(t *testing.T) {
	const n, share = 2000, 0.1
	var first []bool
	for range 2 {
		d := newDisk(t, Options{Seed: 11})
		f, err := os.Create(filepath.Join(d.Dir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := d.Set(Fault{Write: share}); err != nil {
			t.Fatal(err)
		}
		failed := 0
		var which []bool
		for range n {
			_, err := f.WriteAt([]byte("x"), 0)
			if err != nil {
				failed++
			}
			which = append(which, err != nil)
		}
		if sd := math.Sqrt(n * share * (1 - share)); math.Abs(float64(failed)-n*share) > 4.5*sd {
			t.Errorf("%d of %d failed, expected %v", failed, n, n*share)
		}
		if first != nil && fmt.Sprint(first) != fmt.Sprint(which) {
			t.Error("the same seed failed other writes")
		}
		first = which
	}
}

func TestTorn(t *testing.T) {
	d := newDisk(t, Options{Seed: 13})
	path := filepath.Join(d.Dir(), "f")
	write(t, path, bytes.Repeat([]byte{1}, 8*pageSize), true)
	if err := d.Set(Fault{Torn: 1}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := f.Write(bytes.Repeat([]byte{2}, 8*pageSize)); err != nil || n != 8*pageSize {
		t.Fatalf("torn write: %d, %v", n, err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	d.Clear()
	got := read(t, path)
	new := bytes.Count(got, []byte{2})
	if new == 0 || new == len(got) || new%sectorSize != 0 || got[new-1] != 2 || got[new] != 1 {
		t.Errorf("%d bytes of %d arrived", new, len(got))
	}
	if c := d.Counters(); c.Torn != 1 || c.TornBytes != int64(len(got)-new) {
		t.Errorf("counters: %+v", c)
	}
}

func TestSetErrors(t *testing.T) {
	d := newDisk(t, Options{})
	for want, f := range map[string]Fault{
		"share of read 1.5: expected 0 to 1":             {Read: 1.5},
		"quota -1 bytes: expected 0 or more":             {Full: true, Quota: -1},
		"latency 1h0m0s: expected 0 to 1m0s":             {Latency: time.Hour},
		`path "[": expected a pattern such as *.log`:     {Path: "["},
		"share of flip NaN: expected 0 to 1":             {Flip: math.NaN()},
		"share of latency " + strconv.Itoa(-1) + ": exp": {Share: -1},
	} {
		if err := d.Set(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}
