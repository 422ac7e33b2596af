package history

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// childEnv tells the test binary to record into the file of that name until it
// is killed.
const childEnv = "JEPGO_HISTORY_TEST_CHILD"

// batch is how many ops the child records at once.
const batch = 10

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, recordForever(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// recordForever records and reports on standard output the last op of each batch.
func recordForever(path string) error {
	r, err := Create(path)
	if err != nil {
		return err
	}
	for {
		var op Op
		for i := range int64(batch) {
			if op, err = r.Record(sampleOp(i)); err != nil {
				return err
			}
		}
		time.Sleep(time.Millisecond) // some 10,000 ops a second
		if _, err := fmt.Println(op.Index, op.Time); err != nil {
			return err
		}
	}
}

// sampleOp is what a client of the register workload records.
func sampleOp(n int64) Op {
	op := Op{Type: Invoke, Process: Client(n % 20), F: "write", Value: Vec(Int(n%7), Int(n)), Node: "n3"}
	if n%2 == 1 {
		op.Type = OK
		op.Extra = []Field{{HeightKey, Int(n)}, {HashKey, Text("0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")}}
	}
	return op
}

func TestRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.edn")
	r, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 500
	stamped := make([]Op, writers*each)
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				before := r.Now()
				op, err := r.Record(Op{Type: Invoke, Process: Client(int64(w)), F: "read", Value: Int(int64(i))})
				if err != nil {
					t.Error(err)
					return
				}
				if op.Time < before || op.Time > r.Now() {
					t.Errorf("op recorded from %d to %d has time %d", before, r.Now(), op.Time)
				}
				stamped[op.Index] = op
			}
		})
	}
	wait.Wait()
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	synced, err := ReadFile(path)
	if err != nil || len(synced.Ops) != len(stamped) {
		t.Fatalf("after Sync: %d ops, error %v; want %d", len(synced.Ops), err, len(stamped))
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Record(Op{}); err == nil || r.Err() != nil {
		t.Errorf("after Close: Record gives %v, Err %v", err, r.Err())
	}
	h, err := ReadFile(path)
	if err != nil || h.Cut != nil || len(h.Ops) != len(stamped) {
		t.Fatalf("%d ops, cut %v, error %v", len(h.Ops), h.Cut, err)
	}
	last := int64(0)
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Index != int64(i) || op.Time < last || !equalOps(op, &stamped[i]) {
			t.Fatalf("op %d is %s after time %d, want %s", i, op, last, &stamped[i])
		}
		last = op.Time
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.edn")
	if err := os.WriteFile(path, []byte("{:index 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, want string
		is         error
	}{
		{path, "exists and is never overwritten", fs.ErrExist},
		{dir, "exists and is never overwritten", fs.ErrExist},
		{filepath.Join(dir, "none", "history.edn"), "no such file", fs.ErrNotExist},
	} {
		r, err := Create(tt.path)
		if r != nil || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.path, err, tt.want)
		}
		if n := strings.Count(fmt.Sprint(err), tt.path); n != 1 {
			t.Errorf("%v names the path %d times", err, n)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{:index 0}\n" {
		t.Errorf("file holds %q, error %v", text, err)
	}
}

// memory is a file that keeps what reached it, and fails on demand.
type memory struct {
	mu            sync.Mutex
	text          []byte
	synced        int // bytes of text that a Sync has covered
	closed        bool
	writes, syncs error
	hold          chan struct{} // when not nil, Write waits for it
}

func (m *memory) Write(p []byte) (int, error) {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes != nil {
		n := len(p) / 2
		m.text = append(m.text, p[:n]...)
		return n, m.writes
	}
	m.text = append(m.text, p...)
	return len(p), nil
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.syncs == nil {
		m.synced = len(m.text)
	}
	return m.syncs
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// ops returns how many ops were written and how many were synced.
func (m *memory) ops() (written, synced int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Count(string(m.text), "\n"), strings.Count(string(m.text[:m.synced]), "\n")
}

// On a clock that is not the wall's: an op is written within 100 ms and synced
// within a second, with nothing else recorded and nobody asking.
func TestRecorderPromptness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &memory{}
		r := newRecorder(file)
		for i := range 30 {
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
			op, err := r.Record(sampleOp(int64(i)))
			if err != nil {
				t.Fatal(err)
			}
			if op.Time != r.Now() {
				t.Errorf("op at %d has time %d", r.Now(), op.Time)
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if written, _ := file.ops(); written != i+1 {
				t.Errorf("%d ops written 100 ms after op %d", written, i)
			}
			time.Sleep(900 * time.Millisecond)
			synctest.Wait()
			if _, synced := file.ops(); synced != i+1 {
				t.Errorf("%d ops synced a second after op %d", synced, i)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A large buffer is written without waiting for the clock, and a disk that hangs
// holds up Record only when 64 MiB are waiting.
func TestRecorderBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &memory{hold: make(chan struct{})}
		r := newRecorder(file)
		if r.most != 64<<20 {
			t.Errorf("%d bytes may wait for the disk, want 64 MiB", r.most)
		}
		r.most = 1 << 20
		op := Op{Type: Info, Value: Text(strings.Repeat("x", 16<<10))}
		recorded := 0
		done := make(chan error)
		go func() {
			for range 200 {
				if _, err := r.Record(op); err != nil {
					done <- err
					return
				}
				recorded++
			}
			done <- nil
		}()
		// The first op is with the disk, which hangs.
		time.Sleep(time.Hour)
		synctest.Wait()
		r.mu.Lock()
		waiting, sofar := len(r.buf), recorded
		r.mu.Unlock()
		if waiting < r.most || waiting > r.most+32<<10 || sofar >= 200 {
			t.Errorf("%d bytes wait for the disk and %d ops were recorded", waiting, sofar)
		}
		close(file.hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if written, synced := file.ops(); written != 200 || synced != 200 || !file.closed {
			t.Errorf("%d ops written, %d synced, closed: %t", written, synced, file.closed)
		}
	})
}

// The first error of the disk is announced, stays, and leaves a readable prefix.
func TestRecorderFailure(t *testing.T) {
	for name, file := range map[string]*memory{
		"write": {writes: syscall.ENOSPC},
		"fsync": {syncs: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := errors.Join(file.writes, file.syncs)
				var cause syscall.Errno
				errors.As(want, &cause)
				r := newRecorder(file)
				for i := range int64(3) {
					if _, err := r.Record(sampleOp(i)); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case <-r.Failed():
					t.Fatal("failed before the disk did")
				default:
				}
				<-r.Failed() // nobody records: the recorder itself finds out
				_, err := r.Record(sampleOp(3))
				for call, got := range map[string]error{"Record": err, "Err": r.Err(), "Sync": r.Sync(), "Close": r.Close(), "second Close": r.Close()} {
					if !errors.Is(got, cause) {
						t.Errorf("%s: error %v, want %v", call, got, cause)
					}
				}
				if !file.closed {
					t.Error("file was not closed")
				}
				if _, err := ReadAll(strings.NewReader(string(file.text)), EDN()); err != nil {
					t.Errorf("what was written cannot be read: %v", err)
				}
			})
		})
	}
}

