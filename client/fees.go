package client

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Fees is what transactions on a network are signed with.
type Fees struct {
	ChainID *big.Int
	Legacy  bool     // no base fee: transactions from before London, Cap is their gas price
	Tip     *big.Int // wei a unit of gas
	Cap     *big.Int // wei a unit of gas, the most that is ever paid
}

// headroom is how far the price of gas may rise above what it was when asked
// for: a base fee grows by at most an eighth a block, so 100 outlasts 39 full
// blocks in a row. Only what a block really costs is paid.
const headroom = 100

// Fees asks once what gas costs. The node's own suggestion is taken as the tip,
// 1 gwei where it makes none.
func (c *Client) Fees(ctx context.Context) (Fees, error) {
	id, err := c.ChainID(ctx)
	if err != nil {
		return Fees{}, err
	}
	head, err := c.HeaderAt(ctx, Latest)
	if err != nil {
		return Fees{}, err
	}
	if head.BaseFee == nil {
		price, err := ask[hexutil.Big](ctx, c, "eth_gasPrice")
		if err != nil {
			return Fees{}, err
		}
		// A legacy transaction pays all of its price: double is room enough.
		return Fees{ChainID: id, Legacy: true, Cap: new(big.Int).Mul(price.ToInt(), big.NewInt(2))}, nil
	}
	tip, err := ask[hexutil.Big](ctx, c, "eth_maxPriorityFeePerGas")
	if err != nil {
		if ctx.Err() != nil {
			return Fees{}, err
		}
		tip = hexutil.Big(*big.NewInt(1e9))
	}
	limit := new(big.Int).Add(head.BaseFee, tip.ToInt())
	limit.Mul(limit, big.NewInt(headroom))
	return Fees{ChainID: id, Tip: tip.ToInt(), Cap: limit}, nil
}

// cost is the most wei that an amount of gas can take.
func (f Fees) cost(gas uint64) *big.Int {
	return new(big.Int).Mul(f.Cap, new(big.Int).SetUint64(gas))
}

// AtLeast raises fees that are too small for a few percent of them to count: to
// that tip, in wei a unit of gas, and a cap with room above it.
func (f Fees) AtLeast(tip int64) Fees {
	least := big.NewInt(tip)
	if f.Tip != nil && f.Tip.Cmp(least) < 0 {
		f.Tip = least
	}
	if most := new(big.Int).Mul(least, big.NewInt(headroom)); f.Cap.Cmp(most) < 0 {
		f.Cap = most
	}
	return f
}

// scale is a share of an amount, in percent.
func scale(n *big.Int, percent int64) *big.Int {
	out := new(big.Int).Mul(n, big.NewInt(percent))
	return out.Div(out, big.NewInt(100))
}
