package kernel_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/kernel"
)

// The test binary is also what the tests start: what a process is to be says its
// environment.
const roleEnv = "KERNEL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		os.Exit(m.Run())
	case "node":
		nodeMain()
	case "owner":
		ownerMain()
	case "host":
		os.Exit(hostMain())
	default:
		panic("no such role: " + role)
	}
}

func again(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(append(os.Environ(), env...), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// nodeMain is a process inside a node that echoes what it is sent.
func nodeMain() {
	ln, err := net.Listen("tcp4", ":4000")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	fmt.Println("ready")
	time.Sleep(time.Hour) // until it is killed
}

// startNode runs nodeMain inside a node, which dies with this process.
func startNode(l *kernel.Links, node string) (*exec.Cmd, error) {
	cmd := again("node")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.Start(node, cmd); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("node %s said %q, %v", node, line, err)
	}
	return cmd, nil
}

// ownerMain owns links with a process in each node and a fault of each kind, to be
// killed. It tells the processes' ids.
func ownerMain() {
	nodes := []string{"a", "b", "c"}
	l, err := kernel.New(kernel.Options{Nodes: nodes})
	if err != nil {
		panic(err)
	}
	var pids []int
	for _, n := range nodes {
		cmd, err := startNode(l, n)
		if err != nil {
			panic(err)
		}
		pids = append(pids, cmd.Process.Pid)
	}
	if err := breakAll(l); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(pids)
	time.Sleep(time.Hour) // until it is killed
}

// breakAll has every kind of rule in force.
func breakAll(l *kernel.Links) error {
	for i, e := range l.Edges() {
		if i%2 == 0 {
			if err := l.Cut(e); err != nil {
				return err
			}
		}
		if err := l.Shape(e, link.Shape{Rate: 100_000, Loss: 0.5, Reset: 0.5}); err != nil {
			return err
		}
	}
	return nil
}
