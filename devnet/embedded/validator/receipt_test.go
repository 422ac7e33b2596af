package validator

import (
	"context"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// indexed is a node that has a transaction of block 7 in its index.
type indexed struct{}

func (indexed) GetTransactionReceipt(context.Context, common.Hash) (map[string]any, error) {
	return map[string]any{"blockNumber": hexutil.Uint64(7)}, nil
}

func TestReceiptIsNotShownBeforeTheHead(t *testing.T) {
	for head, want := range map[uint64]bool{6: false, 7: true, 8: true} {
		r := receipts{indexed{}, func() uint64 { return head }}
		got, err := r.GetTransactionReceipt(t.Context(), common.Hash{})
		if err != nil || (got != nil) != want {
			t.Errorf("head %d, receipt of block 7: shown %v, %v, want %v", head, got != nil, err, want)
		}
	}
}
