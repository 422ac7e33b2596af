package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

const bound = time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// fake writes a devnet file of three fake nodes; more is added to its template.
func fake(t *testing.T, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fake.yaml")
	text := fmt.Sprintf(`profile: longest-chain
chain_id: 7
template:
  ports: {http: free, p2p: free}
  p2p: {gossip: p2p}
  files:
    config.json: |
      {"data": {{json .Data}}, "http": "{{.Host}}:{{.Ports.http}}", "p2p": "{{.Host}}:{{.Ports.p2p}}", "linger": LINGER,
       "peers": [{{range $i, $p := .Peers}}{{if $i}},{{end}}{{json $p.Dial.gossip}}{{end}}]}
  init:
    - [%[1]q, fake-init, "{{.Home}}/config.json"]
  command: [%[1]q, fake-node, "{{.Home}}/config.json", "{{if false}}left out{{end}}"]
  env: {FAKE: "{{.Name}} of {{len .Nodes}}"}
%[2]s
nodes: 3
`, self, more)
	text = strings.ReplaceAll(text, "LINGER", fmt.Sprint(strings.Contains(more, "linger")))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, o Options) *Network {
	t.Helper()
	n, err := Start(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func read(t *testing.T, path string) *File {
	t.Helper()
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func get(t *testing.T, url string) (string, bool) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return err.Error(), false
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b), resp.StatusCode == http.StatusOK
}

// TestNetwork holds a network of one and the same file to the same on each kind of
// links.
func TestNetwork(t *testing.T) {
	for _, made := range mechanism.Names() {
		t.Run(made, func(t *testing.T) {
			t.Parallel()
			if err := mechanism.Probe(made); err != nil {
				t.Skipf("NOT TESTED: links %s: %v", made, err)
			}
			testNetwork(t, made)
		})
	}
}

func testNetwork(t *testing.T, made string) {
	n := start(t, Options{
		File: read(t, fake(t, "  ready: {port: p2p, log: fake node is up}")), Dir: t.TempDir(), Seed: "1", RPCProxies: true, Link: made,
	})
	nodes := n.Nodes()
	if len(nodes) != 3 || nodes[0].Name != "n1" || nodes[2].P2P["gossip"] == "" {
		t.Fatalf("nodes %+v", nodes)
	}
	for _, node := range nodes {
		if h, err := n.Height(within(t), node.Name); err != nil || h == 0 {
			t.Errorf("node %s: height %d, %v", node.Name, h, err)
		}
		if n.Proxy(node.Name) == nil || node.HTTP == n.plans[node.Name].node.HTTP {
			t.Errorf("node %s: no proxy before its RPC", node.Name)
		}
	}
	env, _ := get(t, n.plans["n2"].node.HTTP+"/env")
	for _, want := range []string{"FAKE=n2 of 3", "HOME=" + filepath.Join(n.dir, "n2"), "JEPGO_DEVNET_NODE=" + filepath.Join(n.dir, "n2")} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %q", want)
		}
	}

	// Links: n1 reaches n2 and n3 over edges of their own.
	call := func(node, peer string) bool {
		_, ok := get(t, n.plans[node].node.HTTP+"/call/"+peer)
		return ok
	}
	edge := link.Edge{From: "n1", To: "n2"}
	if !call("n1", "0") {
		t.Error("n1 does not reach n2")
	}
	if made != mechanism.Direct {
		if n.Links().Counters(edge).Bytes == 0 {
			t.Errorf("n1 reaches n2 past the link: %+v", n.Links().Counters(edge))
		}
		if err := n.Links().Cut(edge); err != nil {
			t.Fatal(err)
		}
		if call("n1", "0") {
			t.Error("n1 reaches n2 over a link that is cut")
		}
		if !call("n1", "1") || !call("n2", "1") {
			t.Error("a cut of n1→n2 keeps n3 from them")
		}
		if err := n.Links().Heal(edge); err != nil {
			t.Fatal(err)
		}
		if !call("n1", "0") {
			t.Error("n1 does not reach n2 after the heal")
		}
	}

	// Processes: killed, started again on the same data, where they were.
	was, _ := n.Identity("n1")
	home := space(t, was)
	if own := home != space(t, self(t)); own != (n.homes.spaces != nil) {
		t.Errorf("n1 in a network namespace of its own: %v", own)
	}
	born, _ := get(t, n.plans["n1"].node.HTTP+"/genesis")
	if err := n.Kill(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if exit := <-n.Exits(); exit.Node != "n1" || exit.Signal != syscall.SIGKILL || exit.Process != was || !strings.Contains(exit.Tail, "fake node is up") {
		t.Errorf("exit %+v", exit)
	}
	if _, err := n.Start(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if err := n.Ready(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if now, ok := n.Identity("n1"); !ok || now == was || space(t, now) != home {
		t.Errorf("identity %v in %s after the restart, it was %v in %s", now, space(t, now), was, home)
	}
	if !call("n1", "0") || !call("n2", "0") {
		t.Error("the restarted n1 does not reach n2, or is not reached")
	}
	if again, _ := get(t, n.plans["n1"].node.HTTP+"/genesis"); again != born {
		t.Errorf("a restarted node was initialised again: %q, it was %q", again, born)
	}

	// Wiped: initialised anew.
	if err := n.Kill(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(n.Dir("n1")); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Start(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if err := n.Ready(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if again, _ := get(t, n.plans["n1"].node.HTTP+"/genesis"); again == born {
		t.Error("a wiped node was not initialised")
	}

	// Paused: it does not answer, and does again.
	if err := n.Signal("n2", syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped, _ := n.Identity("n2")
	for state, _, err := devnet.State(stopped); state != 'T'; state, _, err = devnet.State(stopped) {
		if err := errors.Join(err, within(t).Err()); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := n.Height(short, "n2"); err == nil {
		t.Error("a paused node answers")
	}
	if err := n.Signal("n2", syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := n.Ready(within(t), "n2"); err != nil {
		t.Error(err)
	}
}

// TestEndpointsInNamespaces: what nodes serve in namespaces of their own is found
// by its URL there, whatever they listen on, by everybody and past the links.
func TestEndpointsInNamespaces(t *testing.T) {
	if err := mechanism.Probe(mechanism.Emulator); err != nil {
		t.Skipf("NOT TESTED: links emulator: %v", err)
	}
	path := fake(t, `  host: 127.0.0.1
  http: "http://localhost:{{.Ports.http}}/rpc"
  ws: "ws://0.0.0.0:{{.Ports.http}}"
  metrics: {own: "http://127.0.0.1:{{.Ports.http}}/genesis", first: "http://{{(index .Nodes 0).Host}}:{{.Ports.p2p}}/x", far: "http://192.0.2.1:80/x"}`)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The usual port, on all nodes and in each on the loopback device.
	local := strings.NewReplacer("http: free", "http: 8545", `"http": "{{.Host}}:`, `"http": "127.0.0.1:`).Replace(string(text))
	if err := os.WriteFile(path, []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	n := start(t, Options{File: read(t, path), Dir: t.TempDir(), Seed: "1", Link: mechanism.Emulator})
	for _, from := range n.homes.names {
		for _, to := range n.homes.names {
			if e := (link.Edge{From: from, To: to}); from != to {
				if err := n.Links().Cut(e); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	seen := make(map[string]string)
	for i, node := range n.Nodes() {
		if h, err := n.Height(within(t), node.Name); err != nil || h == 0 {
			t.Errorf("node %s at %s: height %d, %v", node.Name, node.HTTP, h, err)
		}
		genesis, ok := get(t, node.Metrics["own"])
		if other := seen[genesis]; !ok || other != "" {
			t.Errorf("%s of node %s answers %q, %v, as that of %q", node.Metrics["own"], node.Name, genesis, ok, other)
		}
		seen[genesis] = node.Name
		outside := n.homes.outside(i) + ":"
		if !strings.HasPrefix(node.HTTP, "http://"+outside) || !strings.HasSuffix(node.HTTP, "/rpc") || !strings.HasPrefix(node.Metrics["own"], "http://"+outside) {
			t.Errorf("node %s is found at %s and %q", node.Name, node.HTTP, node.Metrics)
		}
		if _, ok := get(t, strings.Replace(node.WS, "ws://"+outside, "http://"+outside, 1)+"/env"); !ok {
			t.Errorf("node %s does not answer at %s", node.Name, node.WS) // beside HTTP, on another port
		}
		if first := "http://" + n.homes.outside(0) + ":"; !strings.HasPrefix(node.Metrics["first"], first) || node.Metrics["far"] != "http://192.0.2.1:80/x" {
			t.Errorf("node %s has metrics at %q", node.Name, node.Metrics)
		}
		if want := n.homes.host(i); !strings.HasPrefix(node.P2P["gossip"], want+":") || want == "127.0.0.1" {
			t.Errorf("node %s listens for peers at %q, want %s", node.Name, node.P2P, want)
		}
	}
}

// space is the network namespace of a process.
func space(t *testing.T, id devnet.Identity) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func self(t *testing.T) devnet.Identity {
	t.Helper()
	id, err := devnet.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestStartRefuses(t *testing.T) {
	path := fake(t, "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		old, new string
		alloc    []string
		want     string
	}{
		{"  command: [", "  command: [no-such-client, ", nil, `program "no-such-client": `},
		{"", "", []string{"0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"}, "no template has looked at .Accounts"},
		{"fake-init, ", "fake-init, /nowhere, ", nil, "init: "},
		{"{{.Name}} of", "{{.Nome}} of", nil, "fake.yaml:13:15: "},
		{"fake-node, ", "fake-node, /nowhere, ", nil, "process ended: exit status 1; the end of "},
	} {
		broken := strings.Replace(string(text), test.old, test.new, 1)
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		n, err := Start(within(t), Options{File: read(t, path), Dir: dir, Seed: "1", Alloc: test.alloc})
		if err == nil {
			n.Close(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.new, err, test.want)
		}
		if left := marked(t, dir); len(left) > 0 {
			t.Errorf("%q: processes %v are left", test.new, left)
		}
	}
}

// marked lists the processes of nodes below dir, by their marks.
func marked(t *testing.T, dir string) []devnet.Identity {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var all []devnet.Identity
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(b), "JEPGO_DEVNET_NODE="+dir+"/") {
			continue
		}
		var pid int
		fmt.Sscanf(file, "/proc/%d/", &pid)
		if id, err := devnet.Lookup(pid); err == nil && devnet.Alive(id) {
			all = append(all, id)
		}
	}
	return all
}

// TestKilledOwnerLeavesNothing kills what runs a network: its nodes die with it,
// and Sweep finds what they had put in sessions of their own.
func TestKilledOwnerLeavesNothing(t *testing.T) {
	for _, made := range []string{mechanism.Proxy, mechanism.Emulator, mechanism.Kernel} {
		t.Run(made, func(t *testing.T) {
			t.Parallel()
			if err := mechanism.Probe(made); err != nil {
				t.Skipf("NOT TESTED: links %s: %v", made, err)
			}
			testKilledOwner(t, made)
		})
	}
}

func testKilledOwner(t *testing.T, made string) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self, "fake-owner", fake(t, "  role: linger"), dir, made)
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Process.Kill(); owner.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("owner says %q, %v", line, err)
	}
	nodes := marked(t, dir)
	if len(nodes) != 6 {
		t.Fatalf("processes %v, want three nodes and what each of them started", nodes)
	}
	spaces := make(map[string]bool)
	for _, id := range nodes {
		spaces[space(t, id)] = true
	}
	if left, err := child.Sweep(within(t), dir); err != nil || len(left) != 0 {
		t.Fatalf("Sweep killed %v, %v: their owner lives", left, err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()
	for len(marked(t, dir)) > 3 { // the kernel is on it
		if err := within(t).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	swept, err := child.Sweep(within(t), dir)
	if err != nil || len(swept) != 3 {
		t.Errorf("Sweep killed %v, %v, want the three that lingered", swept, err)
	}
	if left := marked(t, dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if made != mechanism.Proxy { // nobody holds the namespaces, which have no names
		for _, name := range inhabited(t) {
			if spaces[name] {
				t.Errorf("network namespace %s is left", name)
			}
		}
	}
	if again, err := child.Sweep(within(t), dir); err != nil || len(again) > 0 {
		t.Errorf("Sweep found %v, %v the second time", again, err)
	}
}

// inhabited lists the network namespaces that some thread lives in.
func inhabited(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestGroupEndsWithItsLeader: a wrapper script that does not exec leaves nothing
// when it is killed.
func TestGroupEndsWithItsLeader(t *testing.T) {
	path := fake(t, "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := strings.Replace(string(text), "  command: [", `  command: [/bin/sh, -c, '"$@"; true', sh, `, 1)
	if err := os.WriteFile(path, []byte(wrapped), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := start(t, Options{File: read(t, path), Dir: dir, Seed: "1"})
	if got := marked(t, dir); len(got) != 6 {
		t.Fatalf("processes %v, want three shells and their nodes", got)
	}
	if err := n.Kill(within(t), "n1"); err != nil {
		t.Fatal(err)
	}
	for len(marked(t, dir)) > 4 {
		if err := within(t).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := n.Start(within(t), "n1"); err != nil { // its ports are free
		t.Fatal(err)
	}
	if err := n.Ready(within(t), "n1"); err != nil {
		t.Error(err)
	}
	if err := n.Signal("n9", syscall.SIGTERM); err == nil || errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to a node that is none: %v", err)
	}
}
