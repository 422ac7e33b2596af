package userns_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/userns"
)

// The test binary is also what the tests start: what a process is to be says its
// environment.
const roleEnv = "USERNS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "outer":
		os.Exit(outer("inner"))
	case "inner":
		os.Exit(inner())
	case "strict": // makes a namespace in which no further ones may be made
		os.Exit(outer("limited"))
	case "limited":
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println("SKIP:", err)
			os.Exit(1)
		}
		os.Exit(outer("inner"))
	}
}

// outer runs this program again in a namespace.
func outer(role string) int {
	cmd := userns.Command(os.Args[1:]...)
	cmd.Env = append(cmd.Env, roleEnv+"="+role)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	status, err := userns.Run(cmd)
	if err != nil {
		fmt.Println("refused:", err)
		return 254
	}
	return status
}

// inner says who it is, then what it is sent, and ends as its argument says or on
// SIGINT.
func inner() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		panic(err)
	}
	err = syscall.Mount("userns-test", os.TempDir(), "tmpfs", 0, "size=64k")
	fmt.Println(self, os.Getuid(), userns.Inside(), err == nil)
	if len(os.Args) > 1 {
		if os.Args[1] == "kill" {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		status, _ := strconv.Atoi(os.Args[1])
		return status
	}
	for sig := range signals {
		fmt.Println(sig)
		if sig == syscall.SIGINT {
			return 130
		}
	}
	return 0
}

// begin starts a role as an ordinary user where this one is root.
func begin(t *testing.T, role string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

// arrive reads who is inside. This machine may allow nobody in.
func arrive(t *testing.T, out *bufio.Reader) devnet.Identity {
	t.Helper()
	line := next(t, out)
	if strings.HasPrefix(line, "refused") || strings.HasPrefix(line, "SKIP") {
		t.Skipf("NOT TESTED: THIS MACHINE MAKES NO USER NAMESPACES: %s", line)
	}
	var id devnet.Identity
	var uid int
	var inside, mounted bool
	if _, err := fmt.Sscanf(line, "%d@%d %d %t %t", &id.PID, &id.Start, &uid, &inside, &mounted); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if uid != 0 || !inside || !mounted {
		t.Errorf("user %d, inside %t, may mount %t; want 0, true, true", uid, inside, mounted)
	}
	return id
}

func next(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("read %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

// TestStatus: the exit status is that of the program inside.
func TestStatus(t *testing.T) {
	for arg, want := range map[string]int{"0": 0, "3": 3, "kill": 128 + 9} {
		cmd, out := begin(t, "outer", arg)
		arrive(t, out)
		io.Copy(io.Discard, out)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s inside is exit status %d, want %d", arg, got, want)
		}
	}
}

// TestSignals: each signal to the process outside arrives inside, once.
func TestSignals(t *testing.T) {
	cmd, out := begin(t, "outer")
	arrive(t, out)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if got := next(t, out); got != sig.String() {
			t.Errorf("sent %v, arrived %s", sig, got)
		}
	}
	if rest, _ := io.ReadAll(out); len(rest) > 0 {
		t.Errorf("and then %s", rest)
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit status %d, want 130", got)
	}
}

// TestStops: a Ctrl-Z stops both, and both go on.
func TestStops(t *testing.T) {
	cmd, out := begin(t, "outer")
	inside := arrive(t, out)
	outside, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	both := func(stopped bool) func() bool {
		return func() bool {
			a, _, _ := devnet.State(outside)
			b, _, _ := devnet.State(inside)
			return (a == 'T') == stopped && (b == 'T') == stopped
		}
	}
	cmd.Process.Signal(syscall.SIGTSTP)
	wait(t, "both to stop", both(true))
	cmd.Process.Signal(syscall.SIGCONT)
	wait(t, "both to go on", both(false))
	cmd.Process.Signal(syscall.SIGINT)
	if got := next(t, out); got != "interrupt" {
		t.Errorf("after it went on: %s", got)
	}
}

// TestOwnerKilled: nobody is left inside.
func TestOwnerKilled(t *testing.T) {
	cmd, out := begin(t, "outer")
	inside := arrive(t, out)
	cmd.Process.Kill()
	wait(t, "the process inside to end", func() bool { return !devnet.Alive(inside) })
}

// TestForbidden is where the kernel makes no more of them: in a namespace of its
// own, so that nobody else notices.
func TestForbidden(t *testing.T) {
	cmd, out := begin(t, "strict")
	line := next(t, out)
	if strings.HasPrefix(line, "SKIP") {
		t.Skipf("NOT TESTED: %s", line)
	}
	if !strings.HasPrefix(line, "refused: user namespace: ") || !strings.Contains(line, "user.max_user_namespaces") {
		t.Errorf("said %q", line)
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 254 {
		t.Errorf("exit status %d, want 254", got)
	}
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
