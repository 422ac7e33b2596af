//go:build live

package live

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// example is the path of an example, once the clients that it needs are built.
func example(t *testing.T, name string, clients ...string) string {
	t.Helper()
	for _, c := range clients {
		if _, err := os.Stat(filepath.Join("../examples/bin", c)); err != nil {
			t.Skipf("NOT TESTED: examples/%s needs examples/bin/%s: run examples/build-geth.sh %s", name, c, strings.TrimPrefix(c, "geth-"))
		}
	}
	path, err := filepath.Abs(filepath.Join("../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCliqueReorganises: what a chain without finality does is valid under its
// profile, and the same history invalid under the claim that blocks stay.
func TestCliqueReorganises(t *testing.T) {
	file := example(t, "clique/clique.yaml", "geth-v1.13.15")
	dir := t.TempDir()
	r := jepgo(t, dir, "test", "--devnet", file, "--workload", "register,head", "--nemesis", "partition:halves", "--time", "1m", "--rate", "20", "--seed", "3")
	if r.status != 0 || !strings.Contains(r.stdout, "left 1 block behind") {
		t.Fatalf("want a valid run with reorganisations: %s", r)
	}
	for name, c := range latest(t, dir).Checkers {
		if c.Valid != true || c.Facts == 0 {
			t.Errorf("checker %s: valid %v, %d facts: %s", name, c.Valid, c.Facts, c.Reason)
		}
	}
	if r := jepgo(t, dir, "check", "--claim", "final", "store/latest"); r.status != 1 || !strings.Contains(r.stdout, "invalid\tfork: at height ") {
		t.Errorf("want the same history invalid where blocks are claimed to stay: %s", r)
	}
	clean(t, dir)
}

// TestSplitOf2021 finds CVE-2021-39137 between go-ethereum v1.10.7 and v1.10.8.
func TestSplitOf2021(t *testing.T) {
	file := example(t, "split-2021/split.yaml", "geth-v1.10.8", "geth-v1.10.7")
	dir := t.TempDir()
	r := jepgo(t, dir, "test", "--devnet", file, "--workload", "precompile,head", "--nemesis", "none", "--time", "20s", "--rate", "5", "--seed", "1")
	if r.status != 1 || !strings.Contains(r.stdout, "the network is split: block ") || !strings.Contains(r.stdout, " on n1, n2, n3") {
		t.Errorf("want a split between n1, n2, n3 and the others: %s", r)
	}
	clean(t, dir)
}

// spaced is that mechanism of links, which needs network namespaces, or the one that
// needs nothing.
func spaced(t *testing.T, name string) string {
	t.Helper()
	if err := mechanism.Probe(name); err != nil {
		t.Logf("LINKS %s NOT TESTED: %v", name, err)
		return mechanism.Proxy
	}
	return name
}

// TestEmbeddedFromAFile runs jepgo's own validators as any client.
func TestEmbeddedFromAFile(t *testing.T) {
	file := example(t, "embedded.yaml")
	dir := t.TempDir()
	r := jepgo(t, dir, "test", "--devnet", file, "--link", spaced(t, mechanism.Kernel), "--nemesis", "partition:halves,kill:proposer,pause:one", "--time", "60s", "--nemesis-interval", "4s", "--seed", "2")
	if r.status != 0 {
		t.Errorf("want a valid run: %s", r)
	}
	clean(t, dir)
}

// TestKillMinusNineOnAFile: nothing is left of a network of somebody else's
// processes when jepgo is killed.
func TestKillMinusNineOnAFile(t *testing.T) {
	file := example(t, "embedded.yaml")
	dir := t.TempDir()
	before := snapshot(t)
	cmd, _ := start(t, dir, 200, "--devnet", file, "--link", spaced(t, mechanism.Emulator), "--nemesis", "partition,pause,kill", "--nemesis-interval", "2s", "--time", "5m")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	eventually(t, time.Minute, "all node processes end", func() bool { return len(validators(t, dir)) == 0 })
	eventually(t, time.Minute, "the machine is as before", func() bool { return len(changes(t, before)) == 0 })
	if r := jepgo(t, dir, "heal"); r.status != 0 {
		t.Errorf("jepgo heal: %s", r)
	}
	clean(t, dir)
}
