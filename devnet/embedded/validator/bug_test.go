package validator

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

type wireBlock struct {
	types.Header
	Hash common.Hash `json:"hash"`
}

func (b *wireBlock) UnmarshalJSON(data []byte) error {
	var id struct {
		Hash common.Hash `json:"hash"`
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	b.Hash = id.Hash
	return b.Header.UnmarshalJSON(data)
}

func TestBugs(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, b := range Bugs() {
		if names[b.Name] {
			t.Errorf("bug %q is there twice", b.Name)
		}
		names[b.Name] = true
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", b.Name, b.Doc, strings.Join(b.Workloads, ","), b.CaughtBy())
		if !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks the line\n%s", row)
		}
		if b.plant == nil && b.announce == nil && b.comet == nil && b.act == nil {
			t.Errorf("bug %q does nothing", b.Name)
		}
		if b.Doc == "" || len(b.Workloads) == 0 || b.Checker == "" || (b.Targets != EveryValidator && b.Targets != LastValidator) || (b.Says != "" && b.Says != Warns && b.Says != Unsure) {
			t.Errorf("bug %q is not fully described: %+v", b.Name, b)
		}
		if !b.Hits(3, 4) {
			t.Errorf("bug %q does not hit the last validator", b.Name)
		}
		if got := b.Hits(0, 4); got != (b.Targets == EveryValidator) {
			t.Errorf("bug %q hits the first validator: %v, with targets %q", b.Name, got, b.Targets)
		}
	}
	if _, err := findBug("nope"); err == nil || !strings.Contains(err.Error(), "stale-read") {
		t.Errorf("unknown bug: %v, want an error that lists the bugs", err)
	}
}

