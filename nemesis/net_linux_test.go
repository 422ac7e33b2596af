package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

// The test binary is also the node of the test networks and the owner of the
// ledgers that are abandoned: the role is in its environment.
const (
	roleEnv = "NEMESIS_TEST_ROLE"
	argsEnv = "NEMESIS_TEST_ARGS"
	doesEnv = "NEMESIS_TEST_DOES" // what nodes do beside, joined by commas
	dirEnv  = "NEMESIS_TEST_DIR"  // where nodes keep their files
)

func TestMain(m *testing.M) {
	if Helper(os.Args[1:]) {
		return
	}
	if len(os.Args) == 4 && os.Args[1] == GuardianCommand {
		if err := Guard(context.Background(), os.Args[3], os.Stdin, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			os.Exit(1)
		}
		return
	}
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(runTests(m))
	case "node":
		nodeMain()
	case "owner":
		ownerMain()
	case "chain":
		chainMain()
	case "disk-node":
		diskNodeMain()
	case "disk-owner":
		diskOwnerMain()
	}
}

// runTests gives the nodes a directory, which goes with the tests.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nemesis")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv(dirEnv, dir)
	// Tests mostly wait for other processes: two at once would leave two
	// processors idle.
	flag.Parse()
	if !given("test.parallel") {
		flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU()))
	}
	return m.Run()
}

