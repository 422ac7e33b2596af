//go:build live

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/ask"
	"github.com/jepgo/jepgo/devnet/link"
)

func start(t *testing.T, opts Options) *Network {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = tempDir(t)
	}
	begun := time.Now()
	n, err := Start(within(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes: block 1 on all, and all ready, after %v", len(n.Nodes()), time.Since(begun).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

func height(t *testing.T, n *Network) (highest uint64) {
	t.Helper()
	for _, node := range n.Nodes() {
		h, err := ask.Height(within(t), node.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, h)
	}
	return highest
}

// cutHalves separates the first half of the nodes from the rest, both ways.
func cutHalves(t *testing.T, n *Network) (cut []link.Edge) {
	t.Helper()
	nodes := n.Nodes()
	side := make(map[string]bool)
	for i, node := range nodes {
		side[node.Name] = i < len(nodes)/2
	}
	for _, e := range n.Links().Edges() {
		if side[e.From] != side[e.To] {
			if err := n.Links().Cut(e); err != nil {
				t.Fatal(err)
			}
			cut = append(cut, e)
		}
	}
	return cut
}

func TestLiveEndpoints(t *testing.T) {
	n := start(t, Options{})
	for _, node := range n.Nodes() {
		for name, url := range node.Metrics {
			resp, err := http.Get(url)
			if err != nil {
				t.Errorf("%s metrics of %s: %v", name, node.Name, err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || bytes.Count(body, []byte("\n")) < 50 {
				t.Errorf("%s metrics of %s: %s, %d bytes, %v", name, node.Name, resp.Status, len(body), err)
			}
		}
		if h, err := ask.Height(within(t), node.WS); err != nil || h == 0 {
			t.Errorf("WebSocket of %s: height %d, %v", node.Name, h, err)
		}
		if _, err := os.Stat(node.Log); err != nil {
			t.Error(err)
		}
	}
	for _, e := range n.Links().Edges() {
		if c := n.Links().Counters(e); c.Bytes == 0 {
			t.Errorf("%s carries nothing: %+v", e, c)
		}
	}
	// A second network at the same time has addresses of its own.
	second := start(t, Options{Nodes: 1})
	if a, b := n.State().Subnet, second.State().Subnet; a == b {
		t.Errorf("two networks share subnet %+v", a)
	}
}

func TestLiveHalves(t *testing.T) {
	const held = 15 * time.Second
	n := start(t, Options{})
	ctx := within(t)
	cut := cutHalves(t, n)
	eventually(t, "every cut edge to drop something", func() bool {
		for _, e := range cut {
			if n.Links().Counters(e).Dropped == 0 {
				return false
			}
		}
		return true
	})
	before := height(t, n)
	time.Sleep(held) // the fault itself, not a wait for something
	// A block that was decided before the cut may still have been on its way.
	stuck := height(t, n)
	if stuck > before+1 {
		t.Errorf("the chain went from %d to %d while no side had two thirds", before, stuck)
	}
	var dropped link.Counters
	for _, e := range cut {
		c := n.Links().Counters(e)
		dropped.Dropped += c.Dropped
		dropped.RefusedDials += c.RefusedDials
	}
	t.Logf("2|2 for %v at height %d: %d bytes dropped, %d dials refused", held, stuck, dropped.Dropped, dropped.RefusedDials)
	begun := time.Now()
	for _, e := range cut {
		if err := n.Links().Heal(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.WaitBlock(ctx, stuck+1); err != nil {
		t.Fatal(err)
	}
	t.Logf("next block on all nodes %v after the heal", time.Since(begun).Round(time.Millisecond))
	if err := n.WaitBlock(ctx, stuck+4); err != nil {
		t.Fatal(err)
	}
	for _, node := range n.Nodes() {
		if err := n.Ready(ctx, node.Name); err != nil {
			t.Error(err)
		}
	}
}

func TestLiveKillAndStart(t *testing.T) {
	n := start(t, Options{})
	ctx := within(t)
	if _, err := n.Start(ctx, "n2"); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second start of a running node: %v", err)
	}
	for i := range 3 {
		before, ok := n.Identity("n2")
		if !ok {
			t.Fatal("n2 does not run")
		}
		if i == 2 { // as a nemesis does it, and started again at once
			if err := devnet.Signal(before, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the killed process to end", func() bool { return !devnet.Alive(before) })
		} else {
			if err := n.Kill(ctx, "n2"); err != nil {
				t.Fatal(err)
			}
			if id, ok := n.Identity("n2"); ok {
				t.Fatalf("n2 runs as %s after Kill", id)
			}
			if err := n.WaitBlock(ctx, 1); err == nil || !strings.Contains(err.Error(), "signal: killed") {
				t.Errorf("waiting for a dead node: %v", err)
			}
		}
		after, err := n.Start(ctx, "n2")
		if err != nil {
			t.Fatal(err)
		}
		if after == before || !devnet.Alive(after) {
			t.Errorf("started as %s after %s", after, before)
		}
		if err := n.Ready(ctx, "n2"); err != nil {
			t.Fatal(err)
		}
		select {
		case exit := <-n.Exits():
			if exit.Node != "n2" || exit.Process != before || exit.Signal != syscall.SIGKILL {
				t.Errorf("exit %+v, want the kill of n2", exit)
			}
		case <-ctx.Done():
			t.Fatal("the exit was not told")
		}
		if s, err := readState(n.dir); err != nil || s.Processes["n2"] != after {
			t.Errorf("state says %+v, %v, want n2 as %s", s, err, after)
		}
	}
}

// A node that cannot run says why: to those who wait for it, and on Exits.
func TestLiveCrash(t *testing.T) {
	n := start(t, Options{Nodes: 1})
	ctx := within(t)
	if err := n.Kill(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	<-n.Exits()
	if err := os.WriteFile(configPath(n.dir, "n1"), []byte(`{"name": "moth"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Start(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if err := n.Ready(ctx, "n1"); err == nil || !strings.Contains(err.Error(), "config names: empty") || !strings.Contains(err.Error(), "exit status") {
		t.Errorf("waiting for a node that crashes: %v", err)
	}
	select {
	case exit := <-n.Exits():
		if exit.Signal != 0 || !strings.Contains(exit.Tail, "config names: empty") {
			t.Errorf("exit %+v, want one without a signal and with the node's words", exit)
		}
	case <-ctx.Done():
		t.Fatal("the exit was not told")
	}
}

// Close takes paused nodes along, and nothing is left.
func TestLiveClosePaused(t *testing.T) {
	n := start(t, Options{})
	ctx := within(t)
	if err := n.Signal("n3", syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s := n.State()
	begun := time.Now()
	for range 2 {
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("closed after %v", time.Since(begun).Round(time.Millisecond))
	for name, id := range s.Processes {
		if devnet.Alive(id) {
			t.Errorf("%s runs after Close", name)
		}
	}
	if _, err := n.Start(ctx, "n1"); err == nil {
		t.Error("a node was started on a closed network")
	}
	if len(n.Exits()) != 0 {
		t.Errorf("Close told of an exit: %+v", <-n.Exits())
	}
	if s, err := readState(n.dir); err != nil || s.Owner != (devnet.Identity{}) || len(s.Processes) != 0 {
		t.Errorf("state after Close: %+v, %v", s, err)
	}
}

// kill -9 of the process that owns the network, at any moment, leaves no node.
func TestLiveOwnerKilled(t *testing.T) {
	for _, nodes := range []int{1, 4} { // how many have started when it is killed
		dir := tempDir(t)
		var out bytes.Buffer
		cmd := exec.Command(self, ownerCommand, "--dir", dir)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var s *State
		eventually(t, fmt.Sprintf("%d nodes to be started", nodes), func() bool {
			var err error
			s, err = readState(dir)
			return err == nil && len(s.Processes) >= nodes && (nodes < 4 || s.Ready)
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		for name, id := range s.Processes {
			eventually(t, name+" to die with its owner", func() bool { return !devnet.Alive(id) })
		}
		if left, err := Sweep(within(t), dir); err != nil || len(left) != 0 {
			t.Errorf("the owner was killed with %d nodes up; left: %v, %v; it said: %s", len(s.Processes), left, err, &out)
		}
	}
}

func TestLiveUpStatusDown(t *testing.T) {
	dir := filepath.Join(tempDir(t), "devnet")
	ctx := within(t)
	t.Cleanup(func() { Down(context.Background(), dir) })
	up := func() *State {
		t.Helper()
		begun := time.Now()
		s, err := Up(ctx, UpOptions{Dir: dir, Seed: "up"})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("up after %v", time.Since(begun).Round(time.Millisecond))
		h, err := Status(ctx, dir)
		if err != nil || !h.Running || !h.Supervised || !h.Healthy() {
			t.Fatalf("status %+v, %v, want a healthy devnet", h, err)
		}
		return s
	}
	first := up()
	if again := up(); again.Owner != first.Owner {
		t.Errorf("a second up changed the supervisor from %s to %s", first.Owner, again.Owner)
	}
	if _, err := Start(ctx, Options{Dir: dir}); err == nil {
		t.Error("a second network started in the directory")
	}
	node := first.Nodes[0]
	had, err := ask.Height(ctx, node.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	if swept, err := Sweep(ctx, filepath.Dir(dir)); err != nil || len(swept) != 0 {
		t.Errorf("sweep found %v, %v among supervised nodes", swept, err)
	}
	for range 2 {
		if err := Down(ctx, dir); err != nil {
			t.Fatal(err)
		}
		for name, id := range first.Processes {
			if devnet.Alive(id) {
				t.Errorf("%s runs after down", name)
			}
		}
	}
	if h, err := Status(ctx, dir); err != nil || h.Running || h.Healthy() {
		t.Errorf("status after down: %+v, %v", h, err)
	}
	second := up()
	if second.Subnet != first.Subnet {
		t.Errorf("up moved from %+v to %+v, though that was free", first.Subnet, second.Subnet)
	}
	if now, err := ask.Height(ctx, node.HTTP); err != nil || now <= had {
		t.Errorf("height %d, %v on the old data, want more than %d", now, err, had)
	}
	// kill -9 of the supervisor takes the nodes along, and up works again.
	if err := devnet.Signal(second.Owner, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for name, id := range second.Processes {
		eventually(t, name+" to die with the supervisor", func() bool { return !devnet.Alive(id) })
	}
	third := up()
	// A supervisor without any node is no devnet that is up.
	for name, id := range third.Processes {
		if err := devnet.Signal(id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" to die", func() bool { return !devnet.Alive(id) })
	}
	if last := up(); last.Owner == third.Owner {
		t.Errorf("up left the nodes down under supervisor %s", last.Owner)
	}
}

// The directory of a test is handed over to a supervisor, and Down leaves a
// running test alone.
func TestLiveHandOver(t *testing.T) {
	n := start(t, Options{Nodes: 1})
	ctx := within(t)
	t.Cleanup(func() { Down(context.Background(), n.dir) })
	if err := Down(ctx, n.dir); err == nil || !strings.Contains(err.Error(), "test") {
		t.Errorf("down of a test's network: %v", err)
	}
	if _, err := Up(ctx, UpOptions{Dir: n.dir}); err == nil {
		t.Error("up on the directory of a running test")
	}
	had := height(t, n)
	if err := n.Close(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := Up(ctx, UpOptions{Dir: n.dir})
	if err != nil {
		t.Fatal(err)
	}
	if now, err := ask.Height(ctx, s.Nodes[0].HTTP); err != nil || now <= had {
		t.Errorf("height %d, %v after the hand-over, want more than %d", now, err, had)
	}
	if err := Down(ctx, n.dir); err != nil {
		t.Error(err)
	}
}

// An up that is interrupted leaves nothing behind.
func TestLiveUpInterrupted(t *testing.T) {
	dir := tempDir(t)
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if s, err := readState(dir); err == nil && len(s.Processes) > 0 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if s, err := Up(ctx, UpOptions{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted up: %+v, %v", s, err)
	}
	if h, err := Status(within(t), dir); err != nil || h.Running {
		t.Errorf("status %+v, %v, want all down", h, err)
	}
	if left, err := Sweep(within(t), dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
