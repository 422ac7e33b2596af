package validator

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

const (
	lostEvery = 3 // of the writes that could be, one in so many is lost
	lostPause = 5 // blocks between two losses
)

// lossBugs are about transactions that vanish.
func lossBugs() []Bug {
	return []Bug{
		{Name: "lost-write", Doc: "some register writes are acknowledged with a receipt of a real block and never reach the chain",
			Targets: EveryValidator, Workloads: []string{"register"}, Checker: "replay", plant: newLostWrite},
		{Name: "lost-payment", Doc: "some payments are acknowledged with a receipt of a real block and never reach the chain",
			Targets: EveryValidator, Workloads: []string{"transfer", "block"}, Checker: "durability", plant: newLostPayment},
		{Name: "lost-submission", Doc: "some payments are taken by the node and never passed on", Targets: EveryValidator,
			Workloads: []string{"transfer", "block"}, Checker: "tx-lifecycle", Says: Warns, Time: 75 * time.Second, plant: newLostSubmission},
	}
}

// lostWrite acknowledges a write and throws it away. The sender sees a receipt,
// in a real block, and goes on with the next nonce; this node cannot fill the
// gap without the sender's key, so the sender's later transactions are never
// mined and it has to take another account after its timeout. Losses are rare
// enough for a run to go on.
type lostWrite struct {
	node    honest
	picks   func(*types.Transaction) bool // that may be lost
	receipt bool                          // it is said to be in a block

	mu    sync.Mutex
	seen  int
	quiet uint64 // no loss before this height
	lost  map[common.Hash]*lostTx
	nonce map[common.Address]uint64 // the next nonce as a client should see it
}

type lostTx struct {
	tx     *types.Transaction
	from   common.Address
	height uint64 // of the block that is said to hold it
}

func newLostWrite(node honest) rewriter {
	selector := crypto.Keccak256([]byte("write(uint256,uint256)"))[:4]
	return newLoss(node, true, func(tx *types.Transaction) bool {
		return len(tx.Data()) == 4+64 && bytes.HasPrefix(tx.Data(), selector)
	})
}

func newLostPayment(node honest) rewriter { return newLoss(node, true, isPayment) }

func newLostSubmission(node honest) rewriter { return newLoss(node, false, isPayment) }

// isPayment leaves out those that give the run's accounts their funds.
func isPayment(tx *types.Transaction) bool {
	return len(tx.Data()) == 0 && tx.Value().IsUint64() && tx.Value().Uint64() < 1e9
}

func newLoss(node honest, receipt bool, picks func(*types.Transaction) bool) rewriter {
	return &lostWrite{node: node, picks: picks, receipt: receipt, lost: map[common.Hash]*lostTx{}, nonce: map[common.Address]uint64{}}
}

func (l *lostWrite) question(_ context.Context, c *call) *reply {
	switch c.Method {
	case "eth_sendRawTransaction":
		return l.send(c.text(0))
	case "eth_getTransactionReceipt":
		return l.tellReceipt(c.text(0))
	}
	return nil
}

// send loses a write now and then; nil lets it pass.
func (l *lostWrite) send(raw string) *reply {
	data, err := hexutil.Decode(raw)
	if err != nil {
		return nil
	}
	tx := new(types.Transaction)
	if tx.UnmarshalBinary(data) != nil || tx.To() == nil || !l.picks(tx) {
		return nil
	}
	from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost[tx.Hash()] != nil {
		return result(tx.Hash()) // sent again
	}
	head := l.node.head()
	if l.seen++; l.seen%lostEvery != 0 || head < l.quiet || l.nonce[from] != 0 {
		return nil
	}
	l.quiet = head + lostPause
	l.lost[tx.Hash()] = &lostTx{tx, from, head + 1}
	l.nonce[from] = tx.Nonce() + 1
	return result(tx.Hash())
}

// tellReceipt makes up the receipt of a lost transaction once its block exists.
func (l *lostWrite) tellReceipt(hash string) *reply {
	if !isHash(hash) {
		return nil
	}
	l.mu.Lock()
	lost := l.lost[common.HexToHash(hash)]
	l.mu.Unlock()
	if lost == nil {
		return nil
	}
	block := l.node.header(lost.height)
	if !l.receipt || block == nil || lost.height > l.node.head() {
		return result(nil)
	}
	status := &types.Receipt{Status: types.ReceiptStatusSuccessful, Logs: []*types.Log{}}
	if data := lost.tx.Data(); len(data) == 4+64 {
		status.Logs = append(status.Logs, &types.Log{Address: *lost.tx.To(), Topics: []common.Hash{wroteEvent, common.BytesToHash(data[4:36])}, Data: data[36:],
			BlockNumber: lost.height, BlockHash: block.Hash(), BlockTimestamp: block.Time, TxHash: lost.tx.Hash()})
	}
	return result(map[string]any{
		"type": hexutil.Uint64(lost.tx.Type()), "status": hexutil.Uint64(1),
		"transactionHash": lost.tx.Hash(), "transactionIndex": hexutil.Uint64(0),
		"blockHash": block.Hash(), "blockNumber": hexutil.Uint64(lost.height),
		"from": lost.from, "to": lost.tx.To(), "contractAddress": nil,
		"gasUsed": hexutil.Uint64(26_000), "cumulativeGasUsed": hexutil.Uint64(26_000),
		"effectiveGasPrice": (*hexutil.Big)(lost.tx.GasPrice()),
		"logs":              status.Logs, "logsBloom": types.CreateBloom(status),
	})
}

// answer hides the gap: the lost write counts as sent.
func (l *lostWrite) answer(_ context.Context, c *call, r *reply) {
	if c.Method != "eth_getTransactionCount" || !common.IsHexAddress(c.text(0)) || isObject(c, 1) {
		return // at a hash it would be another lie
	}
	var have hexutil.Uint64
	if json.Unmarshal(r.Result, &have) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Result = result(max(have, hexutil.Uint64(l.nonce[common.HexToAddress(c.text(0))]))).Result
}
