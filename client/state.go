package client

import (
	"context"
	"encoding/json"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Called is the answer to a local call, with the header that the same batch
// gave for the tag just before and just after it. When both are the same block
// the call was answered from it; else the callee has to say which (a contract
// can return block.number and its parent's hash).
type Called struct {
	Data          []byte
	Before, After Header
}

// CallAt asks the node to run a call on its own state at a tag (eth_call).
func (c *Client) CallAt(ctx context.Context, to common.Address, data []byte, tag string) (Called, error) {
	reqs := []request{
		blockRequest(tag, false),
		{method: "eth_call", args: []any{map[string]any{"to": to, "input": hexutil.Bytes(data)}, tag}},
		blockRequest(tag, false),
	}
	c.batch(ctx, reqs)
	var out Called
	var err error
	if out.Data, err = decode[hexutil.Bytes](c, &reqs[1]); err != nil {
		return Called{}, err
	}
	if out.Before, err = c.header(&reqs[0]); err != nil {
		return Called{}, err
	}
	if out.After, err = c.header(&reqs[2]); err != nil {
		return Called{}, err
	}
	return out, nil
}

// CallAtHash asks the node to run a call on the state after the block with that
// hash (EIP-1898), be it on the node's canonical chain or not.
func (c *Client) CallAtHash(ctx context.Context, to common.Address, data []byte, hash common.Hash) ([]byte, error) {
	return ask[hexutil.Bytes](ctx, c, "eth_call", map[string]any{"to": to, "input": hexutil.Bytes(data)}, atHash(hash))
}

// atHash is a block by its hash, as a parameter of calls about its state.
func atHash(hash common.Hash) map[string]any { return map[string]any{"blockHash": hash} }

// State is an account after some block.
type State struct {
	Nonce   uint64 // of its next transaction
	Balance *big.Int
}

// StateAt returns an account after the block with that hash, asked in one batch.
func (c *Client) StateAt(ctx context.Context, who common.Address, hash common.Hash) (State, error) {
	reqs := []request{
		{method: "eth_getTransactionCount", args: []any{who, atHash(hash)}},
		{method: "eth_getBalance", args: []any{who, atHash(hash)}},
	}
	c.batch(ctx, reqs)
	nonce, err := decode[hexutil.Uint64](c, &reqs[0])
	if err != nil {
		return State{}, err
	}
	if uint64(nonce) > math.MaxInt64 {
		return State{}, c.fault(reqs[0].method, malformed("nonce %d, want at most %d", uint64(nonce), int64(math.MaxInt64)))
	}
	balance, err := decode[hexutil.Big](c, &reqs[1])
	if err != nil {
		return State{}, err
	}
	return State{uint64(nonce), (*big.Int)(&balance)}, nil
}

// ChainID returns the id that transactions are signed for.
func (c *Client) ChainID(ctx context.Context) (*big.Int, error) {
	v, err := ask[hexutil.Big](ctx, c, "eth_chainId")
	return (*big.Int)(&v), err
}

// Balance returns the wei that an account has at latest.
func (c *Client) Balance(ctx context.Context, who common.Address) (*big.Int, error) {
	v, err := ask[hexutil.Big](ctx, c, "eth_getBalance", who, Latest)
	return (*big.Int)(&v), err
}

// Nonce returns the number of the account's next transaction at a tag; with
// "pending" it counts what the node has in its pool.
func (c *Client) Nonce(ctx context.Context, who common.Address, tag string) (uint64, error) {
	v, err := ask[hexutil.Uint64](ctx, c, "eth_getTransactionCount", who, tag)
	return uint64(v), err
}

// Code returns the code of a contract at latest, empty when there is none.
func (c *Client) Code(ctx context.Context, at common.Address) ([]byte, error) {
	return ask[hexutil.Bytes](ctx, c, "eth_getCode", at, Latest)
}

// ask makes one request whose answer is a single value.
func ask[T any](ctx context.Context, c *Client, method string, args ...any) (T, error) {
	raw, err := c.call(ctx, method, args...)
	return decode[T](c, &request{method: method, raw: raw, err: err})
}

// decode reads the answer to a request as a value that is never null.
func decode[T any](c *Client, r *request) (T, error) {
	var v, zero T
	if r.err != nil {
		return zero, r.err
	}
	if r.absent() {
		return zero, c.fault(r.method, malformed("answer is null"))
	}
	if err := json.Unmarshal(r.raw, &v); err != nil {
		return zero, c.fault(r.method, malformed("%v", err))
	}
	return v, nil
}

// Version returns what the node says that it is, web3_clientVersion:
// "anvil/v1.2.3", "Geth/v1.17.10-stable/linux-amd64/go1.26".
func (c *Client) Version(ctx context.Context) (string, error) {
	return ask[string](ctx, c, "web3_clientVersion")
}
