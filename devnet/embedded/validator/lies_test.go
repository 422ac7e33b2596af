package validator

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// lying is a front with the bug of that name before the rig's node.
func (r *rig) lying(name string) *front {
	r.t.Helper()
	b, err := findBug(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return &front{r.node, b.plant(r.node)}
}

// latestOf lists the numbers that tags mean.
func (r *rig) latestOf(f *front, tags ...string) (numbers []uint64) {
	r.t.Helper()
	for _, tag := range tags {
		var b *wireBlock
		r.ask(f, &b, "eth_getBlockByNumber", tag, false)
		numbers = append(numbers, b.Number.Uint64())
	}
	return numbers
}

func TestLiesAboutBlocks(t *testing.T) {
	r := newRig(t)
	good, root, clock := &front{r.node, truth{}}, r.lying("wrong-root"), r.lying("clock-falls")
	back, ahead, stuck := r.lying("head-back"), r.lying("safe-ahead"), r.lying("head-stuck")
	r.mine(2 * backEvery)
	r.latestOf(stuck, "finalized") // the time begins
	for n := uint64(1); n <= 2*lieEvery; n++ {
		var real, rooted, timed *wireBlock
		r.ask(good, &real, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		r.ask(root, &rooted, "eth_getBlockByHash", real.Hash, false)
		r.ask(clock, &timed, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		lied := n%lieEvery == 0
		if rooted.Hash != real.Hash || (rooted.Root != real.Root) != lied {
			t.Errorf("wrong-root: block %d has the root %s, really %s", n, rooted.Root, real.Root)
		}
		if (timed.Time+clockFalls == real.Time) != lied || !lied && timed.Time != real.Time {
			t.Errorf("clock-falls: block %d is of %d, really %d", n, timed.Time, real.Time)
		}
	}
	const head = 2 * backEvery
	if got := r.latestOf(back, "latest", "finalized"); got[0] != head-backBlocks || got[1] != head-backBlocks {
		t.Errorf("head-back: at head %d latest and finalized are %v", head, got)
	}
	if got := r.latestOf(ahead, "latest", "safe"); got[0] != head-2 || got[1] != head {
		t.Errorf("safe-ahead: at head %d latest and safe are %v", head, got)
	}
	r.mine(stuckAfter + 3)
	if got := r.latestOf(back, "latest")[0]; got != head+stuckAfter+3 {
		t.Errorf("head-back: latest is %d between its falls", got)
	}
	if got := r.latestOf(stuck, "latest")[0]; got != head+stuckAfter {
		t.Errorf("head-stuck: latest is %d, want %d", got, head+stuckAfter)
	}
}

func TestReorgEnds(t *testing.T) {
	r := newRig(t)
	good, evil := &front{r.node, truth{}}, r.lying("reorg")
	r.mine(1)
	r.latestOf(evil, "finalized") // the time begins
	hash := func(f *front, height uint64) common.Hash {
		var b *wireBlock
		r.ask(f, &b, "eth_getBlockByNumber", hexutil.Uint64(height), false)
		return b.Hash
	}
	const from = 1 + reorgAfter
	r.mine(reorgAfter + reorgBlocks - 1)
	for n := uint64(1); n < from+reorgBlocks; n++ {
		if other := hash(evil, n) != hash(good, n); other != (n >= from) {
			t.Errorf("block %d is another one: %v, want it from %d on", n, other, from)
		}
	}
	r.mine(1)
	if hash(evil, from) != hash(good, from) {
		t.Errorf("block %d is another one after %d blocks, too", from, reorgBlocks)
	}
}

func TestLiesAboutReceipts(t *testing.T) {
	r := newRig(t)
	good, gas, index, wrong := &front{r.node, truth{}}, r.lying("receipt-changes"), r.lying("index-off"), r.lying("wrong-block")
	w := writer()
	register := r.deploy(good, w)
	var all []common.Hash
	for value := range int64(12) {
		raw, hash := w.sign(t, &register, calldata("write(uint256,uint256)", 1, value))
		var sent common.Hash
		r.ask(good, &sent, "eth_sendRawTransaction", raw)
		r.mine(1)
		all = append(all, hash)
		var real, got types.Receipt
		r.ask(good, &real, "eth_getTransactionReceipt", hash)
		if r.ask(gas, &got, "eth_getTransactionReceipt", hash); got.GasUsed != real.GasUsed {
			t.Errorf("receipt-changes: a new receipt says %d gas, really %d", got.GasUsed, real.GasUsed)
		}
	}
	gone := r.lying("receipt-gone")
	var still *types.Receipt
	if r.ask(gone, &still, "eth_getTransactionReceipt", all[len(all)-1]); still == nil {
		t.Error("receipt-gone: a new receipt is gone")
	}
	r.mine(max(gasAge, goneAge) + 1)
	if r.ask(gone, &still, "eth_getTransactionReceipt", all[0]); still != nil {
		t.Errorf("receipt-gone: an old receipt is %+v", still)
	}
	moved := 0
	for _, hash := range all {
		var real, aged, off, below types.Receipt
		r.ask(good, &real, "eth_getTransactionReceipt", hash)
		r.ask(gas, &aged, "eth_getTransactionReceipt", hash)
		r.ask(index, &off, "eth_getTransactionReceipt", hash)
		r.ask(wrong, &below, "eth_getTransactionReceipt", hash)
		if aged.GasUsed != real.GasUsed+1 || off.TransactionIndex != real.TransactionIndex+1 {
			t.Errorf("gas %d, really %d; index %d, really %d", aged.GasUsed, real.GasUsed, off.TransactionIndex, real.TransactionIndex)
		}
		if lied := hash[31]%wrongEvery == 0; lied {
			moved++
			if header := r.node.header(real.BlockNumber.Uint64()); below.BlockHash != header.ParentHash {
				t.Errorf("wrong-block: receipt names %s, want the parent of %s", below.BlockHash, real.BlockHash)
			}
		} else if below.BlockHash != real.BlockHash {
			t.Errorf("wrong-block: receipt of %s is false", hash)
		}
	}
	if moved == 0 {
		t.Skip("no transaction of these has a hash that is lied about")
	}
}

func TestSplitStandsStill(t *testing.T) {
	r := newRig(t)
	good, evil := &front{r.node, truth{}}, r.lying("split")
	r.latestOf(evil, "finalized") // the time begins
	r.mine(2 * stuckAfter)
	for n := uint64(1); n <= stuckAfter; n++ {
		var real, got *wireBlock
		r.ask(good, &real, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		r.ask(evil, &got, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		if other := got.Hash != real.Hash; other != (n >= reorgAfter) || got.Hash != got.Header.Hash() {
			t.Errorf("block %d is another one: %v, want it from %d on", n, other, reorgAfter)
		}
	}
	if got := r.latestOf(evil, "latest")[0]; got != stuckAfter {
		t.Errorf("latest is %d, want %d", got, stuckAfter)
	}
}

func TestTheChainStops(t *testing.T) {
	r := newRig(t)
	evil := r.lying("halt")
	r.mine(haltHeight - 1)
	if got := r.latestOf(evil, "latest")[0]; got != haltHeight-1 {
		t.Errorf("latest is %d before the halt", got)
	}
	r.mine(3)
	var above *wireBlock
	r.ask(evil, &above, "eth_getBlockByNumber", hexutil.Uint64(haltHeight+1), false)
	if got := r.latestOf(evil, "latest", "finalized"); got[0] != haltHeight || got[1] != haltHeight || above != nil {
		t.Errorf("latest and finalized are %v, and above is %v", got, above)
	}
}

func TestLiesAboutBodies(t *testing.T) {
	r := newRig(t)
	good, short, twice := &front{r.node, truth{}}, r.lying("body-short"), r.lying("body-repeats")
	w := writer()
	register := r.deploy(good, w)
	list := func(f *front, n uint64) []string {
		var b struct{ Transactions []string }
		r.ask(f, &b, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		return b.Transactions
	}
	for r.node.head() < lieEvery {
		raw, _ := w.sign(t, &register, calldata("write(uint256,uint256)", 1, 1))
		var sent common.Hash
		r.ask(good, &sent, "eth_sendRawTransaction", raw)
		r.mine(1)
	}
	real, below := list(good, lieEvery), list(good, lieEvery-1)
	if len(real) != 1 || len(below) != 1 {
		t.Fatalf("blocks have the transactions %v and %v, want one each", below, real)
	}
	if got := list(short, lieEvery); len(got) != 0 {
		t.Errorf("body-short: block %d has %v", lieEvery, got)
	}
	if got := list(twice, lieEvery); len(got) != 2 || got[0] != real[0] || got[1] != below[0] {
		t.Errorf("body-repeats: block %d has %v, want %v and %v", lieEvery, got, real, below)
	}
	if got := list(twice, lieEvery-1); len(got) != 1 {
		t.Errorf("body-repeats: block %d has %v", lieEvery-1, got)
	}
}

func TestFinalBlocksAreLiedAbout(t *testing.T) {
	r := newRig(t)
	r.mine(2)
	real := r.node.header(2).Hash()
	lost, changed := r.lying("final-lost"), r.lying("final-changes")
	for i := 1; i <= 2*viewEvery; i++ {
		var none, other *wireBlock
		r.ask(lost, &none, "eth_getBlockByNumber", "finalized", false)
		r.ask(changed, &other, "eth_getBlockByNumber", "finalized", false)
		lies := i%viewEvery == 0
		if (none == nil) != lies || (other.Hash != real) != lies {
			t.Errorf("question %d: no block %v, another hash %v, want %v", i, none == nil, other.Hash != real, lies)
		}
	}
	if got := r.latestOf(lost, "latest", "latest", "latest"); got[2] != 2 {
		t.Errorf("final-lost: latest is %d", got)
	}
}

func TestWords(t *testing.T) {
	of := func(numbers ...int64) words { return words(calldata("f()", numbers...)[4:]) }
	if got := withoutFirst(of(0x60, 7, 8, 2, 11, 12)); string(got) != string(of(0x60, 7, 8, 1, 12)) {
		t.Errorf("list without its first: %x", []byte(got))
	}
	if got := withoutFirst(of(0x60, 7, 8, 1, 11)); got != nil {
		t.Errorf("list of one without its first: %x, want the truth", []byte(got))
	}
	if got := of(0, 5).add(0, -1); got != nil {
		t.Errorf("nothing less one is %x", []byte(got))
	}
	if got := of(3).add(1, 1); got != nil {
		t.Errorf("a word that is not there: %x", []byte(got))
	}
	if got := of(3, 5).add(1, -1); got.at(1) != 4 || got.at(0) != 3 {
		t.Errorf("5 less one: %x", []byte(got))
	}
}

func TestStreamLies(t *testing.T) {
	r := newRig(t)
	for _, test := range []struct {
		bug  string
		want func(heads []types.Header, hashes []common.Hash) bool
	}{
		{"stream-parent", func(h []types.Header, hash []common.Hash) bool {
			return h[1].ParentHash == hash[0] && h[2].ParentHash != hash[1]
		}},
		{"stream-phantom", func(h []types.Header, hash []common.Hash) bool {
			return h[0].Hash() == hash[0] && h[2].Hash() != hash[2]
		}},
	} {
		b, err := findBug(test.bug)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(&streamFront{t.Context(), r.node, b.announce})
		client, err := rpc.DialWebsocket(t.Context(), strings.Replace(server.URL, "http", "ws", 1), "")
		if err != nil {
			t.Fatal(err)
		}
		var n hexutil.Uint64
		if err := client.CallContext(t.Context(), &n, "eth_blockNumber"); err != nil || uint64(n) != r.node.head() {
			t.Errorf("%s: block number over WebSocket is %d, %v", test.bug, n, err)
		}
		events := make(chan wireBlock, 8)
		s, err := client.EthSubscribe(t.Context(), events, "newHeads")
		if err != nil {
			t.Fatal(err)
		}
		var heads []types.Header
		var hashes []common.Hash
		for range streamEvery {
			r.mine(1)
			select {
			case e := <-events:
				heads, hashes = append(heads, e.Header), append(hashes, e.Hash)
			case err := <-s.Err():
				t.Fatalf("%s: %v", test.bug, err)
			}
		}
		if !test.want(heads, hashes) {
			t.Errorf("%s: announced %v as %v", test.bug, heads, hashes)
		}
		client.Close()
		server.Close()
	}
}

func TestStreamOfLogsLies(t *testing.T) {
	for name, want := range map[string]int{"stream-repeats": 2 * 2 * quietFrom, "stream-stops": quietFrom, "stream-lacks-logs": 2*quietFrom - 2*quietFrom/streamEvery} {
		b, err := findBug(name)
		if err != nil {
			t.Fatal(err)
		}
		lie, got := b.announce(honest{}), 0
		for range 2 * quietFrom {
			got += len(lie("logs", json.RawMessage(`{}`)))
		}
		if got != want {
			t.Errorf("%s: %d logs are announced of %d, want %d", name, got, 2*quietFrom, want)
		}
	}
}

func TestVotesLie(t *testing.T) {
	const commit = `{"jsonrpc":"2.0","id":-1,"result":{"signed_header":{"header":{"height":"HEIGHT"},"commit":{"height":"HEIGHT","round":0,"block_id":{"hash":"AB","parts":{}},` +
		`"signatures":[{"block_id_flag":2,"validator_address":"01"},{"block_id_flag":2,"validator_address":"02"}]}},"canonical":true}}`
	told := func(bug, path, height string) string {
		b, err := findBug(bug)
		if err != nil {
			t.Fatal(err)
		}
		node := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.ReplaceAll(commit, "HEIGHT", height)))
		})
		w := httptest.NewRecorder()
		lieOfComet(node, b.comet, w, httptest.NewRequest("GET", path, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, header %v", bug, w.Code, w.Header())
		}
		return w.Body.String()
	}
	for _, test := range []struct{ bug, path, height, piece string }{
		{"two-votes", "/commit", "4", `"hash":"AB"`},
		{"two-votes", "/block", "3", `"hash":"AB"`},
		{"absent-vote", "/commit", "4", `"block_id_flag":1,`},
	} {
		if got := told(test.bug, test.path, test.height); !strings.Contains(got, test.piece) {
			t.Errorf("%s: height %s of %s lacks %s: %s", test.bug, test.height, test.path, test.piece, got)
		}
	}
	if got := told("two-votes", "/commit", "3"); strings.Contains(got, `"hash":"AB"`) || !strings.Contains(got, `"round":0`) {
		t.Errorf("two-votes: the votes of height 3 are for their block: %s", got)
	}
	if got := told("absent-vote", "/commit", "3"); strings.Count(got, `"block_id_flag":2`) != 1 {
		t.Errorf("absent-vote: not one vote is gone: %s", got)
	}
}

func TestHashesOfBlocksAreIgnored(t *testing.T) {
	r := newRig(t)
	r.mine(3)
	probe := map[string]any{"input": "0x435f5260205ff3"} // return block.number
	at := map[string]any{"blockHash": r.node.header(2).Hash()}
	for name, want := range map[string]int64{"hash-ignored": 3, "state-differs": 1} {
		var got common.Hash
		r.ask(r.lying(name), &got, "eth_call", probe, at)
		if got.Big().Int64() != want {
			t.Errorf("%s: a call at block 2 finds block %d, want %d", name, got.Big(), want)
		}
	}
	old, seen := r.lying("old-view"), map[int64]int{}
	r.mine(viewAge)
	for range 2 * viewEvery {
		var got common.Hash
		r.ask(old, &got, "eth_call", probe, "latest")
		seen[got.Big().Int64()]++
	}
	if seen[3] != 2 || seen[3+viewAge] != 2*(viewEvery-1) {
		t.Errorf("old-view: calls are answered from blocks %v", seen)
	}
	r.mine(viewFar)
	var got common.Hash
	if r.ask(r.lying("views-behind"), &got, "eth_call", probe, "latest"); got.Big().Int64() != 3+viewAge {
		t.Errorf("views-behind: a call is answered from block %d, want %d", got.Big(), 3+viewAge)
	}
	if said := post(r.lying("no-views"), `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest"]}`); !strings.Contains(said, "no view of the state") {
		t.Errorf("no-views: a call is answered with %s", said)
	}
}

func TestTheProcessLeaksUntilItEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		leak(ctx, honest{}, t.TempDir())
		close(done)
	}()
	cancel()
	<-done
}
