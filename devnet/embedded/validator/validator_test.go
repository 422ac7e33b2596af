package validator

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cmtlog "github.com/cometbft/cometbft/libs/log"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
)

func TestGenesisIsTheSameForEveryNode(t *testing.T) {
	a, b := testConfig(t, 0, 4), testConfig(t, 3, 4)
	b.GenesisTime = a.GenesisTime.In(time.FixedZone("elsewhere", 3600))
	if ha, hb := evmGenesis(a).ToBlock().Hash(), evmGenesis(b).ToBlock().Hash(); ha != hb {
		t.Errorf("EVM genesis of n1 is %s, of n4 %s", ha, hb)
	}
	hash := func(cfg Config) string {
		doc, err := cometGenesis(cfg)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if hash(a) != hash(b) {
		t.Errorf("CometBFT genesis of n1 and n4:\n%s\n%s", hash(a), hash(b))
	}
	b.Seed = "another"
	if hash(a) == hash(b) {
		t.Error("CometBFT genesis does not depend on the seed")
	}
	b.ChainID++
	if evmGenesis(a).ToBlock().Hash() != evmGenesis(b).ToBlock().Hash() {
		t.Error("EVM genesis hash depends on more than its block") // the chain id is in no header
	}
	b.Alloc = []string{"0x00000000000000000000000000000000000000aa"}
	if evmGenesis(a).ToBlock().Hash() == evmGenesis(b).ToBlock().Hash() {
		t.Error("EVM genesis does not depend on the allocation")
	}
}

func TestGenesisFundsAndSystemContracts(t *testing.T) {
	cfg := testConfig(t, 0, 1)
	cfg.Alloc = []string{"0x00000000000000000000000000000000000000aa"}
	g := evmGenesis(cfg)
	faucet := crypto.PubkeyToAddress(FaucetKey().PublicKey)
	for _, a := range []common.Address{faucet, common.HexToAddress(cfg.Alloc[0])} {
		if g.Alloc[a].Balance == nil || g.Alloc[a].Balance.BitLen() < 190 {
			t.Errorf("%s has %v", a, g.Alloc[a].Balance)
		}
	}
	code := 0
	for _, a := range g.Alloc {
		if len(a.Code) > 0 {
			code++
		}
	}
	if code < 4 {
		t.Errorf("%d system contracts, want at least those of EIP-4788, 2935, 7002 and 7251", code)
	}
	// Everybody's tools know this address; it must never change.
	if want := "0xeE7E90677Fc0178715aeCf8337811296aeF000FC"; faucet.Hex() != want {
		t.Errorf("faucet is %s, want %s", faucet, want)
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, seed := range []string{"a", "b"} {
		for i := range 4 {
			for kind, key := range map[string][]byte{
				"validator": validatorKey(seed, i).Bytes(), "comet": cometNodeKey(seed, i).PrivKey.Bytes(),
				"devp2p": crypto.FromECDSA(devp2pKey(seed, i)), "fees": feeRecipient(seed, i).Bytes(),
			} {
				name := label(seed, kind, i)
				if other := seen[string(key)]; other != "" {
					t.Errorf("%s and %s are the same key", name, other)
				}
				seen[string(key)] = name
			}
			if !validatorKey(seed, i).Equals(validatorKey(seed, i)) || !devp2pKey(seed, i).Equal(devp2pKey(seed, i)) {
				t.Errorf("keys of %s %d are not derived", seed, i)
			}
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	good := testConfig(t, 1, 4)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Config){
		"names: empty":                func(c *Config) { c.Names = nil },
		"listed twice":                func(c *Config) { c.Names = []string{"n1", "n2", "n2", "n4"} },
		"index: 9":                    func(c *Config) { c.Index = 9 },
		`name: "x", want "n2"`:        func(c *Config) { c.Name = "x" },
		"dir: empty":                  func(c *Config) { c.Dir = "" },
		"seed: empty":                 func(c *Config) { c.Seed = "" },
		"chain_id: 0":                 func(c *Config) { c.ChainID = 0 },
		"genesis_time: missing":       func(c *Config) { c.GenesisTime = time.Time{} },
		"block_time: 500ms":           func(c *Config) { c.BlockTime = 500 * time.Millisecond },
		`alloc: "0x12"`:               func(c *Config) { c.Alloc = []string{"0x12"} },
		`listen.http: "localhost:80"`: func(c *Config) { c.Listen.HTTP = "localhost:80" },
		`listen.ws: ""`:               func(c *Config) { c.Listen.WS = "" },
		"is also listen.http":         func(c *Config) { c.Listen.CometRPC = c.Listen.HTTP },
		"peers: 2, want all 3":        func(c *Config) { c.Peers = c.Peers[:2] },
		"peers: index 1":              func(c *Config) { c.Peers[0].Index = 1 },
		"peers: devp2p of 0":          func(c *Config) { c.Peers[0].DevP2P = "127.0.0.1:0" },
		`bug: "nope"`:                 func(c *Config) { c.Bug = "nope" },
	} {
		cfg := good
		cfg.Peers = slices.Clone(good.Peers)
		spoil(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestReadConfigRoundTrip(t *testing.T) {
	cfg := testConfig(t, 0, 2)
	cfg.BlockTime = 2 * time.Second
	data, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadConfig(path)
	if err != nil || got.Listen != cfg.Listen || got.BlockTime != cfg.BlockTime || !got.GenesisTime.Equal(cfg.GenesisTime) {
		t.Errorf("%+v %v, want %+v", got, err, cfg)
	}
	if _, err := ReadConfig(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	for _, bad := range []string{"", "{", "[]", `{"names": 3}`, "{}"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(path); err == nil {
			t.Errorf("config %q was accepted", bad)
		}
	}
}

func TestInit(t *testing.T) {
	cfg := testConfig(t, 0, 1)
	if err := Run(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("run before init: %v", err)
	}
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	// What the validator has signed stays.
	signed := []byte(`{"height":"7","round":1,"step":3}`)
	if err := os.WriteFile(statePath(cfg), signed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	signer, err := openSigner(cfg)
	if err != nil || signer.LastSignState.Height != 7 || signer.LastSignState.Round != 1 || signer.LastSignState.Step != 3 {
		t.Errorf("sign state after a second init: %v %v", signer, err)
	}
	// Another network's directory is left alone.
	other := cfg
	other.Alloc = []string{"0x00000000000000000000000000000000000000aa"}
	for _, f := range []func(Config) error{Init, func(c Config) error { return Run(t.Context(), c) }} {
		if err := f(other); err == nil || !strings.Contains(err.Error(), "another network") {
			t.Errorf("directory of another network: %v", err)
		}
	}
	// A missing or broken sign state is never made up.
	for _, data := range []string{"", "{", "no"} {
		if err := os.WriteFile(statePath(cfg), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openSigner(cfg); err == nil {
			t.Errorf("sign state %q was accepted", data)
		}
	}
	if err := os.Remove(statePath(cfg)); err != nil {
		t.Fatal(err)
	}
	if _, err := openSigner(cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing sign state: %v", err)
	}
}

// An init that was killed half way leaves a database that cannot be opened; the
// next one must start over.
func TestInitAfterAKilledInit(t *testing.T) {
	cfg := testConfig(t, 0, 1)
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(markPath(cfg)); err != nil {
		t.Fatal(err)
	}
	markers, err := filepath.Glob(filepath.Join(cfg.Dir, gethName, "chaindata", "marker.*"))
	if err != nil || len(markers) == 0 {
		t.Fatalf("no pebble markers: %v", err)
	}
	for _, m := range markers {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	exec, err := openExecution(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := evmGenesis(cfg).ToBlock().Hash(); exec.head().Hash() != want {
		t.Errorf("head %s, want the genesis block %s", exec.head().Hash(), want)
	}
	if err := exec.close(); err != nil {
		t.Error(err)
	}
}

func TestEVMTime(t *testing.T) {
	at := func(sec, nsec int64) time.Time { return time.Unix(sec, nsec) }
	for _, test := range []struct {
		parent    uint64
		consensus time.Time
		want      uint64
	}{
		{100, at(105, 0), 105},
		{100, at(105, 999_999_999), 105},
		{100, at(101, 0), 101},
		{100, at(100, 999_999_999), 101}, // always later than the parent
		{100, at(50, 0), 101},
		{0, at(-5, 0), 1},
	} {
		if got := evmTime(test.parent, test.consensus); got != test.want {
			t.Errorf("parent %d, consensus %v: %d, want %d", test.parent, test.consensus.UnixNano(), got, test.want)
		}
	}
}

func TestProposalsAreJudged(t *testing.T) {
	r := newRig(t)
	r.mine(3)
	parent := r.exec.head()
	when := time.Unix(int64(parent.Time)+1, 0)
	build := func() *payload {
		p, err := r.exec.build(t.Context(), parent, parent.Time+1)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	judge := func(p *payload) error {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := single([][]byte{data})
		if err != nil {
			return err
		}
		if err := check(q, parent, when); err != nil {
			return err
		}
		return r.exec.insert(t.Context(), q)
	}
	blob, _ := types.NewTx(&types.BlobTx{}).MarshalBinary()
	for name, spoil := range map[string]func(*payload){
		"number":       func(p *payload) { p.Block.Number++ },
		"parent":       func(p *payload) { p.Block.ParentHash = common.Hash{1} },
		"timestamp":    func(p *payload) { p.Block.Timestamp++ },
		"randao":       func(p *payload) { p.Block.Random = common.Hash{1} },
		"state root":   func(p *payload) { p.Block.StateRoot = common.Hash{1} },
		"hash":         func(p *payload) { p.Block.BlockHash = common.Hash{1} },
		"gas used":     func(p *payload) { p.Block.GasUsed = 21000 },
		"gas limit":    func(p *payload) { p.Block.GasLimit *= 2 },
		"transactions": func(p *payload) { p.Block.Transactions = [][]byte{{1, 2, 3}} },
		"blobs":        func(p *payload) { p.Block.Transactions = [][]byte{blob} },
		"withdrawals":  func(p *payload) { p.Block.Withdrawals = []*types.Withdrawal{{Amount: 1}} },
		"requests":     func(p *payload) { p.Requests = append(p.Requests, []byte{0, 1}) },
	} {
		p := build()
		spoil(p)
		if err := judge(p); err == nil {
			t.Errorf("a payload with a wrong %s was accepted", name)
		}
		if r.exec.head().Hash() != parent.Hash() {
			t.Fatalf("a payload with a wrong %s moved the head", name)
		}
	}
	for _, txs := range [][][]byte{nil, {{}}, {[]byte("{}"), []byte("{}")}, {[]byte("{")}} {
		if _, err := single(txs); err == nil {
			t.Errorf("consensus block %q was accepted", txs)
		}
	}
	p := build()
	if err := judge(p); err != nil {
		t.Fatal(err)
	}
	if r.exec.head().Hash() != parent.Hash() {
		t.Error("judging moved the head")
	}
	if err := r.exec.setHead(p.Block.BlockHash); err != nil {
		t.Error(err)
	}
	// The engine answers VALID to this one and does nothing.
	if err := r.exec.setHead(r.exec.eth.BlockChain().Genesis().Hash()); err == nil {
		t.Error("a head update below the finalized block was believed")
	}
}

// TestRun is one real validator, which is its own majority, from nothing to a
// chain of three blocks and an ordered end. More of them, and their crashes, are
// in the tests with the build tag live. CometBFT's metrics can be registered
// once per process: this must stay the only test here that starts it.
func TestRun(t *testing.T) {
	cfg := testConfig(t, 0, 1)
	cfg.GenesisTime = time.Now()
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg) }()
	client, err := ethclient.Dial("http://" + cfg.Listen.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for head := uint64(0); head < 3; {
		select {
		case err := <-ended:
			t.Fatalf("ended at block %d: %v", head, err)
		case <-time.After(20 * time.Millisecond):
		}
		if n, err := client.BlockNumber(ctx); err == nil { // refused until the node is ready
			head = n
		}
	}
	last, err := client.HeaderByNumber(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last.Coinbase != feeRecipient(cfg.Seed, 0) || last.Time > uint64(time.Now().Unix()) {
		t.Errorf("newest block: proposer %s, time %d", last.Coinbase, last.Time)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := client.BlockNumber(t.Context()); err == nil {
		t.Error("RPC is still open")
	}
	// The data directory was closed, and everything is in it.
	exec, err := openExecution(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if have := exec.head(); have.Number.Cmp(last.Number) < 0 || exec.eth.BlockChain().GetBlockByHash(last.Hash()) == nil {
		t.Errorf("head on disk is %d, was %d", have.Number, last.Number)
	}
	if err := exec.close(); err != nil {
		t.Error(err)
	}
}

// CometBFT survives its own panic with a halted chain; the line it logs ends Run.
func TestWatchdogSeesConsensusFail(t *testing.T) {
	a := newApp(nil, nil)
	log := watchdog{cmtlog.NewNopLogger(), a}.With("module", "consensus")
	log.Error("Stopping peer for error", "err", "EOF")
	log.Info("CONSENSUS FAILURE!!!")
	select {
	case err := <-a.failed:
		t.Fatalf("an ordinary line ended the node: %v", err)
	default:
	}
	log.Error("CONSENSUS FAILURE!!!", "err", "boom")
	log.Error("CONSENSUS FAILURE!!!", "err", "boom") // must not block
	select {
	case err := <-a.failed:
		if !strings.Contains(err.Error(), "boom") {
			t.Errorf("%v does not say why", err)
		}
	default:
		t.Error("a consensus failure went unnoticed")
	}
}
