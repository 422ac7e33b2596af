package workloads

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// registerJSON is what Register.sol compiles to. To make it anew, with the npm
// package solc 0.8.30 in DIR/node_modules:
//
//	NODE_PATH=DIR/node_modules node workloads/contracts/compile.mjs > workloads/contracts/Register.json
//
//go:embed contracts/Register.json
var registerJSON []byte

const (
	deployGas = 1_000_000 // a third of it is used before Amsterdam
	callGas   = 200_000   // a first write takes about 50,000
)

// contract is the register contract at its address.
type contract struct {
	abi     abi.ABI
	code    []byte // creation code
	address common.Address
	height  uint64 // of the block that holds the deployment
}

func loadContract() (*contract, error) {
	var artifact struct {
		ABI      json.RawMessage `json:"abi"`
		Bytecode string          `json:"bytecode"`
	}
	if err := json.Unmarshal(registerJSON, &artifact); err != nil {
		return nil, fmt.Errorf("register contract: %w", err)
	}
	c := &contract{code: common.FromHex(artifact.Bytecode)}
	if err := json.Unmarshal(artifact.ABI, &c.abi); err != nil {
		return nil, fmt.Errorf("register contract: %w", err)
	}
	return c, nil
}

// deploy creates the contract through the first node and returns once every
// node has it.
func (c *contract) deploy(ctx context.Context, nodes []*client.Client, from *client.Account, fees client.Fees) error {
	r := nodes[0].Execute(ctx, from, fees, client.Action{Data: c.code, Gas: deployGas})
	if r.Type != history.OK {
		return fmt.Errorf("register contract: not deployed by %s through node %s: %s: %s", from.Address, nodes[0].Name(), r.Class, r.Text)
	}
	if r.Receipt.Contract == nil {
		return fmt.Errorf("register contract: receipt of %s from node %s names no contract", r.Tx, nodes[0].Name())
	}
	c.address, c.height = *r.Receipt.Contract, r.Receipt.Number
	for _, n := range nodes {
		if err := c.awaitCode(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *contract) awaitCode(ctx context.Context, n *client.Client) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		code, err := n.Code(ctx, c.address)
		if err == nil && len(code) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("register contract: node %s does not have block %d with it: %w", n.Name(), c.height, err)
		case <-poll.C:
		}
	}
}

// call encodes a call of a method whose arguments are all numbers.
func (c *contract) call(method string, numbers ...int64) (client.Action, error) {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = big.NewInt(n)
	}
	data, err := c.abi.Pack(method, args...)
	return client.Action{To: &c.address, Data: data, Gas: callGas}, err
}

// readEvent finds what a strong read of the key returned.
func (c *contract) readEvent(r *client.Receipt, key *big.Int) (*big.Int, bool) {
	event := c.abi.Events["Read"]
	for _, l := range r.Logs {
		if l.Address == c.address && len(l.Topics) == 2 && l.Topics[0] == event.ID &&
			l.Topics[1].Big().Cmp(key) == 0 && len(l.Data) == 32 {
			return new(big.Int).SetBytes(l.Data), true
		}
	}
	return nil, false
}

// change is a register transaction decoded from its calldata.
type change struct {
	f     string // write, cas or read
	key   *big.Int
	value history.Value // of a write or cas, as in :txs; nil for a read
}

// decode reads the calldata of a transaction to the contract; ok is false for
// anything else than write, cas and read.
func (c *contract) decode(tx client.BlockTx) (out change, ok bool) {
	if tx.To == nil || *tx.To != c.address || len(tx.Input) < 4 {
		return change{}, false
	}
	method, err := c.abi.MethodById(tx.Input[:4])
	if err != nil {
		return change{}, false
	}
	args, err := method.Inputs.Unpack(tx.Input[4:])
	if err != nil {
		return change{}, false
	}
	var n []*big.Int
	for _, a := range args {
		b, ok := a.(*big.Int)
		if !ok {
			return change{}, false
		}
		n = append(n, b)
	}
	switch method.Name {
	case "write":
		return change{"write", n[0], history.BigOf(n[1])}, true
	case "cas":
		return change{"cas", n[0], history.Vec(history.BigOf(n[1]), history.BigOf(n[2]))}, true
	case "read":
		return change{"read", n[0], history.Value{}}, true
	}
	return change{}, false
}

// peeked is the answer to a local read.
type peeked struct {
	value  history.Value
	number uint64
	hash   common.Hash // zero when it could not be told which block of that number it was
}

// peek reads a key from the node's own state at a tag.
func (c *contract) peek(ctx context.Context, n *client.Client, key int64, tag string) (peeked, error) {
	data, err := c.abi.Pack("peek", big.NewInt(key))
	if err != nil {
		return peeked{}, err
	}
	called, err := n.CallAt(ctx, c.address, data, tag)
	if err != nil {
		return peeked{}, err
	}
	if len(called.Data) == 0 {
		return peeked{}, noContract{tag}
	}
	if len(called.Data) != 96 {
		return peeked{}, fmt.Errorf("answer to peek has %d bytes, want 96", len(called.Data))
	}
	number := new(big.Int).SetBytes(called.Data[32:64])
	if !number.IsInt64() {
		return peeked{}, fmt.Errorf("answer to peek names block %s, which cannot be", number)
	}
	out := peeked{value: registerValue(new(big.Int).SetBytes(called.Data[:32])), number: number.Uint64()}
	out.hash = c.identify(ctx, n, called, out.number, common.BytesToHash(called.Data[64:]))
	return out, nil
}

// identify finds the block of that number and parent that a call was answered
// from. A batch is not atomic: the head may move, or even be replaced, between
// its parts. So the headers before and after the call are both asked; two
// siblings at that number leave it open, for either may have answered.
func (c *contract) identify(ctx context.Context, n *client.Client, called client.Called, number uint64, parent common.Hash) common.Hash {
	is := func(h client.Header) bool { return h.Number == number && h.Parent == parent }
	before, after := is(called.Before), is(called.After)
	switch {
	case before && after && called.Before.Hash != called.After.Hash:
		return common.Hash{}
	case before:
		return called.Before.Hash
	case after:
		return called.After.Hash
	}
	answer := n.Headers(ctx, []uint64{number})[0]
	if answer.Err == nil && is(answer.Value) {
		return answer.Value.Hash
	}
	return common.Hash{}
}

// noContract says that the block at a tag is from before the deployment.
type noContract struct{ tag string }

func (e noContract) Error() string { return "contract is not there yet at " + e.tag }

// registerValue is what a register holds; zero is never written.
func registerValue(v *big.Int) history.Value {
	if v.Sign() == 0 {
		return history.Value{}
	}
	return history.BigOf(v)
}
