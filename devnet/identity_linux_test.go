package devnet

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain doubles as the child process of these tests.
func TestMain(m *testing.M) {
	if os.Getenv("JEPGO_TEST_CHILD") != "" {
		os.Stdout.WriteString("up\n")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T) (*exec.Cmd, Identity) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JEPGO_TEST_CHILD=1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	id, err := Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, id
}

func awaitState(t *testing.T, id Identity, want string) {
	t.Helper()
	for {
		s, _, err := State(id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if s == want[i] {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

func TestSignalStopsContinuesAndKills(t *testing.T) {
	cmd, id := child(t)
	if !Alive(id) {
		t.Fatal("a running child is not alive")
	}
	if parent, err := Parent(id); err != nil || parent != os.Getpid() {
		t.Errorf("Parent(%s) = %d, %v, want this process, %d", id, parent, err, os.Getpid())
	}
	if err := Signal(id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitState(t, id, "T")
	if !Alive(id) {
		t.Error("a stopped child is not alive")
	}
	if err := Signal(id, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	awaitState(t, id, "RSD")
	if err := Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitState(t, id, "Z")
	if Alive(id) {
		t.Error("a zombie is alive")
	}
	if err := Signal(id, syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to a zombie: %v, want os.ErrProcessDone", err)
	}
	cmd.Wait()
	if _, _, err := State(id); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("state of a reaped child: %v, want os.ErrProcessDone", err)
	}
}

func TestSignalSparesAStrangerWithThePID(t *testing.T) {
	_, id := child(t)
	stranger := Identity{PID: id.PID, Start: id.Start - 1}
	if Alive(stranger) {
		t.Error("an older incarnation is alive")
	}
	if err := Signal(stranger, syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to an older incarnation: %v, want os.ErrProcessDone", err)
	}
	if !Alive(id) {
		t.Error("the signal reached the stranger that has the pid now")
	}
}

func TestLookupErrors(t *testing.T) {
	for _, pid := range []int{-1, 0} {
		if _, err := Lookup(pid); err == nil {
			t.Errorf("Lookup(%d) gave no error", pid)
		}
	}
	if _, err := Lookup(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Lookup of no process: %v, want os.ErrProcessDone", err)
	}
}

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 70 5 13 14 15 16 17 18 4242 20"
	for _, name := range []string{"(a)", "(a) b)", "(x y (z))", "("} {
		st, err := parseStat("12 " + name + tail)
		if name == "(" {
			if err == nil {
				t.Errorf("parseStat of a line without a name: %+v, want an error", st)
			}
			continue
		}
		if err != nil || st != (stat{state: 'S', parent: 1, cpu: 75, start: 4242}) {
			t.Errorf("parseStat with name %s: %+v, %v", name, st, err)
		}
	}
	for _, line := range []string{"", "1 (a)", "1 (a) S 1 2", "1 (a) S" + " x x x x x x x x x x x x x x x x x x x x"} {
		if st, err := parseStat(line); err == nil {
			t.Errorf("parseStat(%q) = %+v, want an error", line, st)
		}
	}
}