func TestFrontWithoutALieIsTheNode(t *testing.T) {
	r := newRig(t)
	r.mine(2)
	f := &front{r.node, truth{}}
	var n hexutil.Uint64
	r.ask(f, &n, "eth_blockNumber")
	if n != 2 {
		t.Errorf("block number %d, want 2", n)
	}
	for _, test := range []struct{ name, body, want string }{
		{"batch keeps ids and order", `[{"jsonrpc":"2.0","id":"a","method":"eth_chainId","params":[]},{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}]`,
			`[{"jsonrpc":"2.0","id":"a","result":"0x1cbd"},{"jsonrpc":"2.0","id":7,"result":"0x2"}]`},
		{"null result", `{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["0x` + strings.Repeat("ab", 32) + `"]}`,
			`{"jsonrpc":"2.0","id":1,"result":null}`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"eth_nope","params":[]}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method eth_nope does not exist/is not available"}}`},
		{"no JSON", `{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`},
		{"broken batch", `[{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		{"empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty batch"}}`},
		{"notification", `{"jsonrpc":"2.0","method":"eth_chainId","params":[]}`, ``},
	} {
		if got := strings.TrimSpace(post(f, test.body)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestForkServesAnotherChain(t *testing.T) {
	r := newRig(t)
	r.mine(forkHeight + 3)
	good, evil := &front{r.node, truth{}}, &front{r.node, newFork(r.node)}
	for h := uint64(1); h <= forkHeight+3; h++ {
		var real, got, prev *wireBlock
		r.ask(good, &real, "eth_getBlockByNumber", hexutil.Uint64(h), false)
		r.ask(evil, &got, "eth_getBlockByNumber", hexutil.Uint64(h), false)
		r.ask(evil, &prev, "eth_getBlockByNumber", hexutil.Uint64(h-1), false)
		if same := real.Hash == got.Hash && real.Root == got.Root; same != (h < forkHeight) {
			t.Errorf("block %d: same as the real one: %v", h, same)
		}
		if got.Header.Hash() != got.Hash {
			t.Errorf("block %d: header hashes to %s, said to be %s", h, got.Header.Hash(), got.Hash)
		}
		if got.ParentHash != prev.Hash {
			t.Errorf("block %d: parent %s, want %s", h, got.ParentHash, prev.Hash)
		}
		var again, other *wireBlock
		r.ask(evil, &again, "eth_getBlockByHash", got.Hash, false)
		if again == nil || again.Hash != got.Hash || again.Root != got.Root {
			t.Errorf("block %d by its hash: %+v, want %s", h, again, got.Hash)
		}
		r.ask(evil, &other, "eth_getBlockByHash", real.Hash, false)
		if (other == nil) != (h >= forkHeight) {
			t.Errorf("block %d by its real hash: %+v", h, other)
		}
	}
	// New blocks join, and state is found under the other hash.
	r.mine(1)
	var tip *wireBlock
	r.ask(evil, &tip, "eth_getBlockByNumber", "latest", false)
	if tip.Number.Uint64() != forkHeight+4 || tip.Header.Hash() != tip.Hash || tip.Hash == r.exec.head().Hash() {
		t.Errorf("latest is block %d %s", tip.Number, tip.Hash)
	}
	var money hexutil.Big
	r.ask(evil, &money, "eth_getBalance", crypto.PubkeyToAddress(FaucetKey().PublicKey), map[string]any{"blockHash": tip.Hash})
	if money.ToInt().Sign() <= 0 {
		t.Error("faucet is empty")
	}
	// The hash of the parent that a contract sees is the other one, too.
	probe := map[string]any{"input": "0x6001430340" + "5f5260205ff3"} // return blockhash(number - 1)
	var seen common.Hash
	r.ask(evil, &seen, "eth_call", probe, "latest")
	if seen != tip.ParentHash {
		t.Errorf("blockhash in a call is %s, want %s", seen, tip.ParentHash)
	}
	// Once more after a restart of the node.
	var after *wireBlock
	r.ask(&front{r.node, newFork(r.node)}, &after, "eth_getBlockByNumber", "latest", false)
	if after.Hash != tip.Hash {
		t.Errorf("latest after a restart is %s, was %s", after.Hash, tip.Hash)
	}
}

func TestRewindGoesBackAfterARestart(t *testing.T) {
	r := newRig(t)
	if _, ok := newRewind(r.node).(truth); !ok {
		t.Error("a first start is rewound")
	}
	r.mine(9)
	lie := newRewind(r.node).(*rewind)
	f := &front{r.node, lie}
	r.mine(1)
	batch := `[`
	for i, tag := range []string{"latest", "safe", "finalized", "0x9"} {
		if i > 0 {
			batch += ","
		}
		batch += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getBlockByNumber","params":["%s",false]}`, i, tag)
	}
	var got []struct{ Result wireBlock }
	if err := json.Unmarshal([]byte(post(f, batch+`]`)), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{4, 4, 4, 9} {
		if got[i].Result.Number.Int64() != want {
			t.Errorf("answer %d is block %d, want %d", i, got[i].Result.Number, want)
		}
	}
	var n hexutil.Uint64
	if r.ask(f, &n, "eth_blockNumber"); n != 4 {
		t.Errorf("block number %d, want 4", n)
	}
	lie.end = lie.end.Add(-rewindFor) // the time is over
	if r.ask(f, &n, "eth_blockNumber"); n != 10 {
		t.Errorf("block number afterwards %d, want 10", n)
	}
}

func TestLostWriteIsAcknowledged(t *testing.T) {
	r := newRig(t)
	lie := newLostWrite(r.node).(*lostWrite)
	f := &front{r.node, lie}
	from := writer()
	register := r.deploy(f, from)
	for nonce := uint64(1); ; nonce++ {
		raw, hash := from.sign(t, &register, calldata("write(uint256,uint256)", 1, int64(nonce)))
		var said common.Hash
		r.ask(f, &said, "eth_sendRawTransaction", raw)
		if lie.lost[hash] != nil { // once more, as after a broken connection
			r.ask(f, &said, "eth_sendRawTransaction", raw)
		}
		if said != hash {
			t.Fatalf("write %d is said to be %s, want %s", nonce, said, hash)
		}
		lost := lie.lost[hash] != nil
		var none *types.Receipt
		if r.ask(f, &none, "eth_getTransactionReceipt", hash); none != nil {
			t.Fatalf("write %d has a receipt before a block", nonce)
		}
		r.mine(1)
		var got *types.Receipt
		r.ask(f, &got, "eth_getTransactionReceipt", hash)
		block := r.exec.eth.BlockChain().GetBlockByNumber(got.BlockNumber.Uint64())
		if got.Status != 1 || got.BlockHash != block.Hash() || len(got.Logs) != 1 || got.Logs[0].Topics[0] != wroteEvent ||
			common.BytesToHash(got.Logs[0].Data).Big().Uint64() != nonce {
			t.Fatalf("receipt of write %d: %+v", nonce, got)
		}
		if really := block.Transaction(hash) != nil; really == lost {
			t.Fatalf("write %d: lost %v, in its block %v", nonce, lost, really)
		}
		var count hexutil.Uint64
		if r.ask(f, &count, "eth_getTransactionCount", from.address(), "latest"); uint64(count) != nonce+1 {
			t.Fatalf("nonce after write %d is %d", nonce, count)
		}
		if lost {
			break
		}
		if nonce > lostEvery {
			t.Fatal("no write was lost")
		}
	}
}

func TestStaleReadReportsAnOldValue(t *testing.T) {
	r := newRig(t)
	f := &front{r.node, newStaleRead(r.node)}
	w, rd := writer(), reader()
	register := r.deploy(f, w)
	send := func(from *account, data []byte) common.Hash {
		raw, hash := from.sign(t, &register, data)
		var sent common.Hash
		r.ask(f, &sent, "eth_sendRawTransaction", raw)
		return hash
	}
	const key = 5
	lies := 0
	for value := int64(1); value <= 40; value++ { // one block each: write, then read
		send(w, calldata("write(uint256,uint256)", key, value))
		read := send(rd, calldata("read(uint256)", key))
		r.mine(1)
		var got *types.Receipt
		r.ask(f, &got, "eth_getTransactionReceipt", read)
		if got.Status != 1 || len(got.Logs) != 1 || got.Logs[0].Topics[0] != readEvent || got.Logs[0].Topics[1] != common.BytesToHash([]byte{key}) {
			t.Fatalf("receipt: %+v", got)
		}
		said := common.BytesToHash(got.Logs[0].Data).Big().Int64()
		if said != value {
			lies++
			if want := value - staleBlocks; said != max(want, 0) {
				t.Errorf("read of %d said %d, want the value of %d blocks ago", value, said, staleBlocks)
			}
			// It sticks to what it said.
			var again *types.Receipt
			if r.ask(f, &again, "eth_getTransactionReceipt", read); common.BytesToHash(again.Logs[0].Data) != common.BytesToHash(got.Logs[0].Data) {
				t.Errorf("read of %d said %d, then something else", value, said)
			}
		}
	}
	if lies < 40/staleEvery/2 {
		t.Errorf("%d lies in 40 reads", lies)
	}
	// A key that nobody has written lately is read truthfully.
	r.mine(staleBlocks + 1)
	for range 2 * staleEvery {
		read := send(rd, calldata("read(uint256)", key))
		r.mine(1)
		var got *types.Receipt
		r.ask(f, &got, "eth_getTransactionReceipt", read)
		if said := common.BytesToHash(got.Logs[0].Data).Big().Int64(); said != 40 {
			t.Errorf("read of a quiet key said %d, want 40", said)
		}
	}
}
