//go:build live

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	length       = flag.Duration("length", 20*time.Second, "main phase of each live run")
	faultsLength = flag.Duration("faults", time.Minute, "main phase of the runs with every fault")
	seeds        = flag.Int("seeds", 1, "how many seeds each nemesis is tried with")
	rounds       = flag.Int("rounds", 1, "how often each bug and each kill -9 is tried")
)

var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "jepgo-live-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "jepgo")
	cmd := exec.Command("go", "build", "-o", binary, "../cmd/jepgo")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "jepgo does not build:", err)
		return 1
	}
	return m.Run()
}

// result is what one command left behind.
type result struct {
	status         int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("exit status %d\nstdout:\n%s\nstderr:\n%s", r.status, r.stdout, r.stderr)
}

// patience is when a command that hangs is given up: far beyond anything that a
// slow machine explains.
const patience = 8 * time.Minute

// jepgo runs one command to its end in dir.
func jepgo(t *testing.T, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("jepgo %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// judgement is the part of results.json that the tests read.
type judgement struct {
	Valid     any                  `json:"valid"`
	Reason    string               `json:"reason"`
	Ops       int                  `json:"ops"`
	Anomalies map[string][]anomaly `json:"anomalies"`
	Checkers  map[string]struct {
		Valid    any      `json:"valid"`
		Reason   string   `json:"reason"`
		Facts    int      `json:"facts"`
		Warnings []string `json:"warnings"`
	} `json:"checkers"`
}

type anomaly struct {
	Checker string `json:"checker"`
	Message string `json:"message"`
	Witness []struct {
		Index int    `json:"index"`
		Op    string `json:"op"`
	} `json:"witness"`
}

var process = regexp.MustCompile(`:process ([^ ,}]+)`)

// operations counts the witness: the invocation of an operation and its completion
// are one.
func (a anomaly) operations() int {
	n, open := 0, map[string]bool{}
	for _, ref := range a.Witness {
		var of string
		if m := process.FindStringSubmatch(ref.Op); m != nil {
			of = m[1]
		}
		invoked := strings.Contains(ref.Op, ":type :invoke")
		if invoked || !open[of] {
			n++
		}
		open[of] = invoked
	}
	return n
}

func latest(t *testing.T, dir string) judgement {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "store", "latest", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var j judgement
	if err := json.Unmarshal(data, &j); err != nil {
		t.Fatalf("results.json: %v\n%s", err, data)
	}
	return j
}

// validators returns the command lines of node processes whose data is below
// dir.
func validators(t *testing.T, dir string) []string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(real)) || !bytes.Contains(line, []byte("validator")) {
			continue
		}
		if stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat")); err == nil {
			_, rest, _ := strings.Cut(string(stat), ") ")
			if strings.HasPrefix(rest, "Z") {
				continue // dead, and only waits to be counted
			}
		}
		found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// eventually waits for a condition, checking often.
func eventually(t *testing.T, bound time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", bound, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// clean asserts that a run left nothing behind.
func clean(t *testing.T, dir string) {
	t.Helper()
	if left := validators(t, dir); len(left) > 0 {
		t.Errorf("node processes are left: %s", left)
	}
	r := jepgo(t, dir, "heal")
	if r.status != 0 || !strings.HasPrefix(r.stdout, "nothing to heal") {
		t.Errorf("jepgo heal found something: %s", r)
	}
}

// httpURLs reads the RPC endpoints from what jepgo devnet up --json printed.
func httpURLs(t *testing.T, out string) string {
	t.Helper()
	var state struct {
		Nodes []struct {
			HTTP string `json:"http"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(out), &state); err != nil || len(state.Nodes) == 0 {
		t.Fatalf("devnet up --json: %v\n%s", err, out)
	}
	var urls []string
	for _, n := range state.Nodes {
		urls = append(urls, n.HTTP)
	}
	return strings.Join(urls, ",")
}
