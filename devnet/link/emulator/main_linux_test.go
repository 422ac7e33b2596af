package emulator_test

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

	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/userns"
)

// The test binary is also what the tests start: what a process is to be says its
// environment.
const roleEnv = "EMULATOR_TEST_ROLE"

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
	case "unprivileged":
		os.Exit(unprivilegedMain())
	case "nobody":
		cmd := userns.Command()
		cmd.Env = append(cmd.Env, roleEnv+"=host")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		status, err := userns.Run(cmd)
		if err != nil {
			fmt.Println(err)
			status = 1
		}
		os.Exit(status)
	default:
		panic("no such role: " + role)
	}
}

func again(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(append(os.Environ(), env...), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// nodeMain is a process inside a node: it says what it listens on, at its loopback
// and outer address, and echoes what it is sent.
func nodeMain() {
	for _, host := range []string{"127.0.0.1", os.Getenv("ADDR")} {
		ln, err := net.Listen("tcp", host+":4000")
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
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	time.Sleep(time.Hour) // until it is killed
}

// startNode runs nodeMain inside a node, which dies with this process.
func startNode(e *emulator.Emulator, node string) (*exec.Cmd, error) {
	cmd := again("node", "ADDR="+e.Addr(node).String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.Start(node, cmd); err != nil {
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

// owned is what an owner says of itself.
type owned struct {
	Children []int
	Spaces   []string // their network namespaces
}

// ownerMain owns an emulator with a process in each node, to be killed.
func ownerMain() {
	e, err := emulator.New(emulator.Options{Nodes: []string{"a", "b", "c"}})
	if err != nil {
		panic(err)
	}
	var o owned
	for _, n := range []string{"a", "b", "c"} {
		cmd, err := startNode(e, n)
		if err != nil {
			panic(err)
		}
		o.Children = append(o.Children, cmd.Process.Pid)
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
		if err != nil {
			panic(err)
		}
		o.Spaces = append(o.Spaces, ns)
	}
	json.NewEncoder(os.Stdout).Encode(o)
	time.Sleep(time.Hour) // until it is killed
}