// given reports whether the flag is on the command line.
func given(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// nodeMain is one node: it talks to its peers all the time and answers on its
// RPC listener. Both listeners are inherited, so that a node that starts again
// finds them as they were. It ends when the test does.
func nodeMain() {
	var peers []string
	if err := json.Unmarshal([]byte(os.Getenv(argsEnv)), &peers); err != nil {
		panic(err)
	}
	p2p, err := net.FileListener(os.NewFile(3, "p2p"))
	if err != nil {
		panic(err)
	}
	rpc, err := net.FileListener(os.NewFile(4, "rpc"))
	if err != nil {
		panic(err)
	}
	go listenAndTalk(p2p)
	for _, addr := range peers {
		go func() {
			for {
				if conn, err := net.Dial("tcp", addr); err == nil {
					talk(conn)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	go func() {
		for {
			conn, err := rpc.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("ready"))
			conn.Close()
		}
	}()
	for does := range strings.SplitSeq(os.Getenv(doesEnv), ",") {
		switch does {
		case "burn":
			go func() {
				for {
				}
			}()
		case "tick": // some processor time, all the time
			go func() {
				for {
					for began := time.Now(); time.Since(began) < time.Millisecond; {
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
		case "deaf":
			signal.Ignore(syscall.SIGTERM)
		case "grow":
			go grow()
		case "store":
			go store()
		}
	}
	os.Stdin.Read(make([]byte, 1))
}

// grow takes 64 KiB every 10 ms, and gives back what is beyond 4 MiB. They are new
// pages each time: what was touched before a control group was entered is not
// counted there, so that a process that uses its own again needs nothing.
func grow() {
	var kept [64][]byte
	for n := 0; ; n = (n + 1) % len(kept) {
		if kept[n] != nil {
			syscall.Munmap(kept[n])
		}
		b, err := syscall.Mmap(-1, 0, 64<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept[n] = b
		time.Sleep(10 * time.Millisecond)
	}
}

// store writes to the disk all the time, so that up to 64 MiB of it are in memory.
func store() {
	f, err := os.CreateTemp(os.Getenv(dirEnv), "store")
	if err != nil {
		panic(err)
	}
	for b, n := make([]byte, 256<<10), int64(0); ; n++ {
		if n%256 == 0 {
			f.Truncate(0)
		}
		f.WriteAt(b, n%256*int64(len(b)))
		f.Sync()
	}
}

func listenAndTalk(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go talk(conn)
	}
}

// talk sends a little all the time and reads, until the connection breaks.
func talk(conn net.Conn) {
	go func() {
		defer conn.Close()
		for {
			if _, err := conn.Write([]byte("vote")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	buf := make([]byte, 1024)
	for {
		if _, err := conn.Read(buf); err != nil {
			conn.Close()
			return
		}
	}
}

// children are real processes under the power of a nemesis.
type children struct {
	files map[string][2]*os.File // p2p and RPC listeners
	rpc   map[string]string
	args  map[string]string

	mu    sync.Mutex
	nodes map[string]*child
	past  []*child // every incarnation
	does  string   // see doesEnv
	// started is told of each new incarnation, when it is not nil.
	started func(node string, id devnet.Identity)
	// startErrors are returned by as many calls of Start.
	startErrors []error
	starts      int
}

type child struct {
	id    devnet.Identity
	ended bool
	state string // how it ended
}

// Ended is what an Ender tells.
func (c *children) Ended(node string, id devnet.Identity) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.past {
		if n.id == id && n.ended {
			return n.state, true
		}
	}
	return "", false
}

func (c *children) Identity(node string) (devnet.Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[node]
	if n == nil || n.ended {
		return devnet.Identity{}, false
	}
	return n.id, true
}

func (c *children) Start(ctx context.Context, node string) (devnet.Identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	if len(c.startErrors) > 0 {
		err := c.startErrors[0]
		c.startErrors = c.startErrors[1:]
		return devnet.Identity{}, err
	}
	if n := c.nodes[node]; n != nil && !n.ended {
		return devnet.Identity{}, fmt.Errorf("node %q: runs already", node)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=node", argsEnv+"="+c.args[node], doesEnv+"="+c.does)
	files := c.files[node]
	cmd.ExtraFiles = files[:]
	if !strings.Contains(c.does, "silence") { // for those that die loudly
		cmd.Stderr = os.Stderr
	}
	if _, err := cmd.StdinPipe(); err != nil {
		return devnet.Identity{}, err
	}
	if err := cmd.Start(); err != nil {
		return devnet.Identity{}, err
	}
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		return devnet.Identity{}, err
	}
	n := &child{id: id}
	c.nodes[node] = n
	c.past = append(c.past, n)
	if c.started != nil {
		c.started(node, id)
	}
	go func() {
		devnet.Wait(cmd) // not its tracer's stops
		c.mu.Lock()
		defer c.mu.Unlock()
		n.ended, n.state = true, cmd.ProcessState.String()
	}()
	return id, nil
}

func (c *children) Ready(ctx context.Context, node string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.rpc[node])
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_, err = conn.Read(make([]byte, 8))
	return err
}

// testNet starts n nodes whose links are a real proxy.
func testNet(t *testing.T, n int) (Net, *children, *link.Proxy) {
	t.Helper()
	return testNetThat(t, n, &children{})
}

// testNetThat starts n nodes that do as c says.
func testNetThat(t *testing.T, n int, c *children) (Net, *children, *link.Proxy) {
	t.Helper()
	nodes := nodeNames(n)
	*c = children{does: c.does, started: c.started,
		files: map[string][2]*os.File{}, rpc: map[string]string{},
		args: map[string]string{}, nodes: map[string]*child{},
	}
	p2p := map[string]string{}
	for _, node := range nodes {
		var files [2]*os.File
		for i, addrs := range []map[string]string{p2p, c.rpc} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addrs[node] = l.Addr().String()
			if files[i], err = l.(*net.TCPListener).File(); err != nil {
				t.Fatal(err)
			}
			l.Close()
			t.Cleanup(func() { files[i].Close() })
		}
		c.files[node] = files
	}
	proxy, err := link.NewProxy(link.Options{
		Nodes: nodes, Protocols: []string{"p2p"},
		Target: func(node, _ string) string { return p2p[node] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	t.Cleanup(func() {
		for _, node := range nodes {
			if id, ok := c.Identity(node); ok {
				devnet.Signal(id, syscall.SIGKILL)
			}
		}
	})
	for i, node := range nodes {
		var peers []string
		for _, peer := range nodes[:i] {
			peers = append(peers, proxy.Addr(link.Edge{From: node, To: peer}, "p2p"))
		}
		b, err := json.Marshal(peers)
		if err != nil {
			t.Fatal(err)
		}
		c.args[node] = string(b)
		if _, err := c.Start(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range nodes {
		if err := c.Ready(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range proxy.Edges() {
		wait(t, "bytes on "+e.String(), func() bool { return proxy.Counters(e).Bytes > 0 })
	}
	return Net{Nodes: nodes, Processes: c, Links: proxy}, c, proxy
}

// wait waits for a condition; only the limit of the whole test ends it.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	err := await(t.Context(), 5*time.Millisecond, func() (string, error) {
		if ok() {
			return "", nil
		}
		return what, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loner starts a process that is a child of this one, does that beside (see
// doesEnv) and runs until the test ends.
func loner(t *testing.T, does ...string) devnet.Identity {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=node", argsEnv+"=[]", doesEnv+"="+strings.Join(does, ","))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	defer file.Close()
	cmd.ExtraFiles = []*os.File{file, file}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// bury returns the identity of a process that has ended.
func bury(t *testing.T) devnet.Identity {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=dead")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	cmd.Process.Kill()
	cmd.Wait()
	return id
}

func stateOf(t *testing.T, id devnet.Identity) byte {
	t.Helper()
	state, _, err := devnet.State(id)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

var errPlanned = errors.New("planned by the test")

// spawner starts processes that must die with this one. The kernel counts the
// death of the thread that started them, so this thread must be there for good.
func spawner() func(*exec.Cmd) error {
	type request struct {
		cmd  *exec.Cmd
		done chan error
	}
	requests := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
	return func(cmd *exec.Cmd) error {
		r := request{cmd, make(chan error)}
		requests <- r
		return <-r.done
	}
}
