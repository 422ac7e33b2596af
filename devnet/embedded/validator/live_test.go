//go:build live

package validator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
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

// cluster is N validator processes wired to each other directly.
type cluster struct {
	t     *testing.T
	cfgs  []Config
	procs []*exec.Cmd
	begun time.Time // when Init of the first began
}

func newCluster(t *testing.T, n int, bug string) *cluster {
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
	root := t.TempDir()
	for i := range n {
		cfg := Config{Name: names[i], Index: i, Names: names, Dir: filepath.Join(root, names[i]), Seed: "live test",
			ChainID: 7357, GenesisTime: begun, Alloc: alloc, Listen: listen(i)}
		if bug != "" && (bug != "fork" || i == n-1) {
			cfg.Bug = bug
		}
		for j := range n {
			if j != i {
				cfg.Peers = append(cfg.Peers, Peer{Index: j, DevP2P: listen(j).DevP2P, CometP2P: listen(j).CometP2P})
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

// load sends one transfer about every 100 ms, each account to its own node, and
// sends again what a killed node forgot. It returns how many were sent and mined.
func (c *cluster) load(ctx context.Context) func() (sent, mined uint64) {
	var wg sync.WaitGroup
	counts := make([]uint64, len(c.cfgs))
	signer := types.LatestSignerForChainID(new(big.Int).SetUint64(c.cfgs[0].ChainID))
	for i := range c.cfgs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			key := secp256k1(fmt.Sprintf("load/%d", i))
			to := common.Address{1}
			for nonce := uint64(0); ctx.Err() == nil; {
				tx := types.MustSignNewTx(key, signer, &types.DynamicFeeTx{ChainID: new(big.Int).SetUint64(c.cfgs[0].ChainID),
					Nonce: nonce, Gas: 21000, To: &to, Value: big.NewInt(1), GasFeeCap: big.NewInt(1e11), GasTipCap: big.NewInt(1e9)})
				raw, _ := tx.MarshalBinary()
				_, err := rpcCall[string](c.cfgs[i].Listen.HTTP, "eth_sendRawTransaction", fmt.Sprintf("%#x", raw))
				if err == nil {
					nonce++
					counts[i] = max(counts[i], nonce)
				}
				if have, err := rpcCall[string](c.cfgs[i].Listen.HTTP, "eth_getTransactionCount", crypto.PubkeyToAddress(key.PublicKey).Hex(), "pending"); err == nil {
					if n, err := strconv.ParseUint(have, 0, 64); err == nil {
						nonce = n
					}
				}
				select {
				case <-ctx.Done():
				case <-time.After(400 * time.Millisecond):
				}
			}
		}()
	}
	return func() (sent, mined uint64) {
		wg.Wait()
		for i := range c.cfgs {
			sent += counts[i]
			have, _ := rpcCall[string](c.cfgs[0].Listen.HTTP, "eth_getTransactionCount", crypto.PubkeyToAddress(secp256k1(fmt.Sprintf("load/%d", i)).PublicKey).Hex(), "latest")
			n, _ := strconv.ParseUint(have, 0, 64)
			mined += n
		}
		return sent, mined
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

func TestLiveStart(t *testing.T) {
	c := newCluster(t, 4, "")
	took := c.firstBlock()
	t.Logf("nothing to block 1 on four nodes: %v", took)
	c.await("agreement", 30*time.Second, c.agree)

	// The pace over 20 blocks, and EVM time against the clock.
	from, _ := c.head(0)
	begun := time.Now()
	c.await("20 blocks", time.Minute, func() error {
		if h, err := c.head(0); err != nil || h < from+20 {
			return fmt.Errorf("head %d: %v", h, err)
		}
		return nil
	})
	t.Logf("block interval: %v", time.Since(begun)/20)
	ec, err := ethclient.Dial("http://" + c.cfgs[0].Listen.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	head, err := ec.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if lag := time.Since(time.Unix(int64(head.Time), 0)); lag < 0 {
		t.Errorf("EVM time is ahead of the clock by %v", -lag)
	} else {
		t.Logf("EVM time is behind the clock by %v", lag)
	}
	for i := range c.cfgs {
		for url, want := range map[string]string{
			"http://" + c.cfgs[i].Listen.GethMetrics + "/debug/metrics/prometheus": "chain_head_block",
			"http://" + c.cfgs[i].Listen.CometMetrics + "/metrics":                 "cometbft_consensus_height",
		} {
			resp, err := http.Get(url)
			if err != nil {
				t.Error(err)
				continue
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(body), want) {
				t.Errorf("%s does not report %q", url, want)
			}
		}
		if n, err := rpcCall[string](c.cfgs[i].Listen.HTTP, "net_peerCount"); err != nil || n != "0x3" {
			t.Errorf("%s devp2p peers: %q %v, want 0x3", c.cfgs[i].Name, n, err)
		}
	}
	if ws, err := ethclient.Dial("ws://" + c.cfgs[1].Listen.WS); err != nil {
		t.Error(err)
	} else {
		heads := make(chan *types.Header)
		sub, err := ws.SubscribeNewHead(t.Context(), heads)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-heads:
		case err := <-sub.Err():
			t.Error(err)
		case <-time.After(30 * time.Second):
			t.Error("no new head over WebSocket")
		}
		ws.Close()
	}
	// An ordered end.
	begun = time.Now()
	for i := range c.cfgs {
		_ = c.procs[i].Process.Signal(syscall.SIGTERM)
	}
	for i := range c.cfgs {
		if err := c.procs[i].Wait(); err != nil {
			t.Errorf("%s ended with %v\n%s", c.cfgs[i].Name, err, c.log(i))
		}
		c.procs[i] = nil
	}
	t.Logf("ordered end of all: %v", time.Since(begun))
	t.Logf("log of n1:\n%s", c.log(0))
}

func TestLiveTwentyKills(t *testing.T) {
	c := newCluster(t, 4, "")
	c.firstBlock()
	c.await("agreement", 30*time.Second, c.agree)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tally := c.load(ctx)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		victim := rng.IntN(4)
		before, err := c.head(victim)
		if err != nil {
			t.Fatal(err)
		}
		c.kill(victim)
		time.Sleep(time.Duration(rng.IntN(4000)) * time.Millisecond)
		c.start(victim)
		var first uint64
		ready := c.await("RPC", 30*time.Second, func() (err error) {
			first, err = c.head(victim)
			return err
		})
		if first < before {
			t.Errorf("kill %d: %s served %d before and %d after", round, c.cfgs[victim].Name, before, first)
		}
		caught := c.await("agreement", time.Minute, c.agree)
		t.Logf("kill %2d of %s: head %d, back at %d after %v, agreed after %v", round, c.cfgs[victim].Name, before, first, ready.Round(time.Millisecond), (ready + caught).Round(time.Millisecond))
	}
	cancel()
	sent, mined := tally()
	t.Logf("transactions: %d sent, %d mined", sent, mined)
	if mined == 0 {
		t.Error("no transaction was mined")
	}
	top, err := c.head(0)
	if err != nil {
		t.Fatal(err)
	}
	c.await("agreement", time.Minute, c.agree)
	for h := range top + 1 {
		if err := c.same(h); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("blocks 0 to %d are the same on all nodes", top)
}
