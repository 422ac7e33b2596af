package history

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func writeFile(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenScan(t *testing.T) {
	text := registers(1000)
	for name, content := range map[string][]byte{"plain.edn": text, "zipped.edn": zipped(t, text), "frames": zstandard(t, text)} {
		s, err := OpenScan(writeFile(t, name, content), ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := scanAll(s); got.err != nil || len(got.events) != 2000 {
			t.Errorf("%s: %d events, error %v", name, len(got.events), got.err)
		}
		ops, err := s.Ops([]int{1999, 0})
		if err != nil || len(ops) != 2 || ops[0].Index != 1999 || ops[1].Index != 0 {
			t.Errorf("%s: ops %v, error %v", name, ops, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"absent.edn": `absent.edn": no such file`, ".": "is a directory, expected a file"} {
		if _, err := OpenScan(filepath.Join(t.TempDir(), name), ScanOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}

// The errors of the text name the file, as ReadFile's do; those of the caller do not.
func TestScanErrors(t *testing.T) {
	path := writeFile(t, "h.edn", []byte("{:index 0}\n{:index 1}\noops"))
	s, err := OpenScan(path, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, want := ReadFile(path)
	got := scanAll(s)
	var syntax *SyntaxError
	if got.err == nil || got.err.Error() != want.Error() || !errors.As(got.err, &syntax) || syntax.Line != 3 {
		t.Errorf("error %v, want %v", got.err, want)
	}
	enough := errors.New("enough")
	if err := s.Each(context.Background(), func(e *Event) error { return enough }); err != enough || s.Count() != 1 {
		t.Errorf("error %v after %d events, want that of the caller after 1", err, s.Count())
	}
	if ops, err := s.Ops([]int{0}); err != nil || ops[0].Index != 0 {
		t.Errorf("ops %v, error %v", ops, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Each(ctx, func(e *Event) error { return nil }); err != context.Canceled {
		t.Errorf("error %v, want that of the context", err)
	}
}

// No goroutine outlives Each, whatever ends it.
func TestScanLeavesNothing(t *testing.T) {
	text := registers(20_000)
	before := runtime.NumGoroutine()
	for stop := range 50 {
		s := &Scan{in: &input{at: bytes.NewReader(text)}, workers: 3, chunkSize: 1000, every: placeEvery}
		enough := errors.New("enough")
		err := s.Each(context.Background(), func(e *Event) error {
			if e.Position == 300*stop {
				return enough
			}
			return nil
		})
		if err != enough {
			t.Fatal(err)
		}
		// One that has said that it is done may need a moment to be gone.
		for range 10_000 {
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Fatalf("%d goroutines, there were %d", after, before)
		}
	}
}

// What comes through a pipe can be looked into, read, and read again.
func TestScanPipe(t *testing.T) {
	text := registers(3000)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := make(chan error, 1)
	go func() {
		_, err := w.Write(text)
		written <- errors.Join(err, w.Close())
	}()
	s, err := NewScan(r, ScanOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	taken := 0
	if err := s.Each(t.Context(), func(*Event) error { taken++; return io.EOF }); err != io.EOF || taken != 1 {
		t.Fatalf("error %v after %d events, want that of the first", err, taken)
	}
	for range 2 {
		if got := scanAll(s); got.err != nil || len(got.events) != 6000 {
			t.Errorf("%d events, error %v", len(got.events), got.err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.in.at.(*spool).kept.Name()); err == nil {
		t.Error("the temporary file has a name")
	}
}

// A file that stands somewhere in its middle is read from there, and not copied.
func TestScanFromWhereTheFileStands(t *testing.T) {
	file, err := os.Open(writeFile(t, "h", []byte("header\n{:index 0}\n{:index 1}")))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(7, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	s, err := NewScan(file, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := scanAll(s)
	ops, err := s.Ops([]int{1})
	if got.err != nil || len(got.events) != 2 || err != nil || ops[0].Index != 1 {
		t.Errorf("%d events, %v; ops %v, %v", len(got.events), got.err, ops, err)
	}
}

// Several checkers may ask for ops at once.
func TestScanOpsAtOnce(t *testing.T) {
	text := registers(5000)
	s, err := NewScan(bytes.NewReader(zipped(t, text)), ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scanAll(s)
	var done sync.WaitGroup
	for i := range 4 {
		done.Go(func() {
			positions := []int{i * 700, 9999 - i, i, 5000}
			ops, err := s.Ops(positions)
			for j := range ops {
				if ops[j].Index != int64(positions[j]) {
					t.Errorf("op at %d has index %d", positions[j], ops[j].Index)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// A history that has changed since it was read is told as such.
func TestScanOpsOfAnotherFile(t *testing.T) {
	path := writeFile(t, "h.edn", []byte("{:index 0}\n{:index 1}\n"))
	s, err := OpenScan(path, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scanAll(s)
	if err := os.Truncate(path, 11); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ops([]int{1}); err == nil || !strings.Contains(err.Error(), "position 1 cannot be read again, as if the history had changed") {
		t.Errorf("error %v", err)
	}
}

// circle is a text that begins anew where it ends, so many bytes of it.
type circle struct {
	text []byte
	size int64
}

func (c circle) ReadAt(p []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, io.EOF
	}
	return copy(p, c.text[off%int64(len(c.text)):]), nil
}

// Memory does not grow with the history.
func TestScanMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 300 MB")
	}
	text := transactions(5000)
	in := circle{text, 300 << 20 / int64(len(text)) * int64(len(text))}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapInuse, uint64(0)
	s := &Scan{in: &input{at: in}, workers: maxWorkers, chunkSize: chunkSize, every: placeEvery}
	err := s.Each(context.Background(), func(e *Event) error {
		if e.Position%10_000 == 0 {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ops of %d MB: %d MiB of heap", s.Count(), in.size>>20, (most-before)>>20)
	if most-before > 64<<20 {
		t.Errorf("%d MiB of heap, want no more than 64", (most-before)>>20)
	}
}
