package validator

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/rpc"
)

// receipts answers eth_getTransactionReceipt. go-ethereum writes a new head's
// transaction index to the database before it moves the head in memory
// (writeHeadBlock in core/blockchain.go of v1.17.10), so for a moment, a
// millisecond on a busy machine, it shows a receipt from a block that its own
// latest does not have yet: who reads at latest next does not see the transaction
// that was just acknowledged. An honest node of this devnet does not show a block
// before its head has reached it.
type receipts struct {
	node receiptSource
	head func() uint64
}

// receiptSource is the part of go-ethereum's transaction API that is needed.
type receiptSource interface {
	GetTransactionReceipt(context.Context, common.Hash) (map[string]any, error)
}

// receiptAPI is to be registered after go-ethereum's own APIs: of two methods of
// one name the later one counts.
func receiptAPI(backend *eth.Ethereum) (rpc.API, error) {
	for _, api := range backend.APIs() {
		if source, ok := api.Service.(receiptSource); ok && api.Namespace == "eth" {
			head := func() uint64 { return backend.BlockChain().CurrentBlock().Number.Uint64() }
			return rpc.API{Namespace: "eth", Service: &receipts{source, head}}, nil
		}
	}
	return rpc.API{}, errors.New("geth has no eth_getTransactionReceipt: want the go-ethereum that this was written for")
}

// GetTransactionReceipt returns null until the head has reached the block.
func (r *receipts) GetTransactionReceipt(ctx context.Context, tx common.Hash) (map[string]any, error) {
	receipt, err := r.node.GetTransactionReceipt(ctx, tx)
	if n, ok := receipt["blockNumber"].(hexutil.Uint64); ok && uint64(n) > r.head() {
		return nil, nil
	}
	return receipt, err
}
