//go:build live

package live

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start begins a test run in dir and returns once its history has more than
// lines lines.
func start(t *testing.T, dir string, lines int, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"test", "--seed", "7"}, args...)...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	history := filepath.Join(dir, "store", "latest", "history.edn")
	eventually(t, 2*time.Minute, "the history grows", func() bool {
		data, err := os.ReadFile(history)
		return err == nil && bytes.Count(data, []byte("\n")) > lines
	})
	return cmd, &out
}

// TestKillMinusNine kills jepgo at random moments of a run under all faults: no
// node survives, the machine is soon as before without anybody's help, and what
// is left can be read and judged.
func TestKillMinusNine(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range *rounds {
		dir := t.TempDir()
		before := snapshot(t)
		lines := rng.IntN(3000)
		cmd, _ := start(t, dir, lines, "--nemesis", "all", "--nemesis-interval", "2s", "--time", "5m")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		dead := time.Now()
		eventually(t, time.Minute, "all node processes end", func() bool { return len(validators(t, dir)) == 0 })
		eventually(t, time.Minute, "the machine is as before", func() bool { return len(changes(t, before)) == 0 })
		t.Logf("nothing left after %v", time.Since(dead).Round(time.Millisecond))
		if r := jepgo(t, dir, "heal"); r.status != 0 {
			t.Errorf("after %d lines: jepgo heal: %s", lines, r)
		}
		if r := jepgo(t, dir, "heal"); r.status != 0 || !strings.HasPrefix(r.stdout, "nothing to heal") {
			t.Errorf("after %d lines: the second jepgo heal: %s", lines, r)
		}
		r := jepgo(t, dir, "check", "store/latest")
		if (r.status != 0 && r.status != 2) || strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("after %d lines: jepgo check: %s", lines, r)
		}
		t.Logf("killed after %d lines: %s", lines, r.stdout)
	}
}

// TestInterrupt stops a run by its first signal: it heals, reads, judges.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	cmd, out := start(t, dir, 500, "--nemesis", "partition", "--nemesis-interval", "3s", "--time", "10m")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 {
		t.Errorf("exit status %d, want 130\n%s", status, out)
	}
	if j := latest(t, dir); j.Valid == false || j.Ops == 0 {
		t.Errorf("judgement %+v", j)
	}
	clean(t, dir)
}

// TestAttach points the workloads at a network that the test did not start.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	up := jepgo(t, dir, "devnet", "up", "--json")
	if up.status != 0 {
		t.Fatalf("devnet up: %s", up)
	}
	defer func() {
		if r := jepgo(t, dir, "devnet", "down"); r.status != 0 {
			t.Errorf("devnet down: %s", r)
		}
		eventually(t, time.Minute, "the devnet's nodes end", func() bool { return len(validators(t, dir)) == 0 })
	}()
	urls := httpURLs(t, up.stdout)
	if r := jepgo(t, dir, "test", "--rpc", urls, "--nemesis", "kill", "--time", "10s"); r.status != 254 || !strings.Contains(r.stderr, "--nemesis kill") {
		t.Errorf("a kill of foreign nodes is refused by name: %s", r)
	}
	if r := jepgo(t, dir, "test", "--rpc", urls, "--nemesis", "none", "--time", "10s"); r.status != 0 {
		t.Errorf("attached run: %s", r)
	}
	if r := jepgo(t, dir, "devnet", "status"); r.status != 0 {
		t.Errorf("devnet status: %s", r)
	}
}
