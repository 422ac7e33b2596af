package nemesis

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/jepgo/jepgo/devnet/link/emulator"
)

// emulatedNet starts n nodes in network namespaces of their own.
func emulatedNet(t *testing.T, n int) (Net, *emulator.Emulator) {
	t.Helper()
	if err := emulator.Probe(); err != nil {
		t.Skipf("THIS MACHINE CANNOT EMULATE LINKS, so nothing was tested: %v", err)
	}
	nodes := nodeNames(n)
	e, err := emulator.New(emulator.Options{Nodes: nodes, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	addr := func(node string) string { return e.Addr(node).String() + ":26656" }
	for i, node := range nodes {
		peers := []string{}
		for _, peer := range nodes[:i] {
			peers = append(peers, addr(peer))
		}
		args, err := json.Marshal(peers)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=node", argsEnv+"="+string(args))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		for _, listen := range []string{addr(node), "127.0.0.1:8545"} {
			ln, err := e.Listen(node, listen)
			if err != nil {
				t.Fatal(err)
			}
			file, err := ln.(*net.TCPListener).File()
			ln.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		}
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(node, cmd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	for _, edge := range e.Edges() {
		wait(t, "bytes on "+edge.String(), func() bool { return e.Counters(edge).Bytes > 0 })
	}
	return Net{Nodes: nodes, Links: e}, e
}

// TestEmulatedFaults takes the faults of links through their lives where frames
// are what is lost.
func TestEmulatedFaults(t *testing.T) {
	t.Parallel()
	network, e := emulatedNet(t, 3)
	for _, spec := range []string{
		"partition:one",
		"delay:60ms:n2",
		"jitter:20ms:all",
		"bandwidth:10kbit:n1",
		"loss:20%:n2",
		"loss:20%:bursty:all",
		"duplicate:20%:n1",
		"reorder:20%:20ms:all",
		"corrupt:20%:n3",
		"corrupt:visible:20%:n1",
		"slow-close:200ms:n1",
		"half-open:n2",
		"half-open:n2:in",
		"reset:10%:n3",
		"disconnect:all",
	} {
		t.Run(spec, func(t *testing.T) {
			app := plannedLink(t, network, spec)
			appliedLink(t, app)
			undoneLink(t, app)
			unshaped(t, e)
		})
	}
}
