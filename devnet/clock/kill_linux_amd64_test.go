package clock

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// injection tells an injector whom to skew and at which step to stand still.
type injection struct {
	Target devnet.Identity
	Step   int
}

// injectorMain installs a skew of an hour, tells each step, and stands still at one,
// to be killed there.
func injectorMain() {
	var args injection
	if err := json.Unmarshal([]byte(os.Getenv(argsEnv)), &args); err != nil {
		panic(err)
	}
	n := 0
	at := func(step string) {
		fmt.Println(step)
		if n == args.Step {
			time.Sleep(time.Hour) // until it is killed
		}
		n++
	}
	s, err := install(args.Target, at)
	if err != nil {
		panic(err)
	}
	if err := s.Set(time.Hour, 0); err != nil {
		panic(err)
	}
	at("set")
	time.Sleep(2 * renewal)
	at("renewed")
	fmt.Println("over")
}

// steps of installation: none may be left out.
var wantSteps = []string{"open", "stopped", "borrowed", "code mapped", "code written", "memfd", "data made", "data mapped",
	"closed", "given back", "patched 1", "patched 2", "patched 3", "let go", "set", "renewed"}

// TestInjectorKilled kills the injector at every step: the target goes on with the
// right clock within two seconds, or dies where it ran on foreign registers; and what
// is left is seen and restored.
func TestInjectorKilled(t *testing.T) {
	for _, kind := range kinds(t) {
		for n, step := range wantSteps {
			if kind == "C" && step == "renewed" {
				continue // as after "set", and it takes two seconds
			}
			t.Run(kind+" "+step, func(t *testing.T) {
				t.Parallel()
				g := startTarget(t, kind, exactly(time.Hour, 0))
				b, err := json.Marshal(injection{g.id, n})
				if err != nil {
					t.Fatal(err)
				}
				injector := exec.Command(os.Args[0])
				injector.Env = append(os.Environ(), roleEnv+"=injector", argsEnv+"="+string(b))
				injector.Stderr = os.Stderr
				out, err := injector.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := injector.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for i := 0; i <= n && lines.Scan(); i++ {
					if lines.Text() != wantSteps[i] {
						t.Errorf("step %d: %q, expected %q", i, lines.Text(), wantSteps[i])
					}
				}
				injector.Process.Kill()
				injector.Wait()
				killed := time.Now()

				borrowed := 2 <= n && n <= 8
				if borrowed {
					<-g.ended
					if !strings.Contains(g.state.String(), "killed") {
						t.Errorf("target on foreign registers: %v", g.state)
					}
					if err := Restore(g.id); !errors.Is(err, os.ErrProcessDone) {
						t.Errorf("restore: %v", err)
					}
					return
				}
				for {
					r := mustRead(t, g.id)
					if near(r, 0) {
						break
					}
					if d := r.Host.Sub(killed); d > Lease+200*time.Millisecond {
						t.Fatalf("%v after its owner the clock is off: %+v", d, r)
					}
					time.Sleep(10 * time.Millisecond)
				}
				left, err := Patched(g.id)
				if err != nil || left != (n >= 10) {
					t.Errorf("patched: %v, %v", left, err)
				}
				found, err := Sweep()
				if err != nil {
					t.Error(err)
				}
				swept := false
				for _, p := range found {
					if p.Target == g.id {
						swept = true
						if p.Live || p.Owner.PID != injector.Process.Pid {
							t.Errorf("sweep: %+v", p)
						}
					}
				}
				if swept != left {
					t.Errorf("sweep found %v, patched: %v", found, left)
				}
				for range 2 {
					if err := Restore(g.id); err != nil {
						t.Fatal(err)
					}
				}
				if left, err := Patched(g.id); err != nil || left {
					t.Errorf("patched after restore: %v, %v", left, err)
				}
				// And the next one re-uses what is left.
				before := dataPages(t, g.id)
				s, err := Install(g.id)
				if err != nil {
					t.Fatal(err)
				}
				if after := dataPages(t, g.id); after != max(1, before) {
					t.Errorf("data pages: %d, then %d", before, after)
				}
				if err := s.Set(time.Hour, 0); err != nil {
					t.Fatal(err)
				}
				if r := mustRead(t, g.id); !near(r, time.Hour) {
					t.Errorf("second skew: %+v", r)
				}
				if err := s.Remove(); err != nil {
					t.Fatal(err)
				}
				g.end(t)
			})
		}
	}
}

func dataPages(t *testing.T, id devnet.Identity) int {
	t.Helper()
	maps, err := readMaps(fmt.Sprintf("/proc/%d/maps", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	return len(pages(maps))
}

// TestTakeOver: the next owner takes over what a dead one left, without a restore.
func TestTakeOver(t *testing.T) {
	g := startTarget(t, "Go", exactly(time.Hour, 0))
	b, _ := json.Marshal(injection{g.id, len(wantSteps) - 1})
	injector := exec.Command(os.Args[0])
	injector.Env = append(os.Environ(), roleEnv+"=injector", argsEnv+"="+string(b))
	out, err := injector.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := injector.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "renewed"; {
	}
	if _, err := Install(g.id); !errors.Is(err, ErrSkewed) {
		t.Errorf("beside a living owner: %v", err)
	}
	if r := mustRead(t, g.id); !near(r, time.Hour) {
		t.Errorf("the first skew is gone: %+v", r)
	}
	injector.Process.Kill()
	injector.Wait()
	s, err := Install(g.id)
	if err != nil {
		t.Fatal(err)
	}
	if n := dataPages(t, g.id); n != 1 {
		t.Errorf("%d data pages", n)
	}
	if _, err := Install(g.id); !errors.Is(err, ErrSkewed) {
		t.Errorf("two of one owner: %v", err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
}
