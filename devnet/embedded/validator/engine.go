package validator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/node"
)

// buildTimeout is how long a proposer waits for the block with transactions
// before it proposes an empty one.
const buildTimeout = 500 * time.Millisecond

// payload is the one "transaction" of a CometBFT block: an EVM block.
type payload struct {
	Block    engine.ExecutableData `json:"block"`
	Requests []hexutil.Bytes       `json:"requests"`
}

// decodePayload is strict about what the engine would take for something else:
// absent lists become empty ones, and blobs are refused.
func decodePayload(data []byte) (*payload, error) {
	p := new(payload)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if p.Requests == nil {
		p.Requests = []hexutil.Bytes{}
	}
	if len(p.Block.Withdrawals) != 0 {
		return nil, errors.New("payload has withdrawals, want none")
	}
	p.Block.Withdrawals = []*types.Withdrawal{}
	for i, tx := range p.Block.Transactions {
		if len(tx) > 0 && tx[0] == types.BlobTxType {
			return nil, fmt.Errorf("payload transaction %d carries blobs, which nobody keeps", i)
		}
	}
	return p, nil
}

// execution is the execution node seen by consensus. Its methods are called by
// one goroutine at a time (CometBFT's local client holds a lock), except head.
type execution struct {
	stack  *node.Node
	eth    *eth.Ethereum
	engine *catalyst.ConsensusAPI // exactly one: it holds the queues of unsettled payloads
	feeTo  common.Address
}

func (e *execution) head() *types.Header { return e.eth.BlockChain().CurrentBlock() }

func (e *execution) close() error { return e.stack.Close() }

// evmTime is the rule for a block's timestamp, the same for all validators: the
// consensus time in whole seconds, but later than the parent. Consensus time is
// the median of the votes for the previous block, so EVM time lags by about one
// block; it cannot run ahead as long as blocks are a second apart.
func evmTime(parent uint64, consensus time.Time) uint64 {
	return max(parent+1, uint64(max(consensus.Unix(), 0)))
}

// derive computes what the beacon chain would supply, from the parent alone, so
// that no proposer has a choice.
func derive(tag string, parent common.Hash, height uint64) common.Hash {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], height)
	h := sha256.New()
	h.Write([]byte(tag))
	h.Write(parent[:])
	h.Write(n[:])
	return common.BytesToHash(h.Sum(nil))
}

// build makes the next block from the transaction pool. It does not go through
// GetPayload of the Engine API, which returns the empty block when the full one
// is not ready at that very moment.
func (e *execution) build(ctx context.Context, parent *types.Header, timestamp uint64) (*payload, error) {
	height := parent.Number.Uint64() + 1
	root := derive("beacon root", parent.Hash(), height)
	work, err := e.eth.Miner().BuildPayload(ctx, &miner.BuildPayloadArgs{
		Parent:       parent.Hash(),
		Timestamp:    timestamp,
		FeeRecipient: e.feeTo,
		Random:       derive("randao", parent.Hash(), height),
		Withdrawals:  types.Withdrawals{},
		BeaconRoot:   &root,
		Version:      engine.PayloadV3,
	}, false)
	if err != nil {
		return nil, fmt.Errorf("block %d build: %w", height, err)
	}
	waitFull(ctx, work)
	built := work.Resolve()
	p := &payload{Block: *built.ExecutionPayload, Requests: []hexutil.Bytes{}}
	for _, r := range built.Requests {
		p.Requests = append(p.Requests, r)
	}
	return p, nil
}

// waitFull waits until the block with transactions is there, or gives up. It
// looks again and again because ResolveFull, once waiting, cannot be called off.
func waitFull(ctx context.Context, work *miner.Payload) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if block, _, _, _ := work.FullBlockAndReceipts(); block != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// check judges a proposed block against everything that validators agree on
// beforehand; what only execution can tell is left to insert.
func check(p *payload, parent *types.Header, consensus time.Time) error {
	height := parent.Number.Uint64() + 1
	switch {
	case p.Block.Number != height:
		return fmt.Errorf("block number %d, want %d", p.Block.Number, height)
	case p.Block.ParentHash != parent.Hash():
		return fmt.Errorf("block %d parent %s, want %s", height, p.Block.ParentHash, parent.Hash())
	case p.Block.Timestamp != evmTime(parent.Time, consensus):
		return fmt.Errorf("block %d timestamp %d, want %d", height, p.Block.Timestamp, evmTime(parent.Time, consensus))
	case p.Block.Random != derive("randao", parent.Hash(), height):
		return fmt.Errorf("block %d randao %s was not derived from the parent", height, p.Block.Random)
	}
	return nil
}

// insert executes a block and stores it beside the chain. Only a block that was
// really executed, or had been before, is accepted.
func (e *execution) insert(ctx context.Context, p *payload) error {
	b := p.Block
	if e.eth.BlockChain().HasBlockAndState(b.BlockHash, b.Number) {
		return nil
	}
	root := derive("beacon root", b.ParentHash, b.Number)
	status, err := e.engine.NewPayloadV4(ctx, b, []common.Hash{}, &root, p.Requests)
	if err != nil {
		return fmt.Errorf("block %d %s: %w", b.Number, b.BlockHash, err)
	}
	if status.Status != engine.VALID {
		reason := ""
		if status.ValidationError != nil {
			reason = *status.ValidationError
		}
		return fmt.Errorf("block %d %s: engine says %q, want %q: %s", b.Number, b.BlockHash, status.Status, engine.VALID, reason)
	}
	return nil
}

// setHead makes a stored block latest, safe and finalized.
func (e *execution) setHead(hash common.Hash) error {
	state := engine.ForkchoiceStateV1{HeadBlockHash: hash, SafeBlockHash: hash, FinalizedBlockHash: hash}
	r, err := e.engine.ForkchoiceUpdatedV3(context.Background(), state, nil)
	if err != nil {
		return fmt.Errorf("head %s: %w", hash, err)
	}
	// Several paths of the engine answer VALID without moving the head.
	if now := e.head(); r.PayloadStatus.Status != engine.VALID || now.Hash() != hash {
		return fmt.Errorf("head %s: engine says %q and the head is block %d %s", hash, r.PayloadStatus.Status, now.Number, now.Hash())
	}
	return nil
}

// sync makes everything up to the head survive a SIGKILL and a power cut. geth
// itself writes without syncing and keeps up to 32 KiB of its log in memory.
func (e *execution) sync() error { return e.eth.ChainDb().SyncKeyValue() }
