package client

import (
	"context"
	"encoding/json"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Body is a block with the hashes of its transactions in their order.
type Body struct {
	Header
	Txs []common.Hash
	// Head is the number of the node's latest block when it answered, 0 when it
	// did not say.
	Head uint64
}

// BodyAt asks for the block at a height and, in the same batch, how high the node
// is. Head is told beside the error of an absent block, too.
func (c *Client) BodyAt(ctx context.Context, n uint64) (Body, error) {
	reqs := []request{blockRequest(hexutil.EncodeUint64(n), false), {method: "eth_blockNumber"}}
	c.batch(ctx, reqs)
	var b Body
	if head, err := decode[hexutil.Uint64](c, &reqs[1]); err == nil && uint64(head) < math.MaxInt64 {
		b.Head = uint64(head)
	}
	var err error
	if b.Header, err = c.header(&reqs[0]); err != nil {
		return b, err
	}
	if b.Number != n {
		return b, c.fault(reqs[0].method, malformed("block %d was asked for, %d answered", n, b.Number))
	}
	var wire struct {
		Transactions []*common.Hash `json:"transactions"`
	}
	if err := json.Unmarshal(reqs[0].raw, &wire); err != nil {
		return b, c.fault(reqs[0].method, malformed("transactions of block %d: %v", n, err))
	}
	if wire.Transactions == nil {
		return b, c.fault(reqs[0].method, malformed("block %d has no list of transactions", n))
	}
	b.Txs = make([]common.Hash, len(wire.Transactions))
	for i, tx := range wire.Transactions {
		if tx == nil {
			return b, c.fault(reqs[0].method, malformed("transaction %d of block %d is null", i, n))
		}
		b.Txs[i] = *tx
	}
	return b, nil
}
