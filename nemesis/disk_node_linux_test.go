package nemesis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/disk"
)

const recordLen = 1024

// diskNodeMain is a node that keeps a log of records with check sums, as a
// database does: it refuses a damaged one, cuts off a torn end, and ends when the
// disk fails. Beside it writes a cache that is never made durable.
func diskNodeMain() {
	dir := os.Getenv(argsEnv)
	die := func(err error) {
		if err != nil {
			os.Exit(3)
		}
	}
	l, err := net.FileListener(os.NewFile(3, "rpc"))
	die(err)
	die(os.MkdirAll(filepath.Join(dir, "db"), 0o755))
	log, err := os.OpenFile(filepath.Join(dir, "db", "log"), os.O_RDWR|os.O_CREATE, 0o644)
	die(err)
	cache, err := os.OpenFile(filepath.Join(dir, "db", "cache"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	die(err)
	b, err := io.ReadAll(log)
	die(err)
	n := uint64(0)
	for ; len(b) >= recordLen; b = b[recordLen:] {
		if crc32.ChecksumIEEE(b[4:recordLen]) != binary.LittleEndian.Uint32(b) || binary.LittleEndian.Uint64(b[4:]) != n {
			if len(b) < 2*recordLen {
				break // a torn end
			}
			os.Exit(4)
		}
		n++
	}
	die(log.Truncate(int64(n) * recordLen))
	var mu sync.Mutex
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			fmt.Fprintln(conn, n)
			mu.Unlock()
			conn.Close()
		}
	}()
	record := make([]byte, recordLen)
	for {
		mu.Lock()
		at := n
		mu.Unlock()
		binary.LittleEndian.PutUint64(record[4:], at)
		binary.LittleEndian.PutUint32(record, crc32.ChecksumIEEE(record[4:]))
		_, err := log.WriteAt(record, int64(at)*recordLen)
		die(err)
		die(log.Sync())
		_, err = cache.Write(record)
		die(err)
		_, err = log.ReadAt(record, int64(at)*recordLen)
		die(err)
		mu.Lock()
		n++
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
	}
}

// diskNet is nodes that keep their data on disks, or in directories.
type diskNet struct {
	names     []string
	dirs      map[string]string
	disks     map[string]*disk.Disk
	listeners map[string]*os.File
	addrs     map[string]string
	spawn     func(*exec.Cmd) error

	mu    sync.Mutex
	nodes map[string]*child
}

func (n *diskNet) Disk(node string) *disk.Disk { return n.disks[node] }
func (n *diskNet) Dir(node string) string      { return n.dirs[node] }

func (n *diskNet) Identity(node string) (devnet.Identity, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.nodes[node]
	if c == nil || c.ended {
		return devnet.Identity{}, false
	}
	return c.id, true
}

func (n *diskNet) Start(_ context.Context, node string) (devnet.Identity, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.nodes[node]; c != nil && !c.ended {
		return devnet.Identity{}, fmt.Errorf("node %q: runs already", node)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"=disk-node", argsEnv+"="+n.dirs[node])
	cmd.ExtraFiles = []*os.File{n.listeners[node]}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.spawn(cmd); err != nil {
		return devnet.Identity{}, err
	}
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		return devnet.Identity{}, err
	}
	c := &child{id: id}
	n.nodes[node] = c
	go func() {
		devnet.Wait(cmd)
		n.mu.Lock()
		defer n.mu.Unlock()
		c.ended = true
	}()
	return id, nil
}

// records asks a node how many records it has.
func (n *diskNet) records(ctx context.Context, node string) (int, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.addrs[node])
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	b, err := io.ReadAll(conn)
	if err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, errors.New("no answer")
	}
	return strconv.Atoi(string(b[:len(b)-1]))
}

// Ready waits until the node makes records.
func (n *diskNet) Ready(ctx context.Context, node string) error {
	first, err := n.records(ctx, node)
	if err != nil {
		return err
	}
	return await(ctx, 5*time.Millisecond, func() (string, error) {
		now, err := n.records(ctx, node)
		if err != nil {
			return "", err
		}
		if now <= first {
			return "it makes no records", nil
		}
		return "", nil
	})
}

// newDiskNet starts n nodes below dir. Their disks, if any, are closed by close.
func newDiskNet(dir string, n int, onDisks bool) (*diskNet, error) {
	net_ := &diskNet{
		names: nodeNames(n), dirs: map[string]string{}, disks: map[string]*disk.Disk{},
		listeners: map[string]*os.File{}, addrs: map[string]string{}, nodes: map[string]*child{}, spawn: spawner(),
	}
	for i, node := range net_.names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		net_.addrs[node] = l.Addr().String()
		if net_.listeners[node], err = l.(*net.TCPListener).File(); err != nil {
			return nil, err
		}
		l.Close()
		at := filepath.Join(dir, node, "data")
		if onDisks {
			d, err := disk.Mount(disk.Options{Dir: filepath.Join(dir, node, "disk"), Mount: at, Seed: uint64(i), Name: node})
			if err != nil {
				return nil, err
			}
			net_.disks[node] = d
			at = d.Dir()
		} else if err := os.MkdirAll(at, 0o755); err != nil {
			return nil, err
		}
		net_.dirs[node] = at
		if _, err := net_.Start(context.Background(), node); err != nil {
			return nil, err
		}
	}
	for _, node := range net_.names {
		if err := net_.Ready(context.Background(), node); err != nil {
			return nil, err
		}
	}
	return net_, nil
}

func (n *diskNet) net() Net { return Net{Nodes: n.names, Processes: n, Disks: n} }

// diskNetFor starts nodes for a test.
func diskNetFor(t *testing.T, nodes int, onDisks bool) *diskNet {
	t.Helper()
	if err := disk.Probe(); err != nil && onDisks {
		t.Skipf("SKIPPED, NOTHING WAS TESTED: %v", err)
	}
	n, err := newDiskNet(t.TempDir(), nodes, onDisks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, node := range n.names {
			if id, up := n.Identity(node); up {
				devnet.Signal(id, syscall.SIGKILL)
				for devnet.Alive(id) { // the test's context has ended
					time.Sleep(5 * time.Millisecond)
				}
			}
			if d := n.disks[node]; d != nil {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			n.listeners[node].Close()
		}
	})
	return n
}

// diskOwnerMain runs one fault through the real schedule, on nodes and disks of
// its own, and stands still at one step, to be killed there.
func diskOwnerMain() {
	var args ownerArgs
	if err := json.Unmarshal([]byte(os.Getenv(argsEnv)), &args); err != nil {
		panic(err)
	}
	at := func(step string) {
		if step == args.Step {
			fmt.Println(step)
			select {}
		}
	}
	r := reach(1)
	r.Disks, r.Irreversible = true, true
	faults, err := Parse(args.Fault, r)
	if err != nil {
		panic(err)
	}
	n, err := newDiskNet(filepath.Dir(args.Ledger), 1, true)
	if err != nil {
		panic(err)
	}
	ledger, err := CreateLedger(args.Ledger)
	if err != nil {
		panic(err)
	}
	go func() {
		for { // keeps the scheduler from seeing a deadlock while it stands still
			time.Sleep(time.Hour)
		}
	}()
	runHalting(n.net(), faults[0], ledger, at)
}
