package clock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// TestStoppedTarget: a process that is stopped by a signal can be set off, and read,
// and stays stopped.
func TestStoppedTarget(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := startTarget(t, kind, exactly(10*time.Second, 0))
			if err := devnet.Signal(g.id, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			awaitState(t, g.id, 'T')
			s, err := Install(g.id)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Remove()
			if err := s.Set(10*time.Second, 0); err != nil {
				t.Fatal(err)
			}
			if r := mustRead(t, g.id); !near(r, 10*time.Second) {
				t.Errorf("%+v", r)
			}
			awaitState(t, g.id, 'T')
			if err := devnet.Signal(g.id, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
			if err := s.Remove(); err != nil {
				t.Fatal(err)
			}
			if g.end(t).Seen[0] == 0 {
				t.Error("never seen off")
			}
		})
	}
}

func awaitState(t *testing.T, id devnet.Identity, want byte) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		state, _, err := devnet.State(id)
		if err != nil {
			t.Fatal(err)
		}
		if state == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("state %c, expected %c", state, want)
		}
	}
}

// TestTargetDies at every step of an installation, and afterwards.
func TestTargetDies(t *testing.T) {
	for n, step := range wantSteps[:14] {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			g := startTarget(t, "Go", exactly(time.Hour, 0))
			i := 0
			s, err := install(g.id, func(step string) {
				if i == n {
					syscall.Kill(g.id.PID, syscall.SIGKILL)
				}
				i++
			})
			if err == nil {
				<-g.ended
				if _, err := s.Read(); !errors.Is(err, os.ErrProcessDone) {
					t.Errorf("read: %v", err)
				}
				if err := s.Remove(); err != nil {
					t.Errorf("remove: %v", err)
				}
			} else if !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("install: %v", err)
			}
			<-g.ended
			if g.state.String() != "signal: killed" {
				t.Errorf("target: %v", g.state)
			}
			if _, err := Install(g.id); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("install: %v", err)
			}
			if _, err := Patched(g.id); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("patched: %v", err)
			}
		})
	}
}