// Who waits for room is woken by a failure.
func TestRecorderFailureWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &memory{hold: make(chan struct{}), writes: syscall.EIO}
		r := newRecorder(file)
		r.most = 1 << 20
		done := make(chan error)
		go func() {
			op := Op{Value: Text(strings.Repeat("x", 16<<10))}
			for {
				if _, err := r.Record(op); err != nil {
					done <- err
					return
				}
			}
		}()
		synctest.Wait()
		close(file.hold)
		if err := <-done; !errors.Is(err, syscall.EIO) {
			t.Errorf("error %v", err)
		}
		if err := r.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("Close: error %v", err)
		}
	})
}

// A real device that is full.
func TestRecorderOnFullDevice(t *testing.T) {
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no device that is always full: %v", err)
	}
	r := newRecorder(file)
	if _, err := r.Record(sampleOp(0)); err != nil {
		t.Fatal(err)
	}
	<-r.Failed()
	if err := r.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: error %v, want %v", err, syscall.ENOSPC)
	}
}

// A recorder that is killed in full flight leaves a prefix without a gap, with
// everything that was recorded a second before the kill.
func TestRecorderKilled(t *testing.T) {
	// Only a machine that stands still for a second makes one try fail; a
	// recorder that does not keep its word fails them all.
	const tries = 3
	for try := 1; ; try++ {
		lost := killRecorder(t)
		t.Logf("try %d: %v before the kill were lost", try, lost)
		if lost < time.Second {
			return
		}
		if try == tries {
			t.Fatalf("ops recorded %v before the kill were lost, %d times of %d", lost, tries, tries)
		}
	}
}

// killRecorder kills a recording process and returns how long before the kill
// the first op was recorded that is not in the file.
func killRecorder(t *testing.T) time.Duration {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.edn")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()

	var index, at int64
	lines := bufio.NewScanner(out)
	next := func() bool {
		if !lines.Scan() {
			return false
		}
		if _, err := fmt.Sscan(lines.Text(), &index, &at); err != nil {
			t.Fatalf("child says %q: %v", lines.Text(), err)
		}
		return true
	}
	// Recording goes on until the file shows that the recorder writes by itself.
	for shown := int64(0); shown == 0 || at < int64(1500*time.Millisecond); {
		if !next() {
			t.Fatal("child ended before it was killed")
		}
		if info, err := os.Stat(path); err == nil {
			shown = info.Size()
		}
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// What the child still says it had recorded when it died.
	for next() {
	}

	h, err := ReadFile(path)
	if err != nil {
		t.Fatalf("what is left cannot be read: %v", err)
	}
	for i := range h.Ops {
		want := sampleOp(int64(i) % batch)
		want.Index, want.Time = int64(i), h.Ops[i].Time
		if !equalOps(&h.Ops[i], &want) || i > 0 && want.Time < h.Ops[i-1].Time {
			t.Fatalf("op %d is %s, want %s", i, &h.Ops[i], &want)
		}
	}
	if len(h.Ops) == 0 {
		t.Fatal("nothing is left")
	}
	t.Logf("%d ops in the file, op %d reported before the kill, cut: %v", len(h.Ops), index, h.Cut)
	if index < int64(len(h.Ops)) {
		return 0
	}
	return time.Duration(at - h.Ops[len(h.Ops)-1].Time)
}

func BenchmarkRecorder(b *testing.B) {
	r, err := Create(filepath.Join(b.TempDir(), "history.edn"))
	if err != nil {
		b.Fatal(err)
	}
	op := sampleOp(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Record(op); err != nil {
			b.Fatal(err)
		}
	}
	// What is not on the disk does not count.
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkRecorderLatency(b *testing.B) {
	r, err := Create(filepath.Join(b.TempDir(), "history.edn"))
	if err != nil {
		b.Fatal(err)
	}
	op := sampleOp(1)
	var took [1 << 16]int64 // the latest ones
	n := 0
	for b.Loop() {
		start := time.Now()
		if _, err := r.Record(op); err != nil {
			b.Fatal(err)
		}
		took[n%len(took)] = int64(time.Since(start))
		n++
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(median(took[:min(n, len(took))])), "median-ns")
}
