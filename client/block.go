package client

import (
	"context"
	"encoding/json"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Block tags.
const (
	Latest    = "latest"
	Safe      = "safe"
	Finalized = "finalized"
)

// Header is what a node says about one block, as it says it.
type Header struct {
	Number  uint64 // at most math.MaxInt64
	Hash    common.Hash
	Parent  common.Hash
	Root    common.Hash // state root
	Time    uint64      // Unix seconds by the chain's own clock; at most math.MaxInt64
	BaseFee *big.Int    // wei; nil before London

	// What not every question needs is zero where the node does not say.
	Receipts common.Hash // root of the receipts
	Miner    common.Address
}

// Head is one answer about a node's tags. Nodes need not answer a batch
// atomically: the tags can be of different moments.
type Head struct {
	Latest          Header
	Safe, Finalized *Header // nil where the node does not serve the tag
}

// BlockTx is a transaction as part of a block.
type BlockTx struct {
	Hash  common.Hash
	To    *common.Address // nil for a creation
	Value *big.Int        // wei; nil when the node does not say
	Input []byte
}

// Block is a block with its transactions in their order.
type Block struct {
	Header
	Txs []BlockTx
}

// Head asks for latest, safe and finalized in one batch.
func (c *Client) Head(ctx context.Context) (Head, error) {
	reqs := []request{blockRequest(Latest, false), blockRequest(Safe, false), blockRequest(Finalized, false)}
	c.batch(ctx, reqs)
	var h Head
	for i, to := range []**Header{nil, &h.Safe, &h.Finalized} {
		header, err := c.header(&reqs[i])
		switch {
		case err == nil && to == nil:
			h.Latest = header
		case err == nil:
			*to = &header
		case to == nil, !isAbsent(err):
			return Head{}, err
		}
	}
	return h, nil
}

// HeaderAt asks for the header at a tag.
func (c *Client) HeaderAt(ctx context.Context, tag string) (Header, error) {
	reqs := []request{blockRequest(tag, false)}
	c.batch(ctx, reqs)
	return c.header(&reqs[0])
}

// headNumber asks for the number of the latest block, which is the cheapest
// question about it.
func (c *Client) headNumber(ctx context.Context) (uint64, error) {
	n, err := ask[hexutil.Uint64](ctx, c, "eth_blockNumber")
	return uint64(n), err
}

// Headers asks for the headers at these heights in one batch, one answer each.
// Keep it under about a hundred: nodes limit batches.
func (c *Client) Headers(ctx context.Context, heights []uint64) []Answer[Header] {
	reqs := make([]request, len(heights))
	for i, n := range heights {
		reqs[i] = blockRequest(hexutil.EncodeUint64(n), false)
	}
	c.batch(ctx, reqs)
	answers := make([]Answer[Header], len(heights))
	for i := range reqs {
		h, err := c.header(&reqs[i])
		if err == nil && h.Number != heights[i] {
			err = c.fault(reqs[i].method, malformed("block %d was asked for, %d answered", heights[i], h.Number))
		}
		answers[i] = Answer[Header]{h, err}
	}
	return answers
}

// HeaderByHash asks for the header of a block by its hash.
func (c *Client) HeaderByHash(ctx context.Context, hash common.Hash) (Header, error) {
	reqs := []request{{method: "eth_getBlockByHash", args: []any{hash, false}}}
	c.batch(ctx, reqs)
	h, err := c.header(&reqs[0])
	if err == nil && h.Hash != hash {
		err = c.fault(reqs[0].method, malformed("block %s was asked for, %s answered", hash, h.Hash))
	}
	return h, err
}

// BlockByHash asks for a block with its transactions.
func (c *Client) BlockByHash(ctx context.Context, hash common.Hash) (Block, error) {
	return c.block(ctx, "eth_getBlockByHash", hash, func(h Header) bool { return h.Hash == hash })
}

// BlockByNumber asks for the block at a height with its transactions.
func (c *Client) BlockByNumber(ctx context.Context, n uint64) (Block, error) {
	return c.block(ctx, "eth_getBlockByNumber", hexutil.Uint64(n), func(h Header) bool { return h.Number == n })
}

func (c *Client) block(ctx context.Context, method string, id any, is func(Header) bool) (Block, error) {
	raw, err := c.call(ctx, method, id, true)
	if err != nil {
		return Block{}, err
	}
	req := request{method: method, args: []any{id}, raw: raw}
	h, err := c.header(&req)
	if err != nil {
		return Block{}, err
	}
	if !is(h) {
		return Block{}, c.fault(method, malformed("block %v was asked for, %d %s answered", id, h.Number, h.Hash))
	}
	var body struct {
		Transactions *[]struct {
			Hash  *common.Hash    `json:"hash"`
			To    *common.Address `json:"to"`
			Value *hexutil.Big    `json:"value"`
			Input *hexutil.Bytes  `json:"input"`
			Data  *hexutil.Bytes  `json:"data"` // the older name of input
		} `json:"transactions"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return Block{}, c.fault(method, malformed("transactions of block %d: %v", h.Number, err))
	}
	if body.Transactions == nil {
		return Block{}, c.fault(method, malformed("block %d has no list of transactions", h.Number))
	}
	b := Block{Header: h, Txs: make([]BlockTx, len(*body.Transactions))}
	for i, tx := range *body.Transactions {
		if tx.Input == nil {
			tx.Input = tx.Data
		}
		if tx.Hash == nil || tx.Input == nil {
			return Block{}, c.fault(method, malformed("transaction %d of block %d has no hash or no input", i, h.Number))
		}
		b.Txs[i] = BlockTx{Hash: *tx.Hash, To: tx.To, Value: (*big.Int)(tx.Value), Input: *tx.Input}
	}
	return b, nil
}

func blockRequest(tag string, full bool) request {
	return request{method: "eth_getBlockByNumber", args: []any{tag, full}}
}

// header decodes the answer to a request for a block.
func (c *Client) header(r *request) (Header, error) {
	if r.err != nil {
		return Header{}, r.err
	}
	if r.absent() {
		return Header{}, c.fault(r.method, &absentError{"no block " + argText(r.args[0])})
	}
	var wire struct {
		Number    *hexutil.Uint64 `json:"number"`
		Hash      *common.Hash    `json:"hash"`
		Parent    *common.Hash    `json:"parentHash"`
		Root      *common.Hash    `json:"stateRoot"`
		Timestamp *hexutil.Uint64 `json:"timestamp"`
		BaseFee   *hexutil.Big    `json:"baseFeePerGas"`
		Receipts  *common.Hash    `json:"receiptsRoot"`
		Miner     *common.Address `json:"miner"`
	}
	if err := json.Unmarshal(r.raw, &wire); err != nil {
		return Header{}, c.fault(r.method, malformed("block %s: %v", argText(r.args[0]), err))
	}
	if wire.Number == nil || wire.Hash == nil || wire.Parent == nil || wire.Root == nil || wire.Timestamp == nil {
		return Header{}, c.fault(r.method, malformed("block %s lacks one of number, hash, parentHash, stateRoot, timestamp", argText(r.args[0])))
	}
	if uint64(*wire.Number) > math.MaxInt64 || uint64(*wire.Timestamp) > math.MaxInt64 {
		return Header{}, c.fault(r.method, malformed("block %s has an impossible number or timestamp", argText(r.args[0])))
	}
	h := Header{
		Number: uint64(*wire.Number), Hash: *wire.Hash, Parent: *wire.Parent, Root: *wire.Root,
		Time: uint64(*wire.Timestamp), BaseFee: (*big.Int)(wire.BaseFee),
	}
	if wire.Receipts != nil {
		h.Receipts = *wire.Receipts
	}
	if wire.Miner != nil {
		h.Miner = *wire.Miner
	}
	return h, nil
}

func argText(arg any) string {
	b, err := json.Marshal(arg)
	if err != nil {
		return "?"
	}
	return string(b)
}
