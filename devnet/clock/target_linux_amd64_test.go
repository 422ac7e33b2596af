package clock

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// The test binary is also the target and the injector that is killed: the role is
// in its environment.
const (
	roleEnv = "CLOCK_TEST_ROLE"
	argsEnv = "CLOCK_TEST_ARGS"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		code := m.Run()
		if _, err := exec.LookPath("cc"); err == nil {
			if path, err := compiled(); err == nil {
				os.RemoveAll(filepath.Dir(path))
			}
		}
		os.Exit(code)
	case "target":
		targetMain()
	case "idle":
		io.Copy(io.Discard, os.Stdin)
	case "injector":
		injectorMain()
	}
}

// report is what a target says at its end.
type report struct {
	Calls int64
	Wrong []string // values that no allowed offset explains
	Seen  []int64  // calls by allowed offset
}

// allowed are offsets, in nanoseconds, that a target may see.
type allowed struct{ Lo, Hi int64 }

func exactly(ds ...time.Duration) []allowed {
	var as []allowed
	for _, d := range ds {
		as = append(as, allowed{int64(d), int64(d)})
	}
	return as
}

// targetMain reads the clock all the time and holds each value against the
// kernel's, asked before and after by system call, until its standard input ends.
func targetMain() {
	var may []allowed
	if err := json.Unmarshal([]byte(os.Getenv(argsEnv)), &may); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	r := report{Seen: make([]int64, len(may))}
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			seen := make([]int64, len(may))
			wrong := func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				if len(r.Wrong) < 10 {
					r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...))
				}
			}
			m0 := raw(unix.CLOCK_MONOTONIC)
			begin := time.Now()
			m1 := raw(unix.CLOCK_MONOTONIC)
			for n := 0; !over.Load(); n++ {
				before := raw(unix.CLOCK_REALTIME)
				now := time.Now().UnixNano()
				after := raw(unix.CLOCK_REALTIME)
				if at := explained(may, before, now, now, after); at >= 0 {
					seen[at]++
				} else {
					wrong("time.Now %d between %d and %d", now, before, after)
				}
				m2 := raw(unix.CLOCK_MONOTONIC)
				since := int64(time.Since(begin))
				m3 := raw(unix.CLOCK_MONOTONIC)
				if since < m2-m1 || since > m3-m0 {
					wrong("time.Since %d, expected %d to %d", since, m2-m1, m3-m0)
				}
				if n%8 == 7 {
					time.Sleep(time.Millisecond)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for i, n := range seen {
				r.Seen[i] += n
				r.Calls += n
			}
		})
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	over.Store(true)
	wg.Wait()
	json.NewEncoder(os.Stdout).Encode(r)
}

// explained is the last allowed offset by which a value from lo to hi lies between
// two true times, or -1.
func explained(may []allowed, before, lo, hi, after int64) int {
	at := -1
	for i, m := range may {
		if before+m.Lo <= hi && lo <= after+m.Hi {
			at = i
		}
	}
	return at
}

func raw(clock int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// target is a process that reads its clock.
type target struct {
	id    devnet.Identity
	stdin io.Closer
	out   *bufio.Reader
	ended chan struct{}
	state *os.ProcessState // when ended
}

// kinds of targets: Go is this test binary, C is testdata/target.c.
func kinds(t *testing.T) []string {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Log("SKIPPED for C programs: no C compiler (cc) on this machine")
		return []string{"Go"}
	}
	return []string{"Go", "C"}
}

func startTarget(t *testing.T, kind string, may []allowed) *target {
	t.Helper()
	needPtrace(t)
	b, err := json.Marshal(may)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=target", argsEnv+"="+string(b))
	if kind == "C" {
		path, err := compiled()
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(path)
		for _, m := range may {
			cmd.Args = append(cmd.Args, strconv.FormatInt(m.Lo, 10), strconv.FormatInt(m.Hi, 10))
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	g := &target{stdin: in, out: bufio.NewReader(r), ended: make(chan struct{})}
	if g.id, err = devnet.Lookup(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	go func() {
		devnet.Wait(cmd)
		g.state = cmd.ProcessState
		close(g.ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-g.ended
	})
	if line, err := g.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("target: %q, %v", line, err)
	}
	return g
}

// end asks for the report, which must be without fault.
func (g *target) end(t *testing.T) report {
	t.Helper()
	g.stdin.Close()
	line, err := g.out.ReadBytes('\n')
	if err != nil {
		<-g.ended
		t.Fatalf("target: no report: %v, %v", err, g.state)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	<-g.ended
	if !g.state.Success() {
		t.Errorf("target: %v", g.state)
	}
	for _, w := range r.Wrong {
		t.Errorf("target saw: %s", w)
	}
	if r.Calls == 0 {
		t.Error("target did not read its clock")
	}
	t.Logf("%d calls, by offset %v", r.Calls, r.Seen)
	return r
}

// compiled is the C program, made once.
var compiled = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "clock-test-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "target")
	if b, err := exec.Command("cc", "-O2", "-pthread", "-o", out, "testdata/target.c").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("cc: %v\n%s", err, b)
	}
	return out, nil
})

func needPtrace(t testing.TB) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}
