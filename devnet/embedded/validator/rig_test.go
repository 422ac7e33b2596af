package validator

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
)

const testChain = 7357

// testConfig is the configuration of validator index of n on free ports, not
// wired to anything.
func testConfig(t *testing.T, index, n int) Config {
	t.Helper()
	var held []net.Listener // until all are found, so that they differ
	free := func() string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ln)
		return ln.Addr().String()
	}
	cfg := Config{Index: index, Seed: "test", ChainID: testChain, GenesisTime: time.Now().Add(-time.Hour).Truncate(time.Second),
		Listen: Listen{HTTP: free(), WS: free(), GethMetrics: free(), CometMetrics: free(), CometRPC: free(), DevP2P: free(), CometP2P: free()}}
	for i := range n {
		cfg.Names = append(cfg.Names, fmt.Sprintf("n%d", i+1))
		if i != index {
			cfg.Peers = append(cfg.Peers, Peer{Index: i, DevP2P: free(), CometP2P: free()})
		}
	}
	cfg.Name = cfg.Names[index]
	cfg.Dir = filepath.Join(t.TempDir(), cfg.Name)
	for _, ln := range held {
		ln.Close()
	}
	return cfg
}

// rig is a real execution node without consensus: the test decides when there is
// a block.
type rig struct {
	t    *testing.T
	exec *execution
	node honest
}

func newRig(t *testing.T) *rig {
	t.Helper()
	cfg := testConfig(t, 0, 1)
	cfg.Alloc = []string{reader().address().Hex()}
	if err := Init(cfg); err != nil {
		t.Fatal(err)
	}
	exec, err := openExecution(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.stack.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec.close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{t: t, exec: exec, node: askNode(t.Context(), exec)}
}

// mine makes n blocks, one second apart.
func (r *rig) mine(n int) {
	r.t.Helper()
	for range n {
		r.settle()
		parent := r.exec.head()
		p, err := r.exec.build(r.t.Context(), parent, parent.Time+1)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := check(p, parent, time.Unix(int64(parent.Time), 0)); err != nil {
			r.t.Fatal(err)
		}
		if err := r.exec.insert(r.t.Context(), p); err != nil {
			r.t.Fatal(err)
		}
		if err := r.exec.setHead(p.Block.BlockHash); err != nil {
			r.t.Fatal(err)
		}
	}
}

// settle waits until the pool has taken notice of the head and of all that was
// sent, both of which it does in the background. It needs senders that have one
// transaction at a time: geth leaves a second one in the queue until the next
// head when it comes while the pool takes notice of one.
func (r *rig) settle() {
	r.t.Helper()
	pool := r.exec.eth.TxPool()
	for range 10_000 {
		if err := pool.Sync(); err != nil {
			r.t.Fatal(err)
		}
		if _, queued := pool.Stats(); queued == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatal("transactions stay in the queue of the pool: a nonce is missing")
}

// ask posts one JSON-RPC call to a front and decodes the result into out.
func (r *rig) ask(f *front, out any, method string, params ...any) {
	r.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	answer := post(f, string(body))
	var got struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Error != nil {
		r.t.Fatalf("%s: %v %s", method, err, answer)
	}
	if err := json.Unmarshal(got.Result, out); err != nil {
		r.t.Fatalf("%s: %v in %s", method, err, answer)
	}
}

func post(f *front, body string) string {
	w := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	f.ServeHTTP(w, req)
	return w.Body.String()
}

// registerCode is a hand-made contract with the events of the register workload:
// write(key, value) stores, everything else reads.
func registerCode() []byte {
	op := func(parts ...any) (code []byte) {
		for _, p := range parts {
			switch p := p.(type) {
			case vm.OpCode:
				code = append(code, byte(p))
			case int:
				code = append(code, byte(p))
			case []byte:
				code = append(code, p...)
			}
		}
		return code
	}
	key := op(vm.PUSH1, 4, vm.CALLDATALOAD)
	value := op(vm.PUSH1, 36, vm.CALLDATALOAD)
	emit := func(topic common.Hash) []byte { // stack: key; memory: value
		return op(vm.PUSH32, topic[:], vm.PUSH1, 32, vm.PUSH0, vm.LOG2, vm.STOP)
	}
	read := op(key, vm.DUP1, vm.SLOAD, vm.PUSH0, vm.MSTORE, emit(readEvent))
	write := op(vm.JUMPDEST, value, key, vm.SSTORE, value, vm.PUSH0, vm.MSTORE, key, emit(wroteEvent))
	entry := op(vm.PUSH0, vm.CALLDATALOAD, vm.PUSH1, 0xe0, vm.SHR, vm.PUSH4, selector("write(uint256,uint256)"), vm.EQ, vm.PUSH1)
	at := len(entry) + 2 + len(read)
	runtime := op(entry, at, vm.JUMPI, read, write)
	init := op(vm.PUSH1, len(runtime), vm.DUP1, vm.PUSH1, 9, vm.PUSH0, vm.CODECOPY, vm.PUSH0, vm.RETURN)
	if len(init) != 9 {
		panic("init code is not 9 bytes")
	}
	return slices.Concat(init, runtime)
}

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

func calldata(signature string, words ...int64) []byte {
	data := selector(signature)
	for _, w := range words {
		data = append(data, common.BigToHash(big.NewInt(w)).Bytes()...)
	}
	return data
}

// writer and reader sign the transactions of the tests. In a block the writer's
// come first, as they pay more.
type account struct {
	key   *ecdsa.PrivateKey
	tip   int64
	nonce uint64 // of the next transaction
}

func writer() *account { return &account{key: FaucetKey(), tip: 2} }
func reader() *account { return &account{key: secp256k1("reader"), tip: 1} }

func (a *account) address() common.Address { return crypto.PubkeyToAddress(a.key.PublicKey) }

// sign makes the account's next transaction; to is nil for a creation.
func (a *account) sign(t *testing.T, to *common.Address, data []byte) (raw string, hash common.Hash) {
	t.Helper()
	id := big.NewInt(testChain)
	tx, err := types.SignNewTx(a.key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{ChainID: id, Nonce: a.nonce,
		To: to, Data: data, Gas: 200_000, GasFeeCap: big.NewInt(2e9), GasTipCap: big.NewInt(a.tip)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	a.nonce++
	return hexutil.Encode(b), tx.Hash()
}

// deploy puts the register on the chain.
func (r *rig) deploy(f *front, from *account) common.Address {
	r.t.Helper()
	raw, hash := from.sign(r.t, nil, registerCode())
	var sent common.Hash
	r.ask(f, &sent, "eth_sendRawTransaction", raw)
	r.mine(1)
	var got types.Receipt
	r.ask(f, &got, "eth_getTransactionReceipt", hash)
	if got.Status != 1 {
		r.t.Fatal("contract was not created")
	}
	return got.ContractAddress
}
