package validator

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

const (
	staleBlocks = 12 // age of the state that a stale read is answered from
	staleMargin = 6  // the value had been overwritten for so many blocks at least
	staleFresh  = 3  // only reads in so many newest blocks are answered falsely
	staleEvery  = 3  // of the reads that could be, one in so many is answered falsely
)

// The events of the register contract.
var (
	readEvent  = crypto.Keccak256Hash([]byte("Read(uint256,uint256)"))
	wroteEvent = crypto.Keccak256Hash([]byte("Wrote(uint256,uint256)"))
)

// staleRead changes the value in the receipt of a read to one that the key held
// some blocks before and that had been overwritten well before the read. What it
// said about a transaction once it says again.
type staleRead struct {
	node honest

	mu   sync.Mutex
	seen int
	said map[string]hexutil.Bytes // transaction → the false value, nil for the truth
}

func newStaleRead(node honest) rewriter {
	return &staleRead{node: node, said: map[string]hexutil.Bytes{}}
}

func (s *staleRead) question(context.Context, *call) *reply { return nil }

func (s *staleRead) answer(ctx context.Context, c *call, r *reply) {
	if c.Method != "eth_getTransactionReceipt" || !isHash(c.text(0)) {
		return
	}
	var receipt map[string]json.RawMessage
	var head struct {
		Number hexutil.Uint64 `json:"blockNumber"`
		Logs   []*types.Log   `json:"logs"`
	}
	if json.Unmarshal(r.Result, &receipt) != nil || json.Unmarshal(r.Result, &head) != nil {
		return // no receipt yet
	}
	at := slices.IndexFunc(head.Logs, func(l *types.Log) bool { return len(l.Topics) == 2 && l.Topics[0] == readEvent })
	if at < 0 {
		return
	}
	value := s.value(ctx, c.text(0), uint64(head.Number), head.Logs[at])
	if value == nil {
		return
	}
	head.Logs[at].Data = value
	logs, err := json.Marshal(head.Logs)
	if err != nil {
		return
	}
	receipt["logs"] = logs
	if changed, err := json.Marshal(receipt); err == nil {
		r.Result = changed
	}
}

// value decides what to say about a read: nil for the truth.
func (s *staleRead) value(ctx context.Context, tx string, height uint64, read *types.Log) hexutil.Bytes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.said[tx]; ok {
		return v
	}
	if s.node.head() > height+staleFresh || height < staleBlocks {
		return nil
	}
	var stale hexutil.Bytes
	if v := s.before(ctx, height, read); v != nil {
		if s.seen++; s.seen%staleEvery == 0 {
			stale = v
		}
	}
	s.said[tx] = stale
	return stale
}

// before is the value of the key staleBlocks ago, nil when that is no lie or
// when nothing overwrote it early enough.
func (s *staleRead) before(ctx context.Context, height uint64, read *types.Log) hexutil.Bytes {
	raw, err := s.node.ask(ctx, "eth_getLogs", map[string]any{
		"address": read.Address, "topics": []common.Hash{wroteEvent, read.Topics[1]},
		"fromBlock": hexutil.Uint64(0), "toBlock": hexutil.Uint64(height - staleMargin),
	})
	var writes []types.Log // in the order of the chain
	if err != nil || json.Unmarshal(raw, &writes) != nil {
		return nil
	}
	value := make(hexutil.Bytes, 32) // zero: never written
	for _, w := range writes {
		if w.BlockNumber > height-staleBlocks {
			if string(value) == string(read.Data) {
				return nil
			}
			return value
		}
		value = w.Data
	}
	return nil
}