// TestOnlyTheTarget: the host's clock and those of processes beside do not move.
func TestOnlyTheTarget(t *testing.T) {
	g, sibling := startTarget(t, "Go", exactly(2*time.Hour, 0)), startTarget(t, "Go", exactly(0))
	real0, mono0 := raw(unix.CLOCK_REALTIME), raw(unix.CLOCK_MONOTONIC)
	s, err := Install(g.id)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if err := s.Set(2*time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if r := mustRead(t, g.id); !near(r, 2*time.Hour) {
			t.Errorf("target %+v", r)
		}
		if r := mustRead(t, sibling.id); !near(r, 0) {
			t.Errorf("sibling %+v", r)
		}
		real1, mono1 := raw(unix.CLOCK_REALTIME), raw(unix.CLOCK_MONOTONIC)
		if d := time.Duration(real1 - real0 - (mono1 - mono0)); max(d, -d) > 20*time.Millisecond {
			t.Errorf("the host's clock moved by %v", d)
		}
		if d := time.Duration(time.Now().UnixNano() - raw(unix.CLOCK_REALTIME)); max(d, -d) > time.Minute {
			t.Errorf("our own clock is off by %v", d)
		}
	}
	if patched, err := Patched(sibling.id); patched || err != nil {
		t.Errorf("sibling: %v, %v", patched, err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	sibling.end(t)
}

// TestForeign: what somebody else did to a vDSO is left as it is.
func TestForeign(t *testing.T) {
	g := startTarget(t, "Go", exactly(0))
	m, err := pristine()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := readMaps(fmt.Sprintf("/proc/%d/maps", g.id.PID))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", g.id.PID), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	// Some bytes in the padding at the end, which nobody runs.
	at := int64(find(maps, "[vdso]").hi) - 16
	if _, err := mem.WriteAt([]byte("somebody else"), at); err != nil {
		t.Skipf("SKIPPED: this kernel lets only tracers write: %v", err)
	}
	if _, err := Install(g.id); !errors.Is(err, ErrForeign) {
		t.Errorf("install: %v", err)
	}
	if _, err := Patched(g.id); !errors.Is(err, ErrForeign) {
		t.Errorf("patched: %v", err)
	}
	if err := Restore(g.id); !errors.Is(err, ErrForeign) {
		t.Errorf("restore: %v", err)
	}
	b := make([]byte, 13)
	if _, err := mem.ReadAt(b, at); err != nil || string(b) != "somebody else" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := mem.WriteAt(m.bytes[len(m.bytes)-16:], at); err != nil {
		t.Fatal(err)
	}
	g.end(t)
}

func TestSetRefuses(t *testing.T) {
	s := &Skew{page: make([]byte, pageSize)}
	for _, c := range []struct {
		d   time.Duration
		ppm float64
	}{{MaxOffset + 1, 0}, {-MaxOffset - 1, 0}, {0, MaxPPM + 1}, {0, -MaxPPM - 1}, {0, math.NaN()}, {0, math.Inf(1)}} {
		if err := s.Set(c.d, c.ppm); err == nil {
			t.Errorf("%v, %v: no error", c.d, c.ppm)
		}
	}
	if err := s.Set(time.Second, 1); err != nil {
		t.Error(err)
	}
	if _, err := Install(devnet.Identity{PID: os.Getpid()}); err == nil {
		t.Error("install on itself: no error")
	}
}

func TestMulShift(t *testing.T) {
	hold := func(a, b int64) {
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Rsh(want, 32) // rounds down
		if got := mulShift(a, b); got != want.Int64() {
			t.Fatalf("%d * %d >> 32 = %v, got %d", a, b, want, got)
		}
	}
	for _, a := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		for _, b := range []int64{-rateUnit, -1, 0, 1, rateUnit} {
			hold(a, b)
		}
	}
	for range 10_000 {
		// Of any size; small ones would be rare among all there are.
		hold(int64(rand.Uint64())>>rand.IntN(64), rand.Int64N(2*rateUnit+1)-rateUnit)
	}
}

// TestDisplace moves instructions that vDSOs begin with, or could.
func TestDisplace(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"\x55\x48\x89\xe5\x83\xff\x17", "\x55\x48\x89\xe5\x83\xff\x17"},
		{"\xf3\x0f\x1e\xfa\x55", "\xf3\x0f\x1e\xfa\x55"},                                         // endbr64; push
		{"\x48\x8d\x05\x10\x00\x00\x00", "\x48\x8d\x05\x10\xf0\xff\xff"},                         // lea rax, [rip+0x10]
		{"\xe9\x00\x00\x00\x00", "\xe9\x00\xf0\xff\xff"},                                         // jmp
		{"\x0f\x87\x08\x10\x00\x00", "\x0f\x87\x08\x00\x00\x00"},                                 // ja
		{"\x81\x3d\x00\x00\x00\x00\xff\xff\xff\x7f", "\x81\x3d\x00\xf0\xff\xff\xff\xff\xff\x7f"}, // cmp dword [rip], imm
		{"\x77\x08\x90\x90\x90", ""},                                                             // a short branch
	} {
		got, err := displace([]byte(c.code), 0x10000, 0x11000)
		if c.want == "" && err == nil || c.want != "" && (err != nil || string(got) != c.want) {
			t.Errorf("%x: %x, %v", c.code, got, err)
		}
	}
}

func TestWindow(t *testing.T) {
	nops := bytes.Repeat([]byte{0x90}, 4200)
	at := func(offset int, code string) []byte {
		b := bytes.Clone(nops)
		copy(b[offset:], code)
		return b
	}
	for _, c := range []struct {
		name string
		code []byte
		at   int
		want int // 0: refused
	}{
		{"nops", at(0, ""), 0, 5},
		{"push, mov, cmp", at(0, "\x55\x48\x89\xe5\x83\xff\x17"), 0, 7},
		{"a branch to its start", at(0, "\x90\x90\x90\x90\x90\xeb\xf9"), 0, 5},
		{"a branch into it", at(0, "\x90\x90\x90\x90\x90\xeb\xfb"), 0, 0},
		{"over two pages", at(0, ""), 4093, 0},
		{"no instruction", at(20, "\x06"), 0, 0},
	} {
		w, err := windowOf(c.code, c.at, 64)
		if (err == nil) != (c.want > 0) || w.size != c.want && err == nil {
			t.Errorf("%s: %+v, %v", c.name, w, err)
		}
	}
	if _, err := windowOf(nops, 0, 4); err == nil {
		t.Error("a function of 4 bytes: no error")
	}
}

// TestOwnersWait: a parent that sets its child's clock off is not told that the
// child has ended.
func TestOwnersWait(t *testing.T) {
	needPtrace(t)
	b, _ := json.Marshal(exactly(0))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=target", argsEnv+"="+string(b))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- devnet.Wait(cmd) }()
	for range 50 {
		if _, err := Read(id); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it still runs, and Wait returned %v", err)
	default:
	}
	in.Close()
	if err := <-ended; err != nil || !cmd.ProcessState.Success() {
		t.Errorf("%v, %v", err, cmd.ProcessState)
	}
}
