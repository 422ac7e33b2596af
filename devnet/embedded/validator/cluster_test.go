//go:build live

package validator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/devnet/link"
)

const childEnv = "JEPGO_VALIDATOR_CONFIG"

// TestMain turns the test binary into a validator when it is told a config.
func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := ReadConfig(path)
	if err == nil {
		err = Run(ctx, cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "validator:", err)
		os.Exit(1)
	}
}

// cluster is N validator processes.
type cluster struct {
	t     *testing.T
	cfgs  []Config
	procs []*exec.Cmd
	begun time.Time // when Init of the first began
	links *link.Proxy
}

// newCluster starts n validators, wired to each other directly or, with proxied,
// through links.
func newCluster(t *testing.T, n int, proxied bool, bug string) *cluster {
	t.Helper()
	begun := time.Now()
	pid := os.Getpid()
	ip := func(i int) string { return fmt.Sprintf("127.%d.%d.%d", 64+pid/250%60, 1+pid%250, i+1) }
	listen := func(i int) Listen {
		at := func(port int) string { return ip(i) + ":" + strconv.Itoa(port) }
		return Listen{HTTP: at(8545), WS: at(8546), GethMetrics: at(6060), CometMetrics: at(26660),
			CometRPC: at(26657), DevP2P: at(30303), CometP2P: at(26656)}
	}
	c := &cluster{t: t, begun: begun, procs: make([]*exec.Cmd, n)}
	var names, alloc []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i+1))
		alloc = append(alloc, crypto.PubkeyToAddress(secp256k1(fmt.Sprintf("load/%d", i)).PublicKey).Hex())
	}
	peer := func(_, j int) Peer { return Peer{Index: j, DevP2P: listen(j).DevP2P, CometP2P: listen(j).CometP2P} }
	if proxied {
		var err error
		c.links, err = link.NewProxy(link.Options{Nodes: names, Protocols: []string{"devp2p", "comet"}, Target: func(node, protocol string) string {
			l := listen(slices.Index(names, node))
			if protocol == "comet" {
				return l.CometP2P
			}
			return l.DevP2P
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.links.Close() })
		peer = func(i, j int) Peer {
			e := link.Edge{From: names[i], To: names[j]}
			return Peer{Index: j, DevP2P: c.links.Addr(e, "devp2p"), CometP2P: c.links.Addr(e, "comet")}
		}
	}
	root := t.TempDir()
	for i := range n {
		cfg := Config{Name: names[i], Index: i, Names: names, Dir: filepath.Join(root, names[i]), Seed: "live test",
			ChainID: 7357, GenesisTime: begun, Alloc: alloc, Listen: listen(i)}
		if b, err := findBug(bug); err == nil && b.Hits(i, n) {
			cfg.Bug = bug
		}
		for j := range n {
			if j != i {
				cfg.Peers = append(cfg.Peers, peer(i, j))
			}
		}
		if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(cfg)
		if err := os.WriteFile(filepath.Join(cfg.Dir, "config.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Init(cfg); err != nil {
			t.Fatal(err)
		}
		c.cfgs = append(c.cfgs, cfg)
	}
	t.Cleanup(func() {
		for i := range n {
			c.kill(i)
		}
	})
	for i := range n {
		c.start(i)
	}
	return c
}

func (c *cluster) start(i int) {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.cfgs[i].Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+filepath.Join(c.cfgs[i].Dir, "config.json"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.procs[i] = cmd
}

func (c *cluster) kill(i int) {
	if p := c.procs[i]; p != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
		c.procs[i] = nil
	}
}

// log returns the end of a node's log.
func (c *cluster) log(i int) string {
	data, _ := os.ReadFile(filepath.Join(c.cfgs[i].Dir, "log"))
	return string(data[max(0, len(data)-4000):])
}

// await polls until ok returns nil, and fails with its last error.
func (c *cluster) await(what string, bound time.Duration, ok func() error) time.Duration {
	c.t.Helper()
	begun := time.Now()
	for {
		err := ok()
		if err == nil {
			return time.Since(begun)
		}
		if time.Since(begun) > bound {
			for i := range c.cfgs {
				c.t.Logf("log of %s:\n%s", c.cfgs[i].Name, c.log(i))
			}
			c.t.Fatalf("%s: not within %v: %v", what, bound, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func rpcCall[T any](addr, method string, params ...any) (T, error) {
	var out struct {
		Result T               `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if params == nil {
		params = []any{}
	}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	client := http.Client{Timeout: 3 * time.Second}
	resp, err := client.Post("http://"+addr, "application/json", strings.NewReader(string(body)))
	if err != nil {
		return out.Result, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out.Result, err
	}
	if len(out.Error) > 0 {
		return out.Result, errors.New(string(out.Error))
	}
	return out.Result, nil
}

type blockID struct{ Number, Hash, StateRoot string }

func (c *cluster) block(i int, at string) (blockID, error) {
	b, err := rpcCall[*blockID](c.cfgs[i].Listen.HTTP, "eth_getBlockByNumber", at, false)
	if err != nil {
		return blockID{}, err
	}
	if b == nil {
		return blockID{}, fmt.Errorf("block %s: null", at)
	}
	return *b, nil
}

func (c *cluster) head(i int) (uint64, error) {
	b, err := c.block(i, "latest")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(b.Number, 0, 64)
}

type cometStatus struct {
	SyncInfo struct {
		LatestBlockHeight string `json:"latest_block_height"`
		LatestAppHash     string `json:"latest_app_hash"`
		CatchingUp        bool   `json:"catching_up"`
	} `json:"sync_info"`
}

// agree checks that all nodes have caught up, that in each of them geth and
// CometBFT are at the same height, and that their newest common block is the same.
func (c *cluster) agree() error {
	low := ^uint64(0)
	for i := range c.cfgs {
		head, err := c.head(i)
		if err != nil {
			return err
		}
		s, err := rpcCall[cometStatus](c.cfgs[i].Listen.CometRPC, "status")
		if err != nil {
			return err
		}
		if s.SyncInfo.CatchingUp {
			return fmt.Errorf("%s is catching up at %d", c.cfgs[i].Name, head)
		}
		// CometBFT reports a height a moment after geth has it.
		after, err := c.head(i)
		if err != nil {
			return err
		}
		if h, _ := strconv.ParseUint(s.SyncInfo.LatestBlockHeight, 10, 64); h+1 < head || h > after {
			return fmt.Errorf("%s: geth at %d to %d, cometbft at %d", c.cfgs[i].Name, head, after, h)
		}
		low = min(low, head)
	}
	top, err := c.head(0)
	if err != nil {
		return err
	}
	if top > low+2 {
		return fmt.Errorf("slowest node at %d, n1 at %d", low, top)
	}
	return c.same(low)
}

// same checks that all nodes have the same block at a height.
func (c *cluster) same(height uint64) error {
	want, err := c.block(0, fmt.Sprintf("%#x", height))
	if err != nil {
		return err
	}
	for i := range c.cfgs {
		got, err := c.block(i, want.Number)
		if err != nil {
			return err
		}
		if got != want {
			c.t.Fatalf("%s has %+v, n1 has %+v", c.cfgs[i].Name, got, want)
		}
	}
	return nil
}

// load sends a transfer from each of four accounts every 400 ms, each to its own
// node, until ctx ends; what a killed node forgot is sent again. The function it
// returns waits until all that was sent is mined, and tells how many.
func (c *cluster) load(ctx context.Context) func() (sent uint64) {
	var wg sync.WaitGroup
	counts := make([]uint64, len(c.cfgs))
	id := new(big.Int).SetUint64(c.cfgs[0].ChainID)
	signer := types.LatestSignerForChainID(id)
	one := func(i int) {
		key := secp256k1(fmt.Sprintf("load/%d", i))
		at := c.cfgs[i].Listen.HTTP
		nonce := func(tag string) (uint64, error) {
			have, err := rpcCall[string](at, "eth_getTransactionCount", crypto.PubkeyToAddress(key.PublicKey).Hex(), tag)
			if err != nil {
				return 0, err
			}
			return strconv.ParseUint(have, 0, 64)
		}
		for end := (time.Time{}); ; {
			if ctx.Err() != nil {
				if end.IsZero() {
					end = time.Now().Add(time.Minute)
				}
				mined, err := nonce("latest")
				if err == nil && mined >= counts[i] {
					return
				}
				if time.Now().After(end) {
					c.t.Errorf("account %d: %d sent, %d mined, %v", i, counts[i], mined, err)
					return
				}
			}
			if next, err := nonce("pending"); err == nil && (ctx.Err() == nil || next < counts[i]) {
				tx := types.MustSignNewTx(key, signer, &types.DynamicFeeTx{ChainID: id, Nonce: next, Gas: 21000, To: &common.Address{1},
					Value: big.NewInt(1), GasFeeCap: big.NewInt(1e11), GasTipCap: big.NewInt(1e9)})
				raw, _ := tx.MarshalBinary()
				if _, err := rpcCall[string](at, "eth_sendRawTransaction", fmt.Sprintf("%#x", raw)); err == nil {
					counts[i] = max(counts[i], next+1)
				}
			}
			time.Sleep(400 * time.Millisecond)
		}
	}
	for i := range c.cfgs {
		wg.Go(func() { one(i) })
	}
	return func() (sent uint64) {
		wg.Wait()
		for _, n := range counts {
			sent += n
		}
		return sent
	}
}

// firstBlock waits for block 1 everywhere.
func (c *cluster) firstBlock() time.Duration {
	c.t.Helper()
	for i := range c.cfgs {
		c.await("block 1 on "+c.cfgs[i].Name, 30*time.Second, func() error {
			h, err := c.head(i)
			if err == nil && h == 0 {
				err = errors.New("head is 0")
			}
			return err
		})
	}
	return time.Since(c.begun)
}

// peers counts a node's connections on both layers.
func (c *cluster) peers(i int) (devp2p, comet int, err error) {
	n, err := rpcCall[string](c.cfgs[i].Listen.HTTP, "net_peerCount")
	if err != nil {
		return 0, 0, err
	}
	count, err := strconv.ParseUint(n, 0, 8)
	if err != nil {
		return 0, 0, err
	}
	info, err := rpcCall[struct {
		Peers string `json:"n_peers"`
	}](c.cfgs[i].Listen.CometRPC, "net_info")
	if err != nil {
		return 0, 0, err
	}
	comet, err = strconv.Atoi(info.Peers)
	return int(count), comet, err
}

// usage is a node's memory and processor time so far, as Linux tells it.
func (c *cluster) usage(i int) string {
	dir := fmt.Sprintf("/proc/%d/", c.procs[i].Process.Pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return err.Error()
	}
	rss := "?"
	for line := range strings.Lines(string(status)) {
		if after, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			rss = strings.TrimSpace(after)
		}
	}
	stat, _ := os.ReadFile(dir + "stat")
	f := strings.Fields(string(stat))
	if len(f) < 15 {
		return rss
	}
	user, _ := strconv.Atoi(f[13])
	sys, _ := strconv.Atoi(f[14])
	return fmt.Sprintf("%s resident, %.1f s of processor time in %v", rss, float64(user+sys)/100, time.Since(c.begun).Round(time.Second))
}
